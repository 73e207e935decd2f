import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { verifies } from "../support/verifies.ts";
import { commandArgs, commandFolder, handConfig } from "./support.ts";

const folder = commandFolder();
const limitMs = 240_000;
const plan = (text: string) =>
  `---\ndescription: Plans.\ninput: { type: object, properties: { city: { type: string } } }\n---\n${text} {{city}}.\n`;

verifies(
  ["X1", "Y2"],
  "run --record writes a tape, and replay shows it and names the first difference",
  async () => {
    await folder.write("plan.md", plan("Plan a day in"));
    const args = ["run", "plan.md", "city=Bern", "--model", "stand-in", "--record", "run.tape"];
    const ran = await folder.run(args);
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([
      0,
      expect.stringContaining("Plan a day in Bern."),
      expect.stringMatching(/^Recorded \d+ lines to run\.tape\.\n$/),
    ]);
    const same = await folder.run(["replay", "run.tape", "--prompt", "plan.md"]);
    expect([same.code, same.stderr]).toEqual([0, ""]);
    expect(same.stdout).toMatch(/call builtin\.plan \{"city":"Bern"\} \(\d+ ms\)\n.* step 0 offline\/stand-in: /);
    expect(same.stdout).toContain("builtin.plan ran as on the tape.");
    await folder.write("plan.md", plan("Plan two days in"));
    const other = await folder.run(["replay", "run.tape", "--prompt", "plan.md"]);
    expect([other.code, other.stderr]).toEqual([
      1,
      expect.stringMatching(/differs from the tape at step 0 of builtin\.plan[\s\S]*\+ .*Plan two days in Bern/),
    ]);
    const json = await folder.run(["replay", "run.tape", "--prompt", "plan.md", "--json"]);
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([
      1,
      { isComplete: true, difference: { code: "REPLAY_DIFFERS", details: { step: 0 } } },
    ]);
    const listed = await folder.run(["replay", "run.tape", "--list", "--json"]);
    expect([listed.code, JSON.parse(listed.stdout).timeline.length]).toEqual([0, 2]);
    expect((await folder.run(["replay", "none.tape"])).code).toBe(3);
    expect((await folder.run(["replay", "plan.md"])).code).toBe(2);
  },
  limitMs,
);

verifies(
  ["X1", "Y2"],
  "replay takes the prompts of the configuration, and serve --record has the calls of its client",
  async () => {
    await folder.write("toolweave.yaml", `${handConfig}prompts: [prompts]\n`);
    await mkdir(join(folder.path, "prompts"));
    await folder.write("prompts/plan.md", plan("Plan a day in"));
    const ran = await folder.run(["run", "prompts.plan", "city=Bern", "-m", "stand-in", "--record", "run.tape"]);
    expect(ran.code).toBe(0);
    const replayed = await folder.run(["replay", "run.tape"]);
    expect([replayed.code, replayed.stderr]).toEqual([0, ""]);
    expect(replayed.stdout).toContain("prompts.plan ran as on the tape.");
    await using client = new Toolkit();
    const there = Promise.withResolvers<void>();
    client.on("toolListChanged", ({ added }) => {
      if (added.includes("served.hand__greet")) there.resolve();
    });
    const args = [...commandArgs, "serve", "--record", "serve.tape"];
    client.addConnector(
      { command: process.execPath, args, cwd: folder.path, env: { XDG_RUNTIME_DIR: folder.path } },
      { namespace: "served" },
    );
    await client.start();
    await there.promise;
    await client.call("served.hand__greet", { name: "Ada" });
    await client.close();
    const listed = await folder.run(["replay", "serve.tape"]);
    expect(listed.stdout).toMatch(/call hand\.greet \{"name":"Ada"\}/);
    expect(listed.stdout).toContain("No prompt was called from outside");
    // A check that compared nothing has not passed; one that only looks has.
    expect(listed.code).toBe(2);
    expect((await folder.run(["replay", "--list", "serve.tape"])).code).toBe(0);
  },
  limitMs,
);

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { commandArgs, commandFolder } from "./support.ts";

const folder = commandFolder();
const children: ReturnType<typeof spawn>[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

const config = `workflows:
  - name: note
    description: Writes two files, the first once a person approves.
    input: { type: object, properties: { text: { type: string } }, required: [text] }
    steps:
      - { id: asked, tool: fs.write_file, params: { path: asked.txt, text: "\${input.text}" } }
      - { id: after, tool: fs.edit_file, params: { path: log.txt, edits: [{ old: "-", new: "-\${input.text}" }] } }
      - { id: read, tool: fs.read_file, params: { path: log.txt } }
    output: { log: "\${steps.read}" }
packs:
  fs: { root: ., write: true }
policy:
  ask: [fs.write_file]
store: ./store.sqlite
`;

const text = (file: string) => readFile(join(folder.path, file), "utf8").catch(() => "");
const waiting = async () => {
  const { stdout } = await folder.run(["approvals", "--json"]);
  return JSON.parse(stdout) as readonly { readonly id: string; readonly tool: string }[];
};
const idOf = async (tool: string) => (await waiting()).find((each) => each.tool === tool)?.id ?? "";

/** A run that waits for an approval, of a command that has ended. */
async function waitingRun(): Promise<void> {
  await folder.write("toolweave.yaml", config);
  await folder.write("log.txt", "-");
  const asked = await folder.run(["call", "workflow.note", "text=hi"]);
  expect(asked.code).toBe(1);
  expect(asked.stderr).toMatch(/PENDING: workflow\.note .* waits for asked/);
}

verifies(
  ["X1", "W3", "H2"],
  "a run of a configuration with a store waits for an approval, and goes on to its end in the command that approves",
  async () => {
    await waitingRun();
    expect((await folder.run(["approvals"])).stdout).toMatch(/workflow\.note .* waits for asked \([\da-f-]{36}\)/);
    // A command that ends at once goes on with nothing.
    expect((await folder.run(["list"])).code).toBe(0);
    expect([await text("asked.txt"), await text("log.txt")]).toEqual(["", "-"]);

    const approved = await folder.run(["approve", await idOf("fs.write_file")]);
    expect([approved.code, approved.stderr]).toEqual([0, ""]);
    expect(approved.stdout).toMatch(/fs\.write_file succeeded[\s\S]*: workflow\.note succeeded\n\{\n {2}"log": "-hi"/);
    expect([await text("asked.txt"), await text("log.txt")]).toEqual(["hi", "-hi"]);
    expect(await waiting()).toEqual([]);
  },
  60_000,
);

verifies(
  ["X1", "W3", "H2"],
  "a run of a configuration whose approval is denied has failed in the command that denies",
  async () => {
    await waitingRun();
    const denied = await folder.run(["deny", await idOf("fs.write_file")]);
    expect(denied.code).toBe(5);
    expect(denied.stdout).toMatch(/fs\.write_file denied\n.*: workflow\.note failed\n$/);
    expect(denied.stderr).toMatch(/STEP_FAILED: The step asked of workflow\.note failed/);
    expect([await text("asked.txt"), await text("log.txt"), await waiting()]).toEqual(["", "-", []]);
  },
  60_000,
);

verifies(
  ["X1", "W3", "H2"],
  "a run of a configuration is given up where its own call is denied",
  async () => {
    await waitingRun();
    const denied = await folder.run(["deny", await idOf("workflow.note")]);
    expect([denied.code, denied.stderr]).toEqual([0, ""]);
    expect(denied.stdout).toMatch(/workflow\.note denied\n.*: workflow\.note cancelled\n$/);
    expect([await text("asked.txt"), await waiting()]).toEqual(["", []]);
  },
  60_000,
);

verifies(
  ["X1", "W3"],
  "runs of a configuration with a store are listed, shown with their steps, resumed and cancelled",
  async () => {
    await folder.write("toolweave.yaml", config.replace("store: ./store.sqlite\n", ""));
    const without = await folder.run(["workflows"]);
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("has no store")]);
    await waitingRun();
    const approval = await idOf("fs.write_file");
    const listed = await folder.run(["workflows"]);
    expect(listed.code).toBe(0);
    const [id = ""] = /^[\da-f-]{36}/m.exec(listed.stdout) ?? [];
    expect(listed.stdout).toMatch(/workflow\.note +waiting .* waits: asked \(/);
    expect(JSON.parse((await folder.run(["workflows", "--status", "waiting", "--json"])).stdout)).toMatchObject([
      { id, status: "waiting", atWork: ["asked"], waitsFor: [{ step: "asked", id: approval }] },
    ]);
    expect((await folder.run(["workflows", "--status", "failed"])).stderr).toBe("No run of a workflow is kept.\n");

    const resumed = await folder.run(["workflows", id, "--resume"]);
    expect([resumed.code, resumed.stdout]).toEqual([
      0,
      expect.stringContaining(`workflow.note waiting for asked (${approval})`),
    ]);
    const cancelled = await folder.run(["workflows", id, "--cancel"]);
    expect([cancelled.code, cancelled.stdout]).toEqual([0, expect.stringMatching(/note cancelled\n$/)]);
    expect([await waiting(), await text("asked.txt")]).toEqual([[], ""]);
    const shown = await folder.run(["workflows", id]);
    expect(shown.stdout).toMatch(/^STEP +STATE [\s\S]*\nasked +\w+ .*asked\.txt/);
    expect(shown.stderr).toContain(`CLOSED: The run "${id}" of workflow.note was cancelled.`);
    expect((await folder.run(["workflows", id, "--cancel"])).stderr).toContain("it was cancelled");
    expect((await folder.run(["workflows", "none"])).code).toBe(3);
    expect((await folder.run(["workflows", "--cancel"])).code).toBe(2);
    expect((await folder.run(["workflows", "--status", "wating"])).stderr).toMatch(
      /and not wating\. Did you mean "waiting"\?\n$/,
    );
    expect((await folder.run(["workflows", "--status", "gone"])).stderr).toMatch(
      /^--status is one of running, .* and not gone\./,
    );
    expect((await folder.run(["workflows", id, "--cancel", "--resume"])).code).toBe(2);
  },
  120_000,
);

verifies(
  ["X1", "W3", "H2"],
  "a run of a configuration with a store goes on in a service that is started later",
  async () => {
    await waitingRun();
    const service = spawn(process.execPath, [...commandArgs, "serve", "--http", "0"], {
      cwd: folder.path,
      env: { ...process.env, HOME: folder.path, XDG_RUNTIME_DIR: folder.path },
      stdio: ["ignore", "ignore", "pipe"],
    });
    children.push(service);
    let printed = "";
    service.stderr.setEncoding("utf8").on("data", (more: string) => {
      printed += more;
    });
    await expect.poll(() => printed, { timeout: 20_000 }).toContain("Serving on");
    const [{ id = "" } = {}] = JSON.parse((await folder.run(["workflows", "--json"])).stdout);
    const approved = await folder.run(["approve", await idOf("fs.write_file")]);
    expect([approved.code, approved.stdout]).toEqual([0, expect.stringMatching(/^[\da-f-]{36}: fs.write_file \w+\n$/)]);
    await expect.poll(() => text("log.txt"), { timeout: 20_000 }).toBe("-hi");
    await expect.poll(waiting, { timeout: 20_000 }).toEqual([]);
    const shown = await folder.run(["workflows", id, "--resume"]);
    expect([shown.code, shown.stderr]).toEqual([0, ""]);
    expect(shown.stdout).toMatch(/\nasked +succeeded [\s\S]*workflow\.note succeeded\n\{\n {2}"log": "-hi"/);
    expect((await folder.run(["workflows", id, "--cancel"])).stderr).toMatch(
      /CONFLICT: .* it has ended: it has succeeded/,
    );
    expect((await folder.run(["workflows", "none"])).code).toBe(3);
  },
  60_000,
);

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { commandFolder, handConfig, shapesConfig } from "./support.ts";

const limitMs = 60_000;

describe("at the first look the command", () => {
  const folder = commandFolder();

  verifies(
    "X1",
    "writes the pictures of a result to files, and not the texts around them",
    async () => {
      await folder.write("toolweave.yaml", shapesConfig);
      const { code, stderr } = await folder.run(["call", "picture", "--output", "it.png"]);
      const written = await Promise.all(
        ["it.png", "it-2.png"].map((file) => readFile(join(folder.path, file), "utf8")),
      );
      expect([code, written]).toEqual([0, ["first", "second"]]);
      expect(stderr).toContain("Wrote 5 bytes of image/png");
    },
    limitMs,
  );

  verifies(
    "X1",
    "says of a field that there is not which there are, and of a call that waits what to do, in commands",
    async () => {
      await folder.write("toolweave.yaml", `${handConfig}policy: { ask: ["hand.greet"] }\n`);
      expect(await folder.run(["call", "greet", "query=Ada"])).toEqual({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining("greet has no field query. It has name, times; it needs name.\n"),
      });
      const waits = await folder.run(["call", "greet", "name=Ada"]);
      expect(waits.stderr).toMatch(
        /^PENDING: hand\.greet waits for approval\. Its id is \S+, and it waits until .+\.$/m,
      );
      expect(waits.stderr).not.toContain("approvals.resolve");
    },
    limitMs,
  );

  verifies(
    "X1",
    "shows what an approved call answered, and why it failed",
    async () => {
      const policy = 'policy: { ask: ["hand.greet", "hand.fail"] }';
      await folder.write("toolweave.yaml", `${handConfig}store: ./state.sqlite\n${policy}\n`);
      for (const args of [["greet", "name=Ada"], ["fail"]]) await folder.run(["call", ...args]);
      const waiting: readonly { id: string; tool: string }[] = JSON.parse(
        (await folder.run(["approvals", "--json"])).stdout,
      );
      const approve = (tool: string) => folder.run(["approve", waiting.find((each) => each.tool === tool)?.id ?? ""]);
      expect(await approve("hand.greet")).toMatchObject({ code: 0, stdout: expect.stringContaining("Hello, Ada!") });
      const failed = await approve("hand.fail");
      expect(failed).toMatchObject({ code: 5, stdout: expect.stringContaining("hand.fail failed\n") });
      expect(failed.stderr).toContain("TOOL_FAILED: It broke.");
    },
    limitMs,
  );

  verifies(
    "X1",
    "says of a server that was not reached why, once, and names no attempt that it will not make",
    async () => {
      const { code, stdout, stderr } = await folder.run(["list", "--server", "no-such-command-here"]);
      expect([code, stdout]).toEqual([4, ""]);
      expect(stderr).toMatch(
        /^`no-such-command-here` is not connected: The command no-such-command-here was not found/,
      );
      expect(stderr).not.toMatch(/next attempt|There is nothing/);
    },
    limitMs,
  );

  verifies(
    "X1",
    "finds packs whose folder is missing, with doctor",
    async () => {
      await folder.write("toolweave.yaml", "packs:\n  fs: { root: nowhere }\n  code: { root: . }\n");
      const { code, stdout } = await folder.run(["doctor"]);
      expect(code).toBe(1);
      expect(stdout).toContain("wrong packs.fs nowhere: there is no such folder\n      mkdir -p nowhere\n");
      expect(stdout).toContain("ok    packs.code .\n");
      expect((await folder.run(["call", "fs.search"])).stderr).toContain("/pattern is missing");
    },
    limitMs,
  );
});

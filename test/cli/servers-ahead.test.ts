import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, vi } from "vitest";
import { startAhead, targetsOf } from "../../src/cli/command-options.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { server } from "../support/hand-server.ts";
import { verifies } from "../support/verifies.ts";
import { commandFolder } from "./support.ts";

const limitMs = 60_000;

/** Writes its process id to a file where it begins. */
const script = server(
  `if (m.method === "tools/list") send({ id: m.id, result: { tools: [{ name: "one", inputSchema: { type: "object" } }] } });`,
);
const writing = `require("node:fs").appendFileSync("started", process.pid + "\\n");\n${script}`;
const command = `${process.execPath} -e '${writing.replaceAll("'", `'\\''`)}'`;

describe("a server that the command line of list names", () => {
  const folder = commandFolder();
  const started = async (): Promise<readonly number[]> => {
    const text = await readFile(join(folder.path, "started"), "utf8").catch(() => "");
    return text.split("\n").slice(0, -1).map(Number);
  };

  verifies(
    "X1",
    "is started before there is a toolkit, and its connector takes it over",
    async () => {
      await using _ahead = await startAhead({ server: [command] }, folder.path);
      await vi.waitFor(async () => expect(await started()).toHaveLength(1), { timeout: limitMs / 2 });
      await using toolkit = new Toolkit();
      for (const target of targetsOf({ server: [command] }, folder.path)) toolkit.addConnector(target);
      await toolkit.start();
      expect((await toolkit.list()).entries.map(({ name }) => name)).toEqual(["one"]);
      expect(await started()).toHaveLength(1);
    },
    limitMs,
  );

  verifies(
    "X1",
    "is ended where no connector took it over",
    async () => {
      const ahead = await startAhead({ server: [command] }, folder.path);
      await vi.waitFor(async () => expect(await started()).toHaveLength(1), { timeout: limitMs / 2 });
      await ahead[Symbol.asyncDispose]();
      const [pid = 0] = await started();
      expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    },
    limitMs,
  );

  verifies(
    "X1",
    "runs once, and not at all where the command is wrong",
    async () => {
      for (const wrong of [
        ["--kind", "tol"],
        ["--env", "PLAIN"],
        ["--header", "plain"],
        ["--server", "a 'b"],
      ]) {
        expect(await folder.run(["list", "--server", command, ...wrong])).toMatchObject({ code: 2, stdout: "" });
      }
      expect(await started()).toEqual([]);
      const { code, stdout } = await folder.run(["list", "--kind", "tools", "--server", command]);
      expect([code, stdout]).toEqual([0, expect.stringContaining("one")]);
      expect(await started()).toHaveLength(1);
    },
    limitMs,
  );

  verifies(
    "X1",
    "says its exit code where it ended before its connector took it over",
    async () => {
      const { code, stderr } = await folder.run(["list", "--server", `${process.execPath} -e 'process.exit(3)'`]);
      expect(code).toBe(4);
      expect(stderr).toContain("it exited with code 3");
    },
    limitMs,
  );
});

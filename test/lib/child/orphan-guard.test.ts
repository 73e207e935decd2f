import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect } from "vitest";
import { verifies } from "../../support/verifies.ts";

/** Linux lists the children of a thread in the order in which they began. */
const hasChildren = existsSync(`/proc/${process.pid}/task/${process.pid}/children`);

const script = `
import { readFileSync } from "node:fs";
import { endChild, spawnChild } from ${JSON.stringify(new URL("../../../src/lib/child/spawn-child.ts", import.meta.url).href)};
const parameters = { command: "cat", args: [], env: { PATH: process.env.PATH }, cwd: undefined };
const missing = await spawnChild({ ...parameters, command: "no-such-program" }, "no-such-program").catch(({ message }) => message);
const child = await spawnChild(parameters, "cat");
const children = readFileSync("/proc/" + process.pid + "/task/" + process.pid + "/children", "utf8").trim().split(" ").map(Number);
const name = (pid) => readFileSync("/proc/" + pid + "/cmdline", "utf8").split("\\0")[0];
// A guard that has nothing to do is about to leave, and may be there still.
console.log(JSON.stringify({ missing, last: children.slice(-2).map(name) }));
await endChild(child);
`;

describe.skipIf(!hasChildren)("the guard of child processes (where the system lists the children of a process)", () => {
  verifies(
    "M8",
    "starts before the child, which a kill of this process in between would leave behind",
    async () => {
      // Ends by itself: the guard of a program that could not be started keeps nothing open.
      const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
        timeout: 30_000,
      });
      expect(JSON.parse(stdout)).toEqual({
        missing: expect.stringContaining("was not found"),
        last: ["/bin/sh", "cat"],
      });
    },
    60_000,
  );
});

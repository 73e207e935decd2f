import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { project } from "../../script/support/project.ts";
import { run } from "../../script/support/run.ts";
import { table } from "../../script/support/table.ts";

const node = process.execPath;
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolweave-script-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe("run", () => {
  test("gives what a program wrote, and no failure when it succeeded", async () => {
    const result = await run(node, ["-e", "console.log('out'); console.error('err')"]);
    expect(result).toMatchObject({ stdout: "out\n" });
    expect(result.output).toContain("err\n");
    expect(result.failure).toBeUndefined();
  });

  test("says why a program failed: its code, a signal, or that it is missing", async () => {
    expect((await run(node, ["-e", "process.exit(3)"])).failure).toBe("exited with 3");
    expect((await run(node, ["-e", "process.kill(process.pid, 'SIGTERM')"])).failure).toBe("was ended by SIGTERM");
    // EACCES where a folder of PATH may not be searched.
    expect((await run("no-such-program", [])).failure).toMatch(/could not start no-such-program: .*(ENOENT|EACCES)/);
  });

  test("ends a program that takes too long, and what it had started", async () => {
    const pidFile = join(folder, "pid");
    const program = `
      const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
      require("node:fs").writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));
      setInterval(() => {}, 1000);
    `;
    const result = await run(node, ["-e", program], { timeoutMs: 1_500 });
    expect(result.failure).toBe("took longer than 1.5 s");
    const pid = Number(await readFile(pidFile, "utf8"));
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});

describe("count-tests", () => {
  const count = async (report: unknown): Promise<string> => {
    await writeFile(join(folder, "report.json"), JSON.stringify(report));
    return (await run(node, [join(project, "script/count-tests.ts"), join(folder, "report.json")])).stdout;
  };
  const file = (status: string, ...tests: readonly string[]): unknown => ({
    status,
    assertionResults: tests.map((one) => ({ status: one })),
  });

  test("counts tests, and a file that failed before its first test", async () => {
    const testResults = [file("passed", "passed", "passed"), file("failed", "passed", "failed"), file("failed")];
    expect(await count({ numPassedTests: 3, numFailedTests: 1, testResults })).toBe("3 2\n");
    expect(await count({ numPassedTests: 2, numFailedTests: 0, testResults: testResults.slice(0, 1) })).toBe("2 0\n");
  });
});

describe("table", () => {
  test("is as wide as its widest cells and has no blanks at the end of a line", () => {
    const rows = [
      ["a", "1"],
      ["longer", "20"],
      ["b", ""],
    ];
    expect(table(["name", "n"], rows, { right: ["n"] })).toBe("name     n\n------  --\na        1\nlonger  20\nb");
  });
});

/** A killed process may stay for a moment as a zombie until its new parent takes notice. */
async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return !/\) Z /.test(status);
}

import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { run } from "../../script/support/run.ts";
import { installedPackage } from "../support/installed-package.ts";

const isWindows = process.platform === "win32";
let user: Awaited<ReturnType<typeof installedPackage>>;
let home = "";

beforeAll(async () => {
  user = await installedPackage();
}, 120_000);
afterAll(() => user[Symbol.asyncDispose]());
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "toolweave-home-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** Checks a prompt by the installed command, which needs the whole core for that, and gives what it printed. */
async function lint(env: NodeJS.ProcessEnv = {}): Promise<string> {
  await writeFile(
    join(home, "hello.md"),
    "---\nname: hello\ntitle: Greets a person who enters\ndescription: Greets.\n---\nHello.\n",
  );
  const main = join(user.folder, "node_modules/toolweave/dist/cli/main.js");
  const { NODE_COMPILE_CACHE: _, NODE_V8_COVERAGE: __, XDG_CACHE_HOME: ___, ...inherited } = process.env;
  const own = { HOME: home, USERPROFILE: home, ...env };
  const ran = await run(process.execPath, [main, "lint", join(home, "hello.md")], { env: { ...inherited, ...own } });
  return ran.failure === undefined ? ran.output : `${ran.failure}: ${ran.output}`;
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const all = await readdir(folder, { recursive: true, withFileTypes: true });
  return all
    .filter((each) => each.isFile())
    .map(({ name }) => name)
    .toSorted();
}

const fine = "1 prompt: no problem.\n";

describe("the installed command keeps what Node compiled of it", () => {
  test("in a folder of the user's cache that is theirs alone, and works with it again", async () => {
    expect(await lint()).toBe(fine);
    const folder = join(home, ".cache", "toolweave");
    const kept = await filesIn(folder);
    expect(kept.length).toBeGreaterThan(2);
    if (!isWindows) expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await lint()).toBe(fine);
    expect(await filesIn(folder)).toEqual(kept);
  }, 60_000);

  test("in the folder for caches that the environment names, unless that is relative", async () => {
    expect(await lint({ XDG_CACHE_HOME: join(home, "elsewhere") })).toBe(fine);
    expect((await readdir(home)).toSorted()).toEqual(["elsewhere", "hello.md"]);
    expect(await lint({ XDG_CACHE_HOME: "relative" })).toBe(fine);
    expect((await readdir(home)).toSorted()).toEqual([".cache", "elsewhere", "hello.md"]);
  }, 60_000);

  test.skipIf(isWindows)(
    "not where other users may write, since it is executed",
    async () => {
      const folder = join(home, ".cache", "toolweave");
      await mkdir(folder, { recursive: true });
      await chmod(folder, 0o777);
      expect(await lint()).toBe(fine);
      expect(await filesIn(folder)).toEqual([]);
    },
    60_000,
  );

  test("not where there can be no folder, and works without", async () => {
    await writeFile(join(home, ".cache"), "a file");
    expect(await lint()).toBe(fine);
    expect((await readdir(home)).toSorted()).toEqual([".cache", "hello.md"]);
  }, 60_000);
});

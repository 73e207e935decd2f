import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { FolderState } from "../../src/lib/folder-scan.ts";
import { type FolderWatcher, type FolderWatchOptions, watchFolder } from "../../src/lib/folder-watcher.ts";

/** A folder of the system's own, removed after the test. */
async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-watch-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The number of folders that the system watches for this process. */
async function watchesOfSystem(): Promise<number> {
  const files = await readdir("/proc/self/fdinfo");
  const texts = await Promise.all(
    files.map((file) => readFile(join("/proc/self/fdinfo", file), "utf8").catch(() => "")),
  );
  return texts.join("\n").match(/^inotify wd:/gm)?.length ?? 0;
}

/** A watcher that tells a test what it told. */
class Observer {
  readonly told: FolderState[] = [];
  readonly problems: unknown[] = [];
  readonly watcher: FolderWatcher;
  #wake: (() => void) | undefined;

  constructor(path: string, options: Partial<FolderWatchOptions> = {}) {
    this.watcher = watchFolder(path, {
      wanted: (name) => name.endsWith(".md"),
      // Far away: what a test sees, it sees by events.
      pollMs: 3_600_000,
      onChange: (state) => {
        this.told.push(state);
        this.#wake?.();
      },
      onProblem: (error) => void this.problems.push(error),
      ...options,
    });
    onTestFinished(() => this.watcher.close());
  }

  get names(): readonly string[] {
    return [...(this.told.at(-1)?.files.keys() ?? [])];
  }

  /** Waits until what was told last is as it should be; the limit of the test is the deadline. */
  async until(isReached: (state: FolderState) => boolean): Promise<void> {
    for (;;) {
      const last = this.told.at(-1);
      if (last !== undefined && isReached(last)) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async untilNames(...names: readonly string[]): Promise<void> {
    await this.until(({ files }) => [...files.keys()].join() === names.join());
  }
}

async function observe(path: string, options: Partial<FolderWatchOptions> = {}): Promise<Observer> {
  const observer = new Observer(path, options);
  await observer.watcher.state();
  return observer;
}

describe("what happens to files", () => {
  test("a new, a changed and a removed one are told, each once", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "a.md"), "a");
    const observer = await observe(folder);
    expect([...(await observer.watcher.state()).files.keys()]).toEqual(["a.md"]);
    await writeFile(join(folder, "b.md"), "b");
    await observer.untilNames("a.md", "b.md");
    await writeFile(join(folder, "a.md"), "another");
    await observer.until(({ files }) => files.get("a.md")?.size === 7);
    await rm(join(folder, "b.md"));
    await observer.untilNames("a.md");
    expect(await observer.watcher.state()).toBe(observer.told.at(-1));
    expect(observer.problems).toEqual([]);
  });

  test("a file of the same size and name is another version", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "a.md"), "0000");
    const observer = await observe(folder);
    const before = (await observer.watcher.state()).files.get("a.md")?.version;
    await writeFile(join(folder, "a.md"), "1111");
    await observer.until(({ files }) => files.get("a.md")?.version !== before);
  });

  test("what an editor does to save is one change: a file beside it that takes its place, and back-ups", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "a.md");
    await writeFile(file, "a");
    const observer = await observe(folder);
    // VS Code, sed -i, mv: the new text takes the place of the old.
    await writeFile(`${file}.tmp`, "by rename");
    await rename(`${file}.tmp`, file);
    await observer.until(({ files }) => files.get("a.md")?.size === 9);
    // vim: the old file goes aside, a new one is written, the old one is removed.
    await writeFile(join(folder, ".a.md.swp"), "swap");
    await rename(file, `${file}~`);
    await writeFile(file, "as vim writes");
    await rm(`${file}~`);
    await rm(join(folder, ".a.md.swp"));
    await observer.until(({ files }) => files.get("a.md")?.size === 13);
    expect(observer.told.every(({ files }) => files.size === 1)).toBe(true);
  });

  test("a file is never told empty or gone while it is written anew", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "a.md");
    await writeFile(file, "a");
    const observer = await observe(folder);
    await truncate(file);
    await writeFile(file, "emptied first");
    await observer.until(({ files }) => files.get("a.md")?.size === 13);
    await rm(file);
    await writeFile(file, "removed first.");
    await observer.until(({ files }) => files.get("a.md")?.size === 14);
    expect(observer.told.every(({ files }) => (files.get("a.md")?.size ?? 0) > 0)).toBe(true);
    await truncate(file);
    await observer.until(({ files }) => files.get("a.md")?.size === 0);
  });

  test("a rename is one change", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "a.md"), "a");
    const observer = await observe(folder);
    await rename(join(folder, "a.md"), join(folder, "b.md"));
    await observer.untilNames("b.md");
    expect(observer.told).toHaveLength(1);
  });

  test("a flood of a thousand files is a few tellings", async () => {
    const folder = await temporaryFolder();
    const observer = await observe(folder);
    const names = Array.from({ length: 1000 }, (_, index) => `p${index}.md`).sort();
    await Promise.all(names.map((name) => writeFile(join(folder, name), name)));
    await observer.until(({ files }) => files.size === 1000 && [...files.values()].every(({ size }) => size > 0));
    expect(observer.told.length).toBeLessThan(50);
    await Promise.all(names.map((name) => rm(join(folder, name))));
    await observer.untilNames();
  });

  test("what is not wanted, and what is no file, is nothing", async () => {
    const folder = await temporaryFolder();
    const observer = await observe(folder);
    await mkdir(join(folder, "folder.md"));
    await symlink(join(folder, "nowhere"), join(folder, "broken.md"));
    await writeFile(join(folder, "a.txt"), "a");
    await writeFile(join(folder, "a.md"), "a");
    await observer.untilNames("a.md");
    expect(observer.told.every(({ files }) => !files.has("a.txt") && !files.has("folder.md"))).toBe(true);
  });
});

describe("what happens to the folder", () => {
  test("it is removed and made again", async () => {
    const folder = join(await temporaryFolder(), "prompts");
    await mkdir(folder);
    await writeFile(join(folder, "a.md"), "a");
    const observer = await observe(folder);
    for (let round = 0; round < 3; round += 1) {
      await rm(folder, { recursive: true });
      await observer.until(({ identity, error }) => identity === undefined && error !== undefined);
      await mkdir(folder);
      await writeFile(join(folder, "a.md"), `round ${round}`);
      await observer.untilNames("a.md");
      await writeFile(join(folder, "b.md"), "b");
      await observer.untilNames("a.md", "b.md");
    }
  });

  test("it is made again before anybody looks", async () => {
    const folder = join(await temporaryFolder(), "prompts");
    await mkdir(folder);
    const observer = await observe(folder);
    await rm(folder, { recursive: true });
    await mkdir(folder);
    await writeFile(join(folder, "a.md"), "a");
    await observer.untilNames("a.md");
    await writeFile(join(folder, "b.md"), "b");
    await observer.untilNames("a.md", "b.md");
  });

  test("it is not there yet, nor what is around it", async () => {
    const folder = join(await temporaryFolder(), "one", "two", "prompts");
    const observer = await observe(folder);
    expect((await observer.watcher.state()).error).toMatchObject({ code: "ENOENT" });
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "a.md"), "a");
    await observer.untilNames("a.md");
    await rm(join(folder, "..", ".."), { recursive: true });
    await observer.until(({ identity }) => identity === undefined);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "b.md"), "b");
    await observer.untilNames("b.md");
  });

  test("another takes its place, and the one before goes on elsewhere", async () => {
    const around = await temporaryFolder();
    const folder = join(around, "prompts");
    await mkdir(folder);
    const observer = await observe(folder);
    await mkdir(join(around, "next"));
    await writeFile(join(around, "next", "new.md"), "new");
    await rename(folder, join(around, "old"));
    await rename(join(around, "next"), folder);
    await observer.untilNames("new.md");
    await writeFile(join(around, "old", "old.md"), "old");
    await writeFile(join(folder, "newer.md"), "newer");
    await observer.untilNames("new.md", "newer.md");
  });

  test("the path is a link that is led elsewhere, in one step as a deployment does", async () => {
    const around = await temporaryFolder();
    const link = join(around, "prompts");
    await mkdir(join(around, "v1"));
    await mkdir(join(around, "v2"));
    await writeFile(join(around, "v2", "two.md"), "two");
    await symlink("v1", link);
    const observer = await observe(link);
    await writeFile(join(around, "v1", "one.md"), "one");
    await observer.untilNames("one.md");
    await symlink("v2", join(around, "next"));
    await rename(join(around, "next"), link);
    await observer.untilNames("two.md");
    await writeFile(join(around, "v2", "three.md"), "three");
    await observer.untilNames("three.md", "two.md");
  });

  test("its files are links through a link that is replaced, as Kubernetes mounts a ConfigMap", async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, "..v1"));
    await mkdir(join(folder, "..v2"));
    await writeFile(join(folder, "..v1", "a.md"), "one");
    await writeFile(join(folder, "..v2", "a.md"), "two, longer");
    await symlink("..v1", join(folder, "..data"));
    await symlink(join("..data", "a.md"), join(folder, "a.md"));
    const observer = await observe(folder);
    await symlink("..v2", join(folder, "..data_tmp"));
    await rename(join(folder, "..data_tmp"), join(folder, "..data"));
    await observer.until(({ files }) => files.get("a.md")?.size === 11);
  });
});

describe("without events", () => {
  test("what no event tells of, such as a file behind a link to another folder, is found by looking", async () => {
    const folder = await temporaryFolder();
    const elsewhere = await temporaryFolder();
    await writeFile(join(elsewhere, "a.md"), "a");
    await symlink(join(elsewhere, "a.md"), join(folder, "a.md"));
    const observer = await observe(folder, { pollMs: 30 });
    await writeFile(join(elsewhere, "a.md"), "changed");
    await observer.until(({ files }) => files.get("a.md")?.size === 7);
  });

  test.skipIf(process.platform === "win32")(
    "a system that has no watches left says so once, and changes are found all the same (not on Windows: it does not count watches)",
    async () => {
      const folder = await temporaryFolder();
      const code = `
      import { openSync, closeSync, writeFileSync } from "node:fs";
      const { watchFolder } = await import(${watcherModule});
      const open = [];
      const problems = [];
      try { for (;;) open.push(openSync("/dev/null")); } catch {}
      const alive = setInterval(() => undefined, 1e6);
      const told = Promise.withResolvers();
      const watcher = watchFolder(${JSON.stringify(folder)}, {
        wanted: () => true, pollMs: 20, onProblem: (error) => problems.push(error.code), onChange: told.resolve });
      await watcher.state();
      for (const file of open) closeSync(file);
      writeFileSync(${JSON.stringify(join(folder, "a.md"))}, "a");
      const { files } = await told.promise;
      console.log(JSON.stringify({ problems, files: [...files.keys()] }));
      watcher.close();
      clearInterval(alive);`;
      expect(JSON.parse(await runModule(code, { openFiles: 64 }))).toEqual({ problems: ["EMFILE"], files: ["a.md"] });
    },
  );
});

describe("its end", () => {
  test("nothing is told after close", async () => {
    const folder = await temporaryFolder();
    const observer = await observe(folder);
    const other = await observe(folder);
    observer.watcher.close();
    observer.watcher.close();
    await writeFile(join(folder, "a.md"), "a");
    await other.untilNames("a.md");
    expect(observer.told).toEqual([]);
    // Closed before it has begun.
    const early = new Observer(folder);
    early.watcher.close();
    expect((await early.watcher.state()).files.size).toBe(1);
    await rm(join(folder, "a.md"));
    await other.untilNames();
    expect(early.told).toEqual([]);
  });

  test.runIf(process.platform === "linux")(
    "no watch of the system is left (on Linux, which tells how many there are)",
    async () => {
      const before = await watchesOfSystem();
      const folder = await temporaryFolder();
      const observers = await Promise.all([observe(folder), observe(join(folder, "missing", "one"))]);
      // A folder of its own each, and what is around it.
      expect(await watchesOfSystem()).toBe(before + 2);
      await mkdir(join(folder, "missing", "one"), { recursive: true });
      await observers[1].until(({ identity }) => identity !== undefined);
      expect(await watchesOfSystem()).toBe(before + 4);
      const early = new Observer(join(folder, "missing"));
      for (const { watcher } of [...observers, early]) watcher.close();
      await early.watcher.state();
      expect(await watchesOfSystem()).toBe(before);
    },
  );

  test("a process that only watches ends by itself", async () => {
    const folder = await temporaryFolder();
    const code = `
      const { watchFolder } = await import(${watcherModule});
      const watcher = watchFolder(${JSON.stringify(folder)}, { wanted: () => true, onChange() {}, onProblem() {} });
      await watcher.state();
      console.log("watching");`;
    expect(await runModule(code)).toBe("watching\n");
  });
});

const watcherModule = JSON.stringify(new URL("../../src/lib/folder-watcher.ts", import.meta.url).href);

/** Runs code in a process of its own until that ends by itself, and gives what it wrote. */
async function runModule(code: string, { openFiles }: { readonly openFiles?: number } = {}): Promise<string> {
  const limit = openFiles === undefined ? "" : `ulimit -n ${openFiles}; `;
  const child = spawn("sh", ["-c", `${limit}exec "$0" --input-type=module -e "$1"`, process.execPath, code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  expect((await once(child, "close"))[0]).toBe(0);
  return output;
}

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { Logger } from "../../src/core/session.ts";
import { FilePrompt } from "../../src/prompt/file-prompt.ts";
import { type PromptFolderOptions, promptFolder } from "../../src/prompt/prompt-folder.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { folderWith, textOf } from "./support.ts";

const prompt = (name: string, body = "Hello {{name}}") => `---\nname: ${name}\n---\n${body}`;

/** A toolkit whose namespace `prompts` is a folder, and its events and logs. */
class Service {
  readonly events: ToolkitEvent<"promptListChanged">[] = [];
  readonly logged: { readonly level: keyof Logger; readonly message: string }[] = [];
  readonly toolkit: Toolkit;
  #wake: (() => void) | undefined;

  constructor(folder: string | URL, options: PromptFolderOptions = { watch: true, pollMs: 3_600_000 }) {
    const log = (level: keyof Logger) => (message: string) => {
      this.logged.push({ level, message });
      this.#wake?.();
    };
    const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
    this.toolkit = new Toolkit({ logger });
    onTestFinished(() => this.toolkit.close());
    this.toolkit.on("promptListChanged", (event) => {
      this.events.push(event);
      this.#wake?.();
    });
    this.toolkit.addSource("prompts", promptFolder(folder, options));
  }

  /** Waits for an event or log that makes a condition true; the limit of the test is the deadline. */
  async until(isReached: () => boolean): Promise<void> {
    while (!isReached()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async nextEvent(): Promise<ToolkitEvent<"promptListChanged">> {
    await this.until(() => this.events.length > 0);
    return this.events.shift() as ToolkitEvent<"promptListChanged">;
  }

  async logs(pattern: RegExp): Promise<void> {
    await this.until(() => this.logged.some(({ message }) => pattern.test(message)));
  }

  warnings(): readonly string[] {
    return this.logged.filter(({ level }) => level === "warn").map(({ message }) => message);
  }

  async refs(): Promise<readonly string[]> {
    return (await this.toolkit.list({ kind: "prompt" })).entries.map(({ ref }) => ref);
  }

  async failures(): Promise<readonly string[]> {
    return (await this.toolkit.list()).failures.map(({ error }) => error.message);
  }

  async text(name: string, input: object = {}): Promise<string | undefined> {
    return await textOf(await this.toolkit.render(`prompts.${name}`, input));
  }
}

async function serve(folder: string | URL, options?: PromptFolderOptions): Promise<Service> {
  const service = new Service(folder, options);
  await service.toolkit.start();
  service.events.length = 0;
  return service;
}

/** As editors and deployments do: another file takes the place of the one that is there. */
async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.tmp`, text);
  await rename(`${file}.tmp`, file);
}

const change = (fields: Partial<ToolkitEvent<"promptListChanged">>) => ({
  type: "promptListChanged",
  namespace: "prompts",
  added: [],
  removed: [],
  changed: [],
  ...fields,
});

describe("a folder that is read once", () => {
  verifies("P5", "its prompts are in a namespace of their own; a broken one stops no other", async () => {
    const folder = await folderWith({
      "a.md": prompt("a"),
      "b.md": "---\nthinking: maybe\n---\nHi",
      "_part.md": "Part",
      "README.md": "# Nothing",
    });
    const service = await serve(pathToFileURL(folder), {});
    expect(await service.refs()).toEqual(["prompts.a"]);
    expect(await service.text("a", { name: "Ada" })).toBe("Hello Ada");
    const [failure, ...others] = (await service.toolkit.list()).failures;
    expect(others).toEqual([]);
    expect(failure).toMatchObject({ namespace: "prompts", error: { code: "INVALID_PROMPT" } });
    expect(failure?.error.message).toContain(`${join(folder, "b.md")}:2:11: thinking must be true or false`);
    expect(service.warnings()).toEqual([`prompts: ${failure?.error.message}`]);
  });

  test("options are checked", () => {
    expect(() => promptFolder("x", { wach: true } as PromptFolderOptions)).toThrow(/Did you mean "watch"/);
    expect(() => promptFolder("x", { watch: "yes" } as object)).toThrow(/The option watch of a prompt folder must be/);
    expect(() => promptFolder("x", { watch: true, pollMs: 1 })).toThrow(/from 100/);
    expect(() => promptFolder(new URL("https://example.com"))).toThrow(/is no file/);
  });
});

describe("a folder that is followed", () => {
  verifies("P5", "a new, a changed, a renamed and a removed file are one event each", async () => {
    const folder = await folderWith({ "a.md": prompt("a") });
    const service = await serve(folder);
    await writeFile(join(folder, "b.md"), prompt("b"));
    expect(await service.nextEvent()).toEqual(change({ added: ["prompts.b"] }));
    await replaceFile(join(folder, "a.md"), prompt("a", "Goodbye {{name}}"));
    expect(await service.nextEvent()).toEqual(change({ changed: ["prompts.a"] }));
    expect(await service.text("a", { name: "Ada" })).toBe("Goodbye Ada");
    // The name is that of the front matter: nothing is different.
    await rename(join(folder, "a.md"), join(folder, "c.md"));
    await rename(join(folder, "b.md"), join(folder, "d.md"));
    await rm(join(folder, "d.md"));
    expect(await service.nextEvent()).toEqual(change({ removed: ["prompts.b"] }));
    expect(await service.refs()).toEqual(["prompts.a"]);
    expect([service.events, service.logged, await service.failures()]).toEqual([[], [], []]);
  });

  verifies("P5", "it takes less than half a second", async () => {
    const folder = await folderWith({});
    const service = await serve(folder);
    const tookMs: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const started = performance.now();
      await writeFile(join(folder, "a.md"), prompt("a", `Round ${round}`));
      await service.nextEvent();
      tookMs.push(performance.now() - started);
    }
    const started = performance.now();
    await rm(join(folder, "a.md"));
    await service.nextEvent();
    // The best of them: this machine may be busy with something else.
    expect(Math.min(...tookMs)).toBeLessThan(500);
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  verifies("P5", "many at once are one event", async () => {
    const folder = await folderWith({ "old.md": prompt("old") });
    const service = await serve(folder);
    const names = ["e", "b", "d", "a", "c"];
    // In one turn of the event loop, so that no scan happens in between.
    rmSync(join(folder, "old.md"));
    for (const name of names) writeFileSync(join(folder, `${name}.md`), prompt(name));
    expect(await service.nextEvent()).toEqual(
      change({ added: names.toSorted().map((name) => `prompts.${name}`), removed: ["prompts.old"] }),
    );
    expect(service.events).toEqual([]);
  });

  verifies("P5", "a broken file keeps its last good version, is reported once, and stops no other", async () => {
    const folder = await folderWith({ "a.md": prompt("a"), "b.md": prompt("b") });
    const service = await serve(folder);
    const broken = prompt("a", "Hello {{#if name}}");
    await writeFile(join(folder, "a.md"), broken);
    await service.logs(/never closed/);
    expect(await service.text("a", { name: "Ada" })).toBe("Hello Ada");
    expect(await service.failures()).toEqual([expect.stringContaining("a.md:4:7: The block {{#if}} is never closed.")]);
    // Written again as it is, and beside it another that is right: neither is news of this one.
    await replaceFile(join(folder, "a.md"), broken);
    await writeFile(join(folder, "c.md"), prompt("c"));
    expect(await service.nextEvent()).toEqual(change({ added: ["prompts.c"] }));
    expect(service.warnings()).toHaveLength(1);
    // Broken in another way.
    await writeFile(join(folder, "a.md"), prompt("a", "Hello {{uper name}}"));
    await service.logs(/There is no helper/);
    expect(await service.failures()).toHaveLength(1);
    await replaceFile(join(folder, "a.md"), prompt("a", "Hi {{name}}"));
    expect(await service.nextEvent()).toEqual(change({ changed: ["prompts.a"] }));
    expect(await service.failures()).toEqual([]);
    expect(service.logged.map(({ level }) => level)).toEqual(["warn", "warn", "info"]);
    expect(service.logged[2]?.message).toContain(`prompts: ${join(folder, "a.md")} is repaired.`);
    expect(await service.text("a", { name: "Ada" })).toBe("Hi Ada");
  });

  verifies("P5", "a file that is written slowly is not reported as broken", async () => {
    const folder = await folderWith({ "a.md": prompt("a") });
    const service = await serve(folder);
    await truncate(join(folder, "a.md"));
    await writeFile(join(folder, "a.md"), "---\nname: a\n");
    await writeFile(join(folder, "b.md"), prompt("b"));
    expect(await service.nextEvent()).toEqual(change({ added: ["prompts.b"] }));
    await writeFile(join(folder, "a.md"), "\n---\nWritten to the end", { flag: "a" });
    expect(await service.nextEvent()).toEqual(change({ changed: ["prompts.a"] }));
    expect(service.logged).toEqual([]);
  });

  verifies("P5", "a changed partial changes the prompts that use it, and a broken one is one problem", async () => {
    const folder = await folderWith({
      "_tone.md": "Be {{> word}}.",
      "_word.md": "kind",
      "a.md": prompt("a", "{{> tone}}"),
      "b.md": prompt("b", "{{> tone}}"),
      "c.md": prompt("c", "alone"),
    });
    const service = await serve(folder);
    await writeFile(join(folder, "_word.md"), "brief");
    expect(await service.nextEvent()).toEqual(change({ changed: ["prompts.a", "prompts.b"] }));
    expect(await service.text("b")).toBe("Be brief.");
    await writeFile(join(folder, "_word.md"), "{{#if x}}");
    await service.logs(/never closed/);
    expect(await service.text("a")).toBe("Be brief.");
    expect(await service.failures()).toHaveLength(1);
    await rm(join(folder, "_word.md"));
    await service.logs(/There is no partial "word"/);
    await writeFile(join(folder, "word.hbs"), "fair");
    await service.until(() => service.events.length > 0);
    expect(await service.text("a")).toBe("Be fair.");
    expect(await service.failures()).toEqual([]);
  });

  verifies("P5", "of two files with one name the first keeps it, and the other is reported", async () => {
    const folder = await folderWith({ "b.md": prompt("same", "first") });
    const service = await serve(folder);
    await writeFile(join(folder, "a.md"), prompt("same", "second"));
    await service.logs(/The name "same" is that of/);
    expect(await service.text("same")).toBe("first");
    expect((await service.toolkit.list()).failures[0]?.error).toMatchObject({
      code: "CONFLICT",
      details: { owners: [join(folder, "b.md"), join(folder, "a.md")] },
    });
    await writeFile(join(folder, "b.md"), prompt("other", "first"));
    await service.nextEvent();
    expect(await service.refs()).toEqual(["prompts.other", "prompts.same"]);
    expect(await service.failures()).toEqual([]);
  });

  verifies("P5", "a change in a folder of a thousand is one parse", async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `p${index}`);
    const folder = await folderWith(Object.fromEntries(names.map((name) => [`${name}.md`, prompt(name)])));
    const service = await serve(folder);
    const items = async () => new Set((await service.toolkit.list({ kind: "prompt" })).entries.map(({ item }) => item));
    const before = await items();
    await writeFile(join(folder, "p500.md"), prompt("p500", "Another"));
    expect(await service.nextEvent()).toEqual(change({ changed: ["prompts.p500"] }));
    const after = await items();
    expect([...after].filter((item) => !before.has(item)).map(({ name }) => name)).toEqual(["p500"]);
    expect(FilePrompt.sourceOf([...after][0] as FilePrompt)).toBeDefined();
  });

  test("it may come later, go, and come again; what was known stays meanwhile", async () => {
    const around = await folderWith({});
    const folder = join(around, "prompts");
    const service = await serve(folder);
    expect((await service.toolkit.list()).failures[0]?.error).toMatchObject({ code: "NOT_FOUND" });
    await mkdir(folder);
    await writeFile(join(folder, "a.md"), prompt("a"));
    expect(await service.nextEvent()).toEqual(change({ added: ["prompts.a"] }));
    expect(await service.failures()).toEqual([]);
    rmSync(folder, { recursive: true });
    await service.until(() => service.warnings().length === 2);
    expect(await service.refs()).toEqual(["prompts.a"]);
    expect(await service.failures()).toHaveLength(1);
    mkdirSync(folder);
    writeFileSync(join(folder, "b.md"), prompt("b"));
    expect(await service.nextEvent()).toEqual(change({ added: ["prompts.b"], removed: ["prompts.a"] }));
  });

  test("two toolkits may share it, and it ends with the last of them", async () => {
    const folder = await folderWith({ "a.md": prompt("a") });
    const shared = promptFolder(folder, { watch: true });
    const changes = [0, 0];
    const ends = changes.map((_, at) =>
      shared.watch?.(() => {
        changes[at] = (changes[at] ?? 0) + 1;
      }),
    );
    const lists = await Promise.all([shared.prompt?.({}), shared.prompt?.({})]);
    expect(lists[0]?.[0]).toBe(lists[1]?.[0]);
    ends[0]?.();
    const service = new Service(folder);
    await service.toolkit.start();
    await writeFile(join(folder, "b.md"), prompt("b"));
    await service.until(() => service.events.length > 1);
    ends[1]?.();
    ends[1]?.();
    expect(changes[0]).toBe(0);
    expect(await shared.prompt?.({})).toHaveLength(2);
  });

  test("an aborted read rejects with the reason, and the next one works", async () => {
    const folder = await folderWith({ "a.md": prompt("a") });
    const source = promptFolder(folder);
    const reason = new Error("enough");
    await expect(source.prompt?.({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await source.prompt?.({})).toHaveLength(1);
  });
});

describe("folders inside it", () => {
  const files = {
    "greet.md": "# Greet somebody\nHi {{name}}. {{> sign}}",
    "_sign.md": "Yours, all",
    "letters/greet.md": "# Greet by letter\nDear {{name}}. {{> sign}}",
    "letters/_sign.md": "Sincerely",
    "letters/formal/offer.md": prompt("bid", "We offer {{name}}"),
    "_drafts/a.md": prompt("draft"),
    ".git/b.md": prompt("hidden"),
    "node_modules/c.md": prompt("package"),
  };
  const treeWith = async (given: Readonly<Record<string, string>>): Promise<string> => {
    const folder = await folderWith({});
    for (const [name, text] of Object.entries(given)) await writeInto(folder, name, text);
    return folder;
  };
  const writeInto = async (folder: string, name: string, text: string): Promise<void> => {
    await mkdir(join(folder, name, ".."), { recursive: true });
    await writeFile(join(folder, name), text);
  };

  verifies("P5", "recursive: true reads them as folder-name, each prompt with the partials beside it", async () => {
    const service = await serve(await treeWith(files), { recursive: true });
    expect(await service.refs()).toEqual(["prompts.greet", "prompts.letters-formal-bid", "prompts.letters-greet"]);
    expect(await service.text("greet", { name: "Ada" })).toBe("# Greet somebody\nHi Ada. Yours, all");
    expect(await service.text("letters-greet", { name: "Ada" })).toBe("# Greet by letter\nDear Ada. Sincerely");
    expect(await service.failures()).toEqual([]);
  });

  verifies("P5", "without it those that hold prompts are reported once, and false leaves them out", async () => {
    const folder = await treeWith(files);
    const service = await serve(folder);
    expect(await service.refs()).toEqual(["prompts.greet"]);
    const message = `${folder}: These folders in it hold prompts and are not read: letters. Set recursive: true to read them, as \`folder-name\`, or recursive: false to leave them out.`;
    expect(await service.failures()).toEqual([message]);
    await writeFile(join(folder, "more.md"), prompt("more"));
    await service.nextEvent();
    expect(service.warnings()).toEqual([`prompts: ${message}`]);
    const silent = await serve(folder, { recursive: false });
    expect(await silent.failures()).toEqual([]);
    const flat = await serve(
      await treeWith({ "a.md": prompt("a"), "images/a.png": "", "images/README.md": "# Images" }),
    );
    expect(await flat.failures()).toEqual([]);
  });

  verifies("P5", "two of one name and a folder whose name is no beginning of one are reported", async () => {
    const folder = await treeWith({
      "a/b-c.md": prompt("b-c"),
      "a-b/c.md": prompt("c"),
      "2024/d.md": prompt("d"),
    });
    const service = await serve(folder, { recursive: true });
    expect(await service.refs()).toEqual(["prompts.a-b-c"]);
    const [name, conflict, ...others] = (await service.failures()).toSorted();
    expect(others).toEqual([]);
    expect(name).toContain('d.md:2:7: "2024-d" is no name for a prompt');
    expect(name).toContain("Rename its folder: the name of a prompt begins with it.");
    expect(conflict).toContain('The name "a-b-c" is that of');
  });

  verifies("P5", "what happens in them takes effect, also where they come and go", async () => {
    const folder = await treeWith({ "a.md": prompt("a") });
    const service = await serve(folder, { recursive: true, watch: true, pollMs: 3_600_000 });
    await writeInto(folder, "x/y/b.md", prompt("b", "Old"));
    expect(await service.nextEvent()).toEqual(change({ added: ["prompts.x-y-b"] }));
    await replaceFile(join(folder, "x/y/b.md"), prompt("b", "New"));
    expect(await service.nextEvent()).toEqual(change({ changed: ["prompts.x-y-b"] }));
    expect(await service.text("x-y-b")).toBe("New");
    await writeFile(join(folder, "x/c.md"), "---\nthinking: maybe\n---\nHi");
    await service.logs(/x\/c\.md:2:11: thinking must be/);
    await rm(join(folder, "x"), { recursive: true });
    await service.until(() => service.events.some(({ removed }) => removed.includes("prompts.x-y-b")));
    await writeInto(folder, "x/c.md", prompt("c"));
    await service.until(() => service.events.some(({ added }) => added.includes("prompts.x-c")));
    expect(await service.refs()).toEqual(["prompts.a", "prompts.x-c"]);
  });

  verifies("P5", "a link to a folder is not followed, so that there is an end", async () => {
    const folder = await treeWith({ "a/b.md": prompt("b") });
    await symlink(folder, join(folder, "a", "again"));
    expect(await (await serve(folder, { recursive: true })).refs()).toEqual(["prompts.a-b"]);
  });

  test("another value is refused", () => {
    expect(() => promptFolder("prompts", { recursive: "yes" as unknown as boolean })).toThrow(
      /option recursive of a prompt folder must be true or false/,
    );
  });
});

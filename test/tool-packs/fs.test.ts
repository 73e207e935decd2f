import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { type FsPackConfig, fsPack, registerWith } from "../../src/tool-packs/fs/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

let base: string;
let root: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "fs-pack-"));
  root = join(base, "work");
  await mkdir(join(root, "src", "deep"), { recursive: true });
  await writeFile(join(root, "README.md"), "# Work\n\nAll of it.\n");
  await writeFile(join(root, "src", "a.ts"), "export const a = 1;\n// TODO: more\n");
  await writeFile(join(root, "src", "deep", "b.ts"), "import { a } from '../a.ts';\n");
  await writeFile(join(root, "build.log"), "TODO: not for you\n");
  await writeFile(join(root, ".gitignore"), "*.log\n/dist/\n");
});

afterEach(async () => {
  await rm(base, { recursive: true, force: true });
});

async function using<T>(work: (toolkit: Toolkit) => Promise<T>, config: Partial<FsPackConfig> = {}): Promise<T> {
  await using toolkit = new Toolkit();
  registerWith(toolkit, { root, ...config });
  return await work(toolkit);
}

async function json(tool: string, input: object, config: Partial<FsPackConfig> = {}): Promise<unknown> {
  return await using(async (toolkit) => (await toolkit.call(`fs.${tool}`, input)).json(), config);
}

async function error(tool: string, input: object, config: Partial<FsPackConfig> = {}) {
  return await using((toolkit) => failure(toolkit.call(`fs.${tool}`, input)), config);
}

describe("the file pack", () => {
  verifies("W2", "shows a tree without what .gitignore leaves out", async () => {
    expect(await json("read_tree", {})).toEqual({
      tree: ".gitignore 13\nREADME.md 19\nsrc/\n  a.ts 34\n  deep/\n    b.ts 29",
      files: 4,
      folders: 2,
      complete: true,
    });
    expect(await json("read_tree", { ignored: true, depth: 1, include: "*.log" })).toMatchObject({
      tree: "build.log 18\nsrc/",
    });
    expect(await json("read_tree", { path: "src", include: "a.*" })).toMatchObject({ tree: "a.ts 34\ndeep/" });
  });

  verifies("W2", "says that a tree is not complete", async () => {
    expect(await json("read_tree", {}, { maxEntries: 2 })).toEqual({
      tree: ".gitignore 13\nREADME.md 19",
      files: 2,
      folders: 0,
      complete: false,
    });
  });

  verifies("W2", "reads a text by lines, and says where to go on", async () => {
    await writeFile(join(root, "many.txt"), "one\ntwo\nthree\nfour\n");
    await using(async (toolkit) => {
      const whole = await toolkit.call("fs.read_file", { path: "many.txt" });
      expect(await whole.text()).toBe("one\ntwo\nthree\nfour\n");
      const part = await toolkit.call("fs.read_file", { path: "many.txt", from: 2, lines: 2 });
      expect(await Promise.all((part.parts ?? []).map((each) => each.text()))).toEqual([
        "two\nthree\n",
        "[Lines 2 to 3. Go on with from: 4.]",
      ]);
      const rest = await toolkit.call("fs.read_file", { path: "many.txt", from: 4, lines: 2 });
      expect(await rest.text()).toBe("four\n");
    });
    expect((await error("read_file", { path: "many.txt", from: 9 })).message).toContain("none is line 9");
  });

  verifies("W2", "gives a binary file as bytes with its media type", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    await writeFile(join(root, "dot"), png);
    await using(async (toolkit) => {
      const content = await toolkit.call("fs.read_file", { path: "dot" });
      expect(content.mediaType).toBe("image/png");
      expect(Buffer.from(await content.bytes())).toEqual(png);
    });
  });

  verifies("W2", "searches text and regular expressions, in the files that fit", async () => {
    expect(await json("search", { pattern: "TODO" })).toEqual({
      matches: [{ path: "src/a.ts", line: 2, text: "// TODO: more" }],
      searched: 4,
      skipped: 0,
      complete: true,
    });
    expect(await json("search", { pattern: "^(im|ex)port", regex: true, include: "**/deep/*" })).toMatchObject({
      matches: [{ path: "src/deep/b.ts", line: 1 }],
    });
    expect(await json("search", { pattern: "todo: MORE", ignoreCase: true, path: "src" })).toMatchObject({
      matches: [{ path: "src/a.ts", line: 2 }],
    });
    expect(await json("search", { pattern: "a", limit: 1 })).toMatchObject({ matches: [{}], complete: false });
    expect((await error("search", { pattern: "(?=a)", regex: true })).message).toContain("cannot be searched for");
  });

  verifies("W2", "leaves out of a search what is no text", async () => {
    await writeFile(join(root, "blob"), Buffer.from([84, 79, 68, 79, 0, 1]));
    await writeFile(join(root, "large.txt"), `TODO${"x".repeat(200)}`);
    expect(await json("search", { pattern: "TODO" }, { maxFileBytes: 100 })).toMatchObject({
      matches: [{ path: "src/a.ts" }],
      skipped: 2,
    });
  });

  verifies("W2", "says what is at a path", async () => {
    expect(await json("stat", { path: "README.md" })).toMatchObject({ kind: "file", bytes: 19 });
    expect(await json("stat", { path: "." })).toMatchObject({ kind: "folder" });
    expect(await error("stat", { path: "none" })).toMatchObject({ code: "NOT_FOUND" });
  });

  verifies("W2", "is read-only unless it is asked to write", async () => {
    expect(await error("write_file", { path: "x", text: "" })).toMatchObject({ code: "NOT_FOUND" });
    const { entries } = await using((toolkit) => toolkit.list({ namespace: "fs" }));
    expect(entries.map(({ name }) => name)).toEqual(["read_file", "read_tree", "search", "stat"]);
    expect(entries.every((entry) => entry.kind === "tool" && entry.item.annotations?.readOnlyHint === true)).toBe(true);
  });

  verifies("W2", "writes a file, its folders, and keeps its mode", async () => {
    const write = { write: true };
    expect(await json("write_file", { path: "new/folder/x.txt", text: "é" }, write)).toEqual({
      path: "new/folder/x.txt",
      bytes: 2,
      created: true,
    });
    expect(await error("write_file", { path: "README.md", text: "" }, write)).toMatchObject({ code: "CONFLICT" });
    await chmod(join(root, "README.md"), 0o640);
    expect(await json("write_file", { path: "README.md", text: "# New\n", replace: true }, write)).toMatchObject({
      created: false,
    });
    expect(await readFile(join(root, "README.md"), "utf8")).toBe("# New\n");
    expect((await stat(join(root, "README.md"))).mode & 0o777).toBe(process.platform === "win32" ? 0o666 : 0o640);
    expect((await readdir(root)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  verifies("W2", "edits parts of a file, all or none", async () => {
    const write = { write: true };
    const edits = [
      { old: "a = 1", new: "a = 2" },
      { old: "TODO", new: "DONE" },
    ];
    expect(await json("edit_file", { path: "src/a.ts", edits }, write)).toMatchObject({ replaced: 2 });
    expect(await readFile(join(root, "src", "a.ts"), "utf8")).toBe("export const a = 2;\n// DONE: more\n");
    const bad = await error(
      "edit_file",
      {
        path: "src/a.ts",
        edits: [
          { old: "2", new: "3" },
          { old: "none", new: "" },
        ],
      },
      write,
    );
    expect(bad.message).toContain("stands 0 times");
    expect(await readFile(join(root, "src", "a.ts"), "utf8")).toContain("a = 2");
    const many = await error("edit_file", { path: "src/a.ts", edits: [{ old: "e", new: "" }] }, write);
    expect(many.message).toMatch(/stands \d+ times in src\/a\.ts\. Give more/);
    await writeFile(join(root, "latin"), Buffer.from([0xe9, 10]));
    expect(await error("edit_file", { path: "latin", edits: [{ old: "\n", new: "" }] }, write)).toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  verifies("W2", "keeps a link to a file of the folder when it is written", async () => {
    await symlink("README.md", join(root, "link.md"));
    await json("write_file", { path: "link.md", text: "through", replace: true }, { write: true });
    expect(await readFile(join(root, "README.md"), "utf8")).toBe("through");
  });

  verifies("W2", "refuses larger files than it may read or write", async () => {
    const small = { maxFileBytes: 10, write: true };
    expect(await error("read_file", { path: "README.md" }, small)).toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(await error("write_file", { path: "y", text: "x".repeat(11) }, small)).toMatchObject({
      code: "LIMIT_EXCEEDED",
    });
  });

  verifies("W2", "takes a budget of tokens: its definitions and guidance", async () => {
    const { tokens, guidance } = await using(
      async (toolkit) => {
        const toolset = await toolkit.toolset({ include: ["fs.*"] });
        return { tokens: toolset.tokens().total, guidance: toolset.guidance() };
      },
      { write: true },
    );
    expect(tokens).toBeLessThan(1_300);
    expect(guidance.match(/Paths are relative/g)).toHaveLength(1);
  });

  test("says which option is wrong", () => {
    expect(() => fsPack({ root: "" })).toThrow(/root of the file pack/);
    expect(() => fsPack({ root: ".", wirte: true } as never)).toThrow(/write/);
    expect(() => fsPack({ root: ".", maxEntries: 0 })).toThrow(/maxEntries/);
  });
});

import { execFileSync } from "node:child_process";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { promptFolder } from "../../src/prompt/prompt-folder.ts";
import { readPrompt, readPrompts } from "../../src/prompt/read-prompts.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { folderWith, rejection, render } from "./support.ts";

const prompt = (name: string, body = "Hello {{name}}") => `---\nname: ${name}\n---\n${body}`;

describe("readPrompts with recursive", () => {
  const treeWith = async (files: Readonly<Record<string, string>>) => {
    const folder = await folderWith({});
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(folder, name, ".."), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    return folder;
  };
  const files = {
    "greet.md": "---\n---\nHi. {{> end}}",
    "_end.md": "Bye",
    "letters/greet.md": "---\n---\nDear. {{> end}}",
    "letters/_end.md": "Sincerely",
    "letters/formal/bid.md": prompt("offer", "Offer"),
    "_drafts/a.md": "{{broken",
    ".git/a.md": "{{broken",
    "node_modules/a.md": "{{broken",
    "letters/README.md": "{{broken",
  };

  verifies("P5", "gives the names that a followed folder gives, each prompt with its own partials", async () => {
    const folder = await treeWith(files);
    await symlink(folder, join(folder, "letters", "again"));
    const prompts = await readPrompts(folder, { recursive: true });
    expect(prompts.map(({ name }) => name)).toEqual(["greet", "letters-formal-offer", "letters-greet"]);
    const texts = await Promise.all(prompts.map((each) => render(each)));
    expect(texts).toEqual(["Hi. Bye", "Offer", "Dear. Sincerely"]);
    await using toolkit = new Toolkit();
    toolkit.addSource("prompts", promptFolder(folder, { recursive: true }));
    await toolkit.start();
    const followed = (await toolkit.list({ kind: "prompt" })).entries.map((entry) => entry.name);
    expect(followed.toSorted()).toEqual(prompts.map(({ name }) => name));
    for (const recursive of [undefined, false])
      expect((await readPrompts(folder, { recursive })).map(({ name }) => name)).toEqual(["greet"]);
  });

  verifies("P5", "reports each broken file, and two of one name", async () => {
    const folder = await treeWith({
      ...files,
      "letters/a.md": "{{broken",
      "letters-greet.md": prompt("letters-greet"),
    });
    const { message } = await rejection(readPrompts(folder, { recursive: true }));
    expect(message).toMatch(/^2 prompts of .* cannot be read:/);
    expect(message).toContain(join(folder, "letters/a.md:1:"));
    expect(message).toContain('The name "letters-greet" is that of');
  });

  verifies("P5", "is an option of readPrompts that is true or false, and none of readPrompt", async () => {
    const folder = await treeWith(files);
    for (const reading of [
      readPrompts(folder, { recursive: "yes" as never }),
      readPrompts(folder, { recursiv: true } as never),
      readPrompt(join(folder, "greet.md"), { recursive: true } as never),
    ])
      expect((await rejection(reading)).code).toBe("INVALID_CONFIG");
  });
});

describe("readPrompt", () => {
  verifies(["P1", "P2"], "reads a file by path or URL, with the partials of its folder", async () => {
    const folder = await folderWith({
      "greet.md": "---\n---\n{{> a}} {{> b}} {{> c}}",
      "_a.md": "A{{> d}}",
      "a.md": prompt("a", "not this one"),
      "b.hbs": "B",
      "c.md": prompt("c", "C"),
      "d.hbs": "D",
    });
    const file = join(folder, "greet.md");
    for (const source of [file, pathToFileURL(file)]) {
      const read = await readPrompt(source);
      expect(read.name).toBe("greet");
      expect(await render(read)).toBe("AD B C");
    }
  });

  verifies("P4", "a missing partial names what was looked for and where", async () => {
    const folder = await folderWith({ "a.md": prompt("a", "{{> tone}}") });
    const error = await rejection(readPrompt(join(folder, "a.md")));
    expect(error.message).toContain(
      `${join(folder, "a.md")}:4:1: There is no partial "tone": looked for _tone.md, tone.hbs, tone.md and _tone.prompt in ${folder}.`,
    );
  });

  verifies("P4", "an error in a partial names its file", async () => {
    const folder = await folderWith({ "a.md": prompt("a", "{{> tone}}"), "_tone.md": "\n{{uper x}}" });
    expect((await rejection(readPrompt(join(folder, "a.md")))).message).toContain(`${join(folder, "_tone.md")}:2:3: `);
  });

  verifies("P3", "a partial is never read from another folder", async () => {
    const folder = await folderWith({ "_secret.md": "secret", "secret.hbs": "secret" });
    await mkdir(join(folder, "inner"));
    for (const name of ["../secret", '"../secret"', "../_secret", '"..\\secret"', "secret"]) {
      await writeFile(join(folder, "inner", "a.md"), prompt("a", `{{> ${name}}}`));
      expect((await rejection(readPrompt(join(folder, "inner", "a.md")))).code).toBe("INVALID_PROMPT");
    }
  });

  test("what cannot be read says why", async () => {
    const folder = await folderWith({ "latin.md": new Uint8Array([0x2d, 0x2d, 0x2d, 0x0a, 0xe9]) });
    expect(await rejection(readPrompt(join(folder, "none.md")))).toMatchObject({
      code: "NOT_FOUND",
      details: { key: join(folder, "none.md") },
    });
    expect((await rejection(readPrompt(folder))).message).toContain("Read a folder with readPrompts.");
    expect((await rejection(readPrompt(join(folder, "latin.md")))).message).toContain(
      "latin.md:1:1: The file is not text in UTF-8.",
    );
    expect((await rejection(readPrompt(new URL("https://example.com/a.md")))).code).toBe("INVALID_INPUT");
  });

  test("an aborted signal rejects with its reason", async () => {
    const folder = await folderWith({ "a.md": prompt("a") });
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    await expect(readPrompt(join(folder, "a.md"), { signal })).rejects.toBe(reason);
    await expect(readPrompts(folder, { signal })).rejects.toBe(reason);
    const controller = new AbortController();
    const reading = readPrompts(folder, { signal: controller.signal });
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
  });
});

describe("readPrompts", () => {
  verifies(
    "P1",
    "every markdown file of the folder, in the order of their names, but README and partials",
    async () => {
      const folder = await folderWith({
        "b.md": prompt("first"),
        "a.md": prompt("second", "{{> part}}"),
        "C.MD": prompt("third"),
        "README.md": "# Not a prompt",
        "_part.md": "Part",
        ".hidden.md": "nothing",
        "notes.txt": "nothing",
      });
      await mkdir(join(folder, "inner.md"));
      const prompts = await readPrompts(folder);
      expect(prompts.map(({ name }) => name)).toEqual(["third", "second", "first"]);
      expect(await render(prompts[1] as (typeof prompts)[0])).toBe("Part");
      expect(await readPrompts(pathToFileURL(folder))).toHaveLength(3);
    },
  );

  verifies("P4", "several broken files are one error that names each; one is its own", async () => {
    const folder = await folderWith({
      "a.md": prompt("a", "{{uper x}}"),
      "b.md": prompt("b"),
      "c d.md": "---\n---\nHi",
      "e.md": "No front matter",
      "latin.md": new Uint8Array([0xe9]),
    });
    const error = await rejection(readPrompts(folder));
    expect(error.code).toBe("INVALID_PROMPT");
    expect(error.message).toContain(`4 prompts of ${folder} cannot be read:`);
    for (const place of ["a.md:4:3: ", "c d.md:1:1: ", "e.md:1:1: ", "latin.md:1:1: "]) {
      expect(error.message).toContain(`\n- ${join(folder, place)}`);
    }
    expect((error.cause as AggregateError).errors.every((one) => ToolkitError.is(one))).toBe(true);
    const single = await folderWith({ "a.md": prompt("a"), "c d.md": "---\n---\nHi" });
    expect((await rejection(readPrompts(single))).code).toBe("INVALID_NAME");
  });

  test("two files of one name are CONFLICT, naming both", async () => {
    const folder = await folderWith({ "a.md": prompt("same"), "b.md": prompt("same") });
    expect(await rejection(readPrompts(folder))).toMatchObject({
      code: "CONFLICT",
      details: { key: "same", owners: [join(folder, "a.md"), join(folder, "b.md")] },
    });
  });

  test("an empty folder gives nothing, a missing one NOT_FOUND", async () => {
    const folder = await folderWith({});
    expect(await readPrompts(folder)).toEqual([]);
    expect((await rejection(readPrompts(join(folder, "none")))).code).toBe("NOT_FOUND");
  });

  test("a file in place of a folder is an error, and a path through a file is NOT_FOUND", async () => {
    const file = join(await folderWith({ "a.md": prompt("a") }), "a.md");
    expect(await rejection(readPrompts(file))).toMatchObject({
      code: "INVALID_PROMPT",
      message: `${file}:1:1: This is a file and no folder. Read it with readPrompt.`,
    });
    expect((await rejection(readPrompts(join(file, "b")))).code).toBe("NOT_FOUND");
  });

  test.skipIf(process.platform === "win32")(
    "a pipe, or a link to one, is no prompt and is not waited for (not on Windows: it has no mkfifo)",
    async () => {
      const folder = await folderWith({ "a.md": prompt("a") });
      execFileSync("mkfifo", [join(folder, "pipe.md")]);
      await symlink(join(folder, "pipe.md"), join(folder, "link.md"));
      await symlink("a.md", join(folder, "b.prompt"));
      await rm(join(folder, "a.md"));
      expect((await rejection(readPrompts(folder))).message).toMatch(/^There is no ".*b\.prompt": check the path\.$/);
      await writeFile(join(folder, "a.md"), "---\n---\nHi");
      expect((await readPrompts(folder)).map(({ name }) => name)).toEqual(["a", "b"]);
    },
  );

  verifies("P1", "a folder of a thousand", async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `p${index}`);
    const folder = await folderWith(
      Object.fromEntries(names.map((name) => [`${name}.md`, prompt(name, "{{> part}} {{x}}")])),
    );
    await writeFile(join(folder, "_part.md"), "Part");
    const prompts = await readPrompts(folder);
    expect(prompts.map(({ name }) => name)).toEqual([...names].sort((a, b) => (`${a}.md` < `${b}.md` ? -1 : 1)));
    expect(await render(prompts[999] as (typeof prompts)[0], { x: 1 })).toBe("Part 1");
  });
});

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { formatLint, lintPrompts } from "../../../src/prompt/lint/lint-prompts.ts";
import { verifies } from "../../support/verifies.ts";
import { folderWith, rejection } from "../support.ts";

const described = "title: A title that says it\ndescription: Says it.";
const whole = `---\n${described}\n---\nHello.`;

describe("folders and files", () => {
  verifies("P7", "a folder: its prompts with their partials, two of one name, unused partials", async () => {
    const input = "input: { properties: { author: { properties: { first: {} } } } }";
    const folder = await folderWith({
      "greet.md": `---\n${described}\n${input}\n---\n{{> sign author}}\n{{> loop}}`,
      "other.md": `---\nname: greet\n${described}\n---\n{{> loop}}`,
      "_sign.md": "---\nnote: of a partial\n---\n{{first}} {{frist}}{{nohelper x}}",
      "loop.hbs": "{{> loop}}",
      "_alone.md": "Nobody uses it.",
      "README.md": "No prompt.",
      "binary.md": new Uint8Array([0xff, 0xfe, 0x00]),
    });
    const { files, problems } = await lintPrompts(folder);
    const inFolder = (path: string) => path.slice(folder.length + 1);
    expect(files.map(inFolder)).toEqual(["greet.md", "other.md"]);
    expect(
      problems.map(({ file, line, column, code, source }) => [inFolder(file), `${line}:${column}`, code, source]),
    ).toEqual([
      ["_alone.md", "1:1", "unused-partial", ""],
      ["_sign.md", "4:13", "unknown-variable", "{{first}} {{frist}}{{nohelper x}}"],
      ["_sign.md", "4:22", "template", "{{first}} {{frist}}{{nohelper x}}"],
      ["binary.md", "1:1", "file", ""],
      ["loop.hbs", "1:1", "partial", "{{> loop}}"],
      ["other.md", "1:1", "duplicate-name", "---"],
    ]);
    expect(problems[1]?.message).toBe(`There is no "frist" in input.author, as ${folder}/greet.md uses it.`);
  });

  verifies("P7", "recursive: the folders in it too, each with its own partials, and names as folder-name", async () => {
    const sign = `---\n${described}\n---\n{{> sign}}`;
    const folder = await folderWith({ "a-b.md": whole, "c.md": "---\nthinking: maybe\n---\nHi" });
    const files = {
      "a/b.md": sign,
      "a/_sign.md": "Yours",
      "a/_alone.md": "",
      "x/y/d.md": sign,
      "node_modules/e.md": "",
    };
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(folder, dirname(name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    const { files: linted, problems } = await lintPrompts(folder, { recursive: true });
    const inFolder = (path: string) => path.slice(folder.length + 1);
    expect(linted.map(inFolder).toSorted()).toEqual(["a-b.md", "a/b.md", "c.md", "x/y/d.md"]);
    const found = problems.filter(({ code }) => !code.startsWith("missing-"));
    expect(found.map(({ file, code }) => [inFolder(file), code])).toEqual([
      ["a/_alone.md", "unused-partial"],
      ["a/b.md", "duplicate-name"],
      ["c.md", "field"],
      ["x/y/d.md", "partial"],
    ]);
    expect(found[3]?.message).toContain(`_sign.prompt in ${join(folder, "x/y")}`);
    expect((await lintPrompts(folder)).files.map(inFolder)).toEqual(["a-b.md", "c.md"]);
    expect((await rejection(lintPrompts(folder, { recursive: 1 as never }))).code).toBe("INVALID_CONFIG");
  });

  verifies("P7", "one file finds the partials beside it, by path and by URL", async () => {
    const folder = await folderWith({
      "a.md": `---\n${described}\n---\n{{> b}}`,
      "_b.md": "{{> c}}",
      "d.md": "broken",
    });
    const file = `${folder}/a.md`;
    for (const target of [file, pathToFileURL(file), [file, file]]) {
      const { files, problems } = await lintPrompts(target);
      expect(files).toEqual([file]);
      expect(problems.map(({ message }) => message)).toEqual([
        `There is no partial "c": looked for _c.md, c.hbs, c.md and _c.prompt in ${folder}.`,
      ]);
    }
  });

  verifies("P7", "a file of dotprompt, by the same rules", async () => {
    const text = `---
model: googleai/gemini
description: Greets.
title: Greet somebody
config: { temprature: 0.4 }
input: { schema: { name: string, people(array): { first: string } } }
metadata: { a: 1 }
colour: red
---
{{role "system"}}Be kind.{{role "user"}}{{nmae}}{{#each people}}{{first}}{{last}}{{/each}}{{name}}`;
    const { problems } = await lintPrompts({ text, filename: "greet.prompt" }, { models: ["openai/*"] });
    expect(problems.map(({ line, column, code, message }) => `${line}:${column} ${code}: ${message}`)).toEqual([
      '2:8 unknown-model: There is no provider "google".',
      "5:23 field: There is no setting temprature in config.",
      "8:1 unknown-field: The field `colour` means nothing here.",
      '10:43 unknown-variable: There is no "nmae" in input.',
      '10:76 unknown-variable: There is no "last" in the entries of input.people.',
    ]);
  });

  verifies("P7", "a setting that stands outside settings is reported with its place there", async () => {
    const { problems } = await lintPrompts({
      text: "---\nname: say\nmaxOutputTokens: 9\ndescription: Says it.\ntitle: Say something\n---\nHi",
    });
    expect(problems.map(({ line, code, hint }) => [line, code, hint])).toEqual([
      [3, "unknown-field", "It is one of the settings: write `settings: { max_output_tokens: ... }`."],
    ]);
  });

  verifies("P7", "the prompts we ship have no problem", async () => {
    const { files, problems } = await lintPrompts(new URL("../../../prompts/", import.meta.url));
    expect(files.length).toBeGreaterThanOrEqual(3);
    expect(problems).toEqual([]);
  });
});

describe("what is right is left alone", () => {
  const inputs: readonly (readonly [input: string, body: string])[] = [
    [
      "{ type: object, properties: { a: { oneOf: [ {type: string}, {type: array, items: {type: string}} ] } } }",
      "{{#each a}}{{this}}{{/each}}{{a}}{{a.length}}",
    ],
    [
      "{ type: object, properties: { kind: { type: string } }, if: { properties: { kind: { const: x } } }, then: { properties: { extra: {type: string} } } }",
      "{{kind}}{{extra}}",
    ],
    [
      "{ type: object, properties: { m: { type: object, additionalProperties: { type: object, properties: { n: {} } } } } }",
      "{{#each m}}{{@key}} {{n}}{{this.n}}{{/each}} {{m.foo.n}} {{lookup m 'x'}}",
    ],
    [
      "{ type: array, items: { type: object, properties: { t: {} } } }",
      "{{#each this}}{{t}}{{/each}}{{this.[0].t}}{{length}}",
    ],
    [
      "{ type: object, properties: { tree: { $ref: '#/$defs/n' } }, $defs: { n: { type: object, properties: { v: {}, kids: { type: array, items: { $ref: '#/$defs/n' } } } } } }",
      "{{#with tree}}{{v}}{{#each kids}}{{v}}{{#each kids}}{{v}}{{../v}}{{../../v}}{{../../../tree.v}}{{/each}}{{/each}}{{/with}}",
    ],
    [
      "{ allOf: [ { $ref: '#/$defs/a' }, { required: [x] } ], $defs: { a: { type: object, properties: { x: {}, y: {} } } } }",
      "{{x}}{{y}}",
    ],
    [
      "{ type: object, properties: { a: true, b: { type: [object, 'null'], properties: { c: {} } } } }",
      "{{a.b.c}}{{b.c}}{{#if b}}{{b.c}}{{else if a}}{{a}}{{/if}}",
    ],
    [
      "{ type: object, properties: { 'first name': {}, xs: { type: array } } }",
      "{{[first name]}}{{#each xs as |x|}}{{x.y}}{{#each ../xs}}{{this}}{{/each}}{{/each}}{{this.xs}}{{@root.xs}}{{#unless xs}}{{/unless}}{{join xs ','}}{{json (lookup xs 0)}}",
    ],
    [
      "{ type: object, properties: { xs: { type: array, items: { type: array, items: { type: object, properties: { q: {} } } } } } }",
      "{{#each xs}}{{#each this}}{{q}}{{/each}}{{/each}}{{xs.[0].[1].q}}",
    ],
  ];

  for (const [input, body] of inputs) {
    verifies("P7", `an input ${input}`, async () => {
      const text = `---\nname: a\n${described}\ninput: ${input}\n---\n${body}`;
      expect((await lintPrompts({ text })).problems).toEqual([]);
    });
  }

  verifies("P7", "the examples of the guide", async () => {
    const guide = await readFile(new URL("../../../docs/prompts.md", import.meta.url), "utf8");
    const texts = [...guide.matchAll(/^```markdown\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => ({
      text,
      filename: "example.md",
    }));
    const { problems } = await lintPrompts(texts);
    expect(texts.length).toBeGreaterThan(3);
    expect(problems.filter(({ severity }) => severity !== "hint")).toEqual([]);
  });
});

describe("what cannot be checked", () => {
  test("a path that leads nowhere, and what is no target", async () => {
    expect(await rejection(lintPrompts("no/such/file.md"))).toMatchObject({ code: "NOT_FOUND" });
    expect(await rejection(lintPrompts({ txt: "" } as never))).toMatchObject({ code: "INVALID_INPUT" });
  });

  test("options there are not", async () => {
    const text = { text: whole, filename: "a.md" };
    expect(await rejection(lintPrompts(text, { model: [] } as never))).toMatchObject({ code: "INVALID_CONFIG" });
    expect(await rejection(lintPrompts(text, { models: "openai/*" } as never))).toMatchObject({
      code: "INVALID_CONFIG",
    });
  });

  test("an abort", async () => {
    const reason = new Error("enough");
    await expect(lintPrompts({ text: whole }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe("the text for people", () => {
  verifies("P7", "each problem with its line, a mark under the place, and what to write; then a count", async () => {
    const text = `---\n${described}\ninput: { properties: { name: {} } }\n---\n\tHello {{name}}, {{nmae}}!`;
    const report = await lintPrompts([
      { text, filename: "greet.md" },
      { text: whole, filename: "whole.md" },
    ]);
    expect(formatLint(report)).toBe(`greet.md:6:20: error: There is no "nmae" in input. [unknown-variable]
6 | \tHello {{name}}, {{nmae}}!
  | \t                  ^^^^
  = Did you mean "name"? Otherwise describe it in input.

2 prompts: 1 error.
`);
    expect(JSON.parse(JSON.stringify(report))).toEqual({
      files: ["greet.md", "whole.md"],
      problems: [
        {
          file: "greet.md",
          line: 6,
          column: 20,
          severity: "error",
          code: "unknown-variable",
          message: 'There is no "nmae" in input.',
          hint: 'Did you mean "name"? Otherwise describe it in input.',
          source: "\tHello {{name}}, {{nmae}}!",
        },
      ],
    });
  });

  test("a long line is cut around the place, and none is no problem", async () => {
    const text = `---\nname: a\n${described}\ninput: { properties: {} }\n---\n${"x".repeat(500)}{{nmae}}${"y".repeat(500)}`;
    const [, line = "", mark = ""] = formatLint(await lintPrompts({ text })).split("\n");
    expect(line.length).toBeLessThan(130);
    expect(line.slice(mark.indexOf("^"), mark.lastIndexOf("^") + 1)).toBe("nmae");
    expect(formatLint(await lintPrompts({ text: whole, filename: "a.md" }))).toBe("1 prompt: no problem.\n");
  });
});

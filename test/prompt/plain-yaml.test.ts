import { readdir, readFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDocument } from "yaml";
import { defaultPromptLimits } from "../../src/core/prompt-limits.ts";
import { parsePlainYaml } from "../../src/prompt/front-matter/plain-yaml.ts";
import { splitFrontMatter } from "../../src/prompt/front-matter/split-front-matter.ts";

/** The result of the library; undefined for an error or a warning. */
function byLibrary(yaml: string): unknown {
  const options = {
    prettyErrors: false,
    stringKeys: true,
    merge: true,
    schema: "core",
    resolveKnownTags: false,
  } as const;
  const document = parseDocument(yaml, { ...options, version: "1.2" });
  if (document.errors.length + document.warnings.length > 0) return undefined;
  return document.contents === null ? {} : document.toJS({ maxAliasCount: 30 });
}

/** It gives the same as the library, or nothing. Returns whether it gave anything. */
function agrees(yaml: string): boolean {
  const plain = parsePlainYaml(yaml);
  if (plain === undefined) return false;
  expect({ yaml, value: plain }).toEqual({ yaml, value: byLibrary(yaml) });
  return true;
}

const pieces = fc.constantFrom(
  ..."a|b_c|type|- |: |:|\n|\n|\n  |\n  |\n    |\n- |\n  - | |  |[|]|{|}|, |,|\"|'|#| #|# x|||>|||\\|&a|*a|!x|?|-|---|...|%|@|`|~|<<|null|true|False|yes|0|1.5|-3|007|1e3|.5|0x1f|.inf|2026-01-01|é|日本|😀|\u00a0|\u2028|\t|\r|__proto__|it's|x: y|a: b\n|key:\n|{ type: string }|[a, b]|\"q: r\"|'s'|http://x.y|||"
    .split("|")
    .concat(["|", "|\n", "key: |\n  text\n\n   more\n", "|-", "|+"]),
);

describe("plain YAML", () => {
  test.each([
    ["", {}],
    ["# nothing\n\n", {}],
    ["a: b\nc: 1\nd: true\ne:\nf: ~x", undefined],
    ["a: b\nc: 1\nd: true\ne:\n", { a: "b", c: 1, d: true, e: null }],
    [
      "# yaml-language-server: $schema=x\ninput:\n  type: object\n  # and\n  required: [a, 'b c', \"d: e\"]\n  properties: { a: { type: string, enum: [x, 1, null] }, b: {} }\n",
      {
        input: {
          type: "object",
          required: ["a", "b c", "d: e"],
          properties: { a: { type: "string", enum: ["x", 1, null] }, b: {} },
        },
      },
    ],
    [
      "tools:\n- a\n- b.*\nanyOf:\n  - type: string\n    minLength: 1\n  - type: 'null'\n",
      { tools: ["a", "b.*"], anyOf: [{ type: "string", minLength: 1 }, { type: "null" }] },
    ],
    [
      "system_prompt: |\n  Be:\n    # brief\n\n  - and kind\n\n\nmodel: x\n",
      { system_prompt: "Be:\n  # brief\n\n- and kind\n", model: "x" },
    ],
    ["a: it's, [so] & so\nb: http://x.y#z\nc: été 日本\n", { a: "it's, [so] & so", b: "http://x.y#z", c: "été 日本" }],
  ])("%j", (yaml, value) => {
    expect(parsePlainYaml(yaml)).toEqual(value);
    agrees(yaml);
  });

  test("what it is not sure of it leaves alone", () => {
    const left = [
      "- a",
      "a: b\n c",
      "a: b # c",
      'a: "b\\n"',
      "a: >\n  b",
      "a: |-\n  b",
      "a: &x b",
      "a: *x",
      "a: !t b",
      "a: 1e3",
      "a: 01",
      "a: b: c",
      "a: b\na: c",
      "<<: {a: b}",
      "a:\tb",
      "a: [b,]",
      "a: [b: c]",
      "? a",
      "a: b\r\n",
      "__proto__: {}",
      "a: @b",
      "a:\n    b: c\n  d: e",
      "a: |\n\n  b",
      "a b: c",
      "'a': b",
      "---\na: b",
    ];
    expect(left.filter((yaml) => parsePlainYaml(yaml) !== undefined)).toEqual([]);
  });

  test("it agrees with the library on whatever is put together of pieces of YAML", () => {
    const texts = fc.array(pieces, { maxLength: 14 }).map((all) => all.join(""));
    fc.assert(
      fc.property(texts, (yaml) => void agrees(yaml)),
      { numRuns: 3000 },
    );
    fc.assert(
      fc.property(texts, (yaml) => void agrees(`a: ${yaml}`)),
      { numRuns: 3000 },
    );
    fc.assert(
      fc.property(texts, (yaml) => void agrees(`a:\n  b: ${yaml}\nc: d`)),
      { numRuns: 3000 },
    );
    fc.assert(
      fc.property(texts, (yaml) => void agrees(`a:\n  - ${yaml}\n  - x: ${yaml}\n`)),
      { numRuns: 3000 },
    );
    fc.assert(
      fc.property(texts, (yaml) => void agrees(`a: |\n  x\n  ${yaml}\nb: c`)),
      { numRuns: 3000 },
    );
    fc.assert(
      fc.property(texts, (yaml) => void agrees(`a: [x, ${yaml}]\nb: { c: ${yaml} }`)),
      { numRuns: 3000 },
    );
  });

  test("the prompts we ship are read so", async () => {
    const folder = new URL("../../prompts/", import.meta.url);
    const names = (await readdir(folder)).filter((name) => name.endsWith(".md") && name !== "README.md");
    for (const name of names) {
      const { yaml } = splitFrontMatter(await readFile(new URL(name, folder), "utf8"), name, defaultPromptLimits);
      expect([name, agrees(yaml)]).toEqual([name, true]);
    }
  });
});

import { readdir, readFile } from "node:fs/promises";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { defaultPromptLimits } from "../../src/core/prompt-limits.ts";
import { parseFrontMatter } from "../../src/prompt/front-matter/front-matter.ts";
import { fieldTable, parsePromptFields } from "../../src/prompt/front-matter/prompt-fields.ts";
import { splitFrontMatter } from "../../src/prompt/front-matter/split-front-matter.ts";
import { verifies } from "../support/verifies.ts";

const shipped = new URL("../../prompts/", import.meta.url);
const schema = JSON.parse(await readFile(new URL("front-matter.schema.json", shipped), "utf8"));
const validate = new Ajv({ strict: false }).compile(schema);
const frontMatterOf = (text: string) => parseFrontMatter(splitFrontMatter(text, "a.md", defaultPromptLimits), "a.md");

describe("the schema of the front matter", () => {
  test("has every field of the table, each with a description", () => {
    expect(Object.keys(schema.properties)).toEqual(Object.keys(fieldTable));
    for (const property of Object.values(schema.properties)) {
      expect(property).toMatchObject({ description: expect.stringMatching(/^[A-Z].*\.$/) });
    }
  });

  verifies("P1", "the prompts we ship name it, and it takes them", async () => {
    const files = (await readdir(shipped)).filter((file) => file.endsWith(".md"));
    for (const file of files) {
      const text = await readFile(new URL(file, shipped), "utf8");
      expect(text).toMatch(/^---\n# yaml-language-server: \$schema=\.\/front-matter\.schema\.json\n/);
      expect(validate(frontMatterOf(text).values), JSON.stringify(validate.errors)).toBe(true);
    }
  });

  // The schema and the parser accept the same values, except for fields that only lint reports.
  test.each([
    ["name: two words", false],
    ["name: ok", true],
    ["title: Short", true],
    ["title: 7", false],
    ["title: Long enough", true],
    ["description: 7", false],
    ["thinking: yes", false],
    ["thinking: true", true],
    ["thinking_budget: 0", false],
    ["thinking_budget: 1.5", false],
    ["thinking_budget: 2000", true],
    ["tools: [a, b.*]", true],
    ["tools: a.b", true],
    ["tools: [a b]", false],
    ["tools: [3]", false],
    ["input: 3", false],
    ["input: { type: strin }", false],
    ["output: { properties: { a: { type: string } } }", false],
    ["output: { anyOf: [{ type: string }] }", true],
    ["output: { type: object, properties: { a: { type: string } } }", true],
    ["modle: gpt-5", false],
    ["x-own: 1", true],
  ])("%s", (line, isRight) => {
    const frontMatter = frontMatterOf(`---\n${line}\n---\nHi`);
    const read = () => parsePromptFields(frontMatter);
    expect(validate(frontMatter.values)).toBe(isRight);
    if (isRight) read();
    else expect(read).toThrow();
  });
});

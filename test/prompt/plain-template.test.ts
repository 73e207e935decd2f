import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkTemplate } from "../../src/prompt/template/check-template.ts";
import { plainPartials } from "../../src/prompt/template/prompt-template.ts";
import { templateFromLine } from "../../src/prompt/template/template-source.ts";

/** Checks that a template that it accepts is accepted by the whole check, with the same partials. Returns whether it accepted it. */
function agrees(text: string): boolean {
  const plain = plainPartials(text);
  if (plain === undefined) return false;
  const { partials } = checkTemplate(templateFromLine(text, "a.md", 1), "prompt");
  expect({ text, names: plain.map(({ name }) => name) }).toEqual({ text, names: partials.map(({ name }) => name) });
  return true;
}

const words =
  "a|b.c|text|this|this.a|else|end|endif|elif|elseif|if|for|range|json|upper|lookup|default|true|null|not|or|is|len|index|template|block|define|with|each|x.end|log|printf|nil|item|and|include|raw|@index|../a|items.[0]|.a|$a|a-b|a b|1".split(
    "|",
  );
const word = fc.constantFrom(...words);
const pieces = fc.oneof(
  { weight: 4, arbitrary: word.map((name) => `{{${name}}}`) },
  word.map((name) => `{{ ${name} }}`),
  word.map((name) => `{{upper ${name}}}`),
  word.map((name) => `{{> ${name}}}`),
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom("if", "unless", "each", "with"), word)
      .map(([block, name]) => `{{#${block} ${name}}}x{{/${block}}}`),
  },
  fc.tuple(fc.constantFrom("if", "unless", "each", "with"), word).map(([block, name]) => `{{#${block} ${name}}}`),
  fc.constantFrom(
    "{{/if}}",
    "{{/each}}",
    "{{/with}}",
    "{{else}}",
    "{{else if a}}",
    "{{",
    "}}",
    "{",
    "}",
    "{%",
    "{#",
    "\\",
    "\n",
    "text ",
    "{{{a}}}",
    "{{!-- x --}}",
    "{{!",
    "--}}",
    "{{~a}}",
    "{{&a}}",
    "{{^}}",
    "{{#if a}}x{{else}}y{{/if}}",
    "{{#each a}}{{this}}{{/each}}",
  ),
);

describe("plain templates", () => {
  test("its own forms are found plain", () => {
    for (const text of [
      "no tag at all, { but } a brace",
      "{{a}} {{ a.b }} {{this}} {{upper a}} {{json this}}",
      "{{#if a}}{{#each b.c}}{{this}}, {{d}}{{else}}none{{/each}}{{else}}x{{/if}}{{#unless a}}{{/unless}}{{#with a}}{{/with}}",
      "{{> tone}} {{>tone-2}}",
    ]) {
      expect([text, agrees(text)]).toEqual([text, true]);
    }
  });

  test("what it takes, the whole check takes", () => {
    let taken = 0;
    const templates = fc.array(pieces, { maxLength: 6 }).map((all) => all.join(""));
    fc.assert(
      fc.property(templates, (text) => {
        if (agrees(text)) taken += 1;
      }),
      { numRuns: 20_000 },
    );
    expect(taken).toBeGreaterThan(500);
  });
});

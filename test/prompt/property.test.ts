import fc from "fast-check";
import { expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { verifies } from "../support/verifies.ts";
import { render, renderBody } from "./support.ts";

const codes = new Set(["INVALID_PROMPT", "INVALID_NAME", "RESERVED_NAME"]);

/** Pieces of which broken and whole prompts are made. */
const pieces = [
  "---",
  "\n",
  "name: a",
  "title: ",
  "input:",
  "  type: object",
  "&a ",
  "*a",
  "<<: ",
  "[",
  "]",
  "{",
  "}",
  '"',
  "'",
  "!!js/function",
  "|\n",
  "- ",
  ": ",
  "# ",
  "{{",
  "}}",
  "{{{",
  "{{#if x}}",
  "{{/if}}",
  "{{else}}",
  "{{#each y as |z|}}",
  "{{/each}}",
  "{{> p}}",
  "{{!--",
  "--}}",
  "\\{{",
  "upper ",
  ".x",
  "../",
  "@index",
  "this",
  " | ",
  "(",
  ")",
  "$",
  "end",
  "range ",
  "\ufeff",
  "\r\n",
  "\t",
  "é",
  "\u0000",
];
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((parts) => parts.join("")),
);
const anything = fc.oneof(
  text,
  fc.tuple(text, text).map(([yaml, body]) => `---\n${yaml}\n---\n${body}`),
  text.map((body) => `---\nname: a\n---\n${body}`),
  text.map((yaml) => `---\n${yaml}\n---\nHello`),
);

verifies(
  "P4",
  "whatever the text, it is a prompt or an error with its place",
  () => {
    fc.assert(
      fc.property(anything, (given) => {
        try {
          parsePrompt(given, { filename: "test.md", partials: { p: "{{x}}" } });
        } catch (error) {
          if (!ToolkitError.is(error)) throw error;
          expect(codes.has(error.code)).toBe(true);
          expect(error.message).toMatch(/^(?:test\.md|partial p):[1-9]\d*:[1-9]\d*: /);
        }
      }),
      { numRuns: 3000 },
    );
  },
  60_000,
);

verifies(
  "P3",
  "what is accepted renders, whatever the input, to text or a ToolkitError",
  async () => {
    await fc.assert(
      fc.asyncProperty(anything, fc.jsonValue(), async (given, input) => {
        try {
          const prompt = parsePrompt(given, { filename: "test.md", partials: { p: "{{x}}" } });
          expect(typeof (await render(prompt, input))).toBe("string");
        } catch (error) {
          if (!ToolkitError.is(error)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  },
  60_000,
);

verifies("P2", "text goes through a template as it is", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (value) => {
      expect(await renderBody("<{{x}}|{{{x}}}>", { x: value })).toBe(`<${value}|${value}>`);
      expect(await renderBody("<{{this}}>", value)).toBe(`<${value}>`);
      expect(JSON.parse((await renderBody("{{json x}}", { x: value })) ?? "")).toBe(value);
    }),
  );
});

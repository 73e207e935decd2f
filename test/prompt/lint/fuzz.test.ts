import fc from "fast-check";
import { expect } from "vitest";
import { formatLint, lintPrompts } from "../../../src/prompt/lint/lint-prompts.ts";
import { parsePrompt } from "../../../src/prompt/parse-prompt.ts";
import { verifies } from "../../support/verifies.ts";

const word = fc.constantFrom(
  "type",
  "propertis",
  "properties",
  "items",
  "required",
  "a",
  "b",
  "$ref",
  "anyOf",
  "default",
  "minimum",
);
const leaf = fc.oneof(
  fc.constantFrom("object", "string", "array", "#", "#/$defs/a", "#/properties/a", "x", -1, 3, true, null),
  fc.constant([] as unknown[]),
);
const schema = fc.letrec((tie) => ({
  node: fc.oneof({ maxDepth: 4 }, leaf, fc.dictionary(word, tie("node")), fc.array(tie("node"), { maxLength: 3 })),
})).node;
const pieces = fc.constantFrom(
  "{{a}}",
  "{{a.b}}",
  "{{../a}}",
  "{{this}}",
  "{{#each a}}",
  "{{#each a as |x y|}}",
  "{{x.b}}",
  "{{/each}}",
  "{{#with b}}",
  "{{/with}}",
  "{{#if a}}",
  "{{else}}",
  "{{/if}}",
  "{{> p}}",
  "{{> p a q=b}}",
  "{{> gone}}",
  "{{uper a}}",
  "{{lookup a b}}",
  "{{ .a }}",
  "{{",
  "\n",
  "text",
);
const template = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));
const fields = fc.record(
  { input: schema, output: schema, system_prompt: template, tools: schema, title: leaf, colour: leaf, naem: leaf },
  { requiredKeys: [] },
);

async function expectReport(text: string, partials: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const report = await lintPrompts({ text, filename: "a.md", partials });
  for (const { line, column, message, hint } of report.problems) {
    expect(Number.isInteger(line) && line >= 1 && Number.isInteger(column) && column >= 1).toBe(true);
    expect(`${message}${hint}`).not.toMatch(/undefined|\[object [A-Z]/);
  }
  expect(formatLint(report)).toMatch(/^1 prompt: /m);
  expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  return report.problems.filter(({ severity }) => severity === "error").map(({ message }) => message);
}

verifies("P7", "whatever a file says it is a report, and what cannot be read has an error in it", async () => {
  await fc.assert(
    fc.asyncProperty(fields, template, template, async (values, body, partial) => {
      const text = `---\n${JSON.stringify(values)}\n---\n${body}`;
      const errors = await expectReport(text, { p: partial });
      let isRead = true;
      try {
        parsePrompt(text, { filename: "a.md", partials: { p: partial } });
      } catch {
        isRead = false;
      }
      if (!isRead) expect(errors).not.toEqual([]);
    }),
    { numRuns: 400 },
  );
});

verifies("P7", "any text", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), fc.string(), async (head, body) => {
      await expectReport(head, {});
      await expectReport(`---\n${head}\n---\n${body}`, {});
    }),
  );
});

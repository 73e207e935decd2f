import { describe, expect } from "vitest";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { verifies } from "../support/verifies.ts";

describe("the most common mistakes in a schema have a hint", () => {
  const mistakes: readonly (readonly [schema: string, hint: string])[] = [
    [
      "{ properties: { text: { type: string, required: true } } }",
      "Which properties are required is said beside properties: `required: [text]`, at the same indentation.",
    ],
    [
      "{ properties: { text: {} }, required: true }",
      "Name the properties that are required: `required: [text]`, at the same indentation as properties.",
    ],
    ["{ properties: { text: {} }, required: text }", "Write a list: `required: [text]`."],
    ["{ properties: { text: string } }", "Write `text: { type: string }`, or what else describes it."],
    ["{ $ref: '#/$defs/no' }", "Name something under $defs of this schema: `$ref: '#/$defs/name'`."],
    ["{ type: string, pattern: '[' }", "Write a regular expression of JavaScript, in single quotes."],
  ];
  for (const [schema, hint] of mistakes) {
    verifies("P4", schema, () => {
      const text = `---\nname: a\ninput: ${schema}\n---\nSay {{text}}.`;
      expect(() => parsePrompt(text)).toThrow(expect.objectContaining({ details: expect.objectContaining({ hint }) }));
    });
  }
});

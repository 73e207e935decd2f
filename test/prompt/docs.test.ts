import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { validatorOf } from "../../src/core/schema/validator.ts";
import { Violation } from "../../src/core/schema/violation.ts";
import { FilePrompt } from "../../src/prompt/file-prompt.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { readPrompts } from "../../src/prompt/read-prompts.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { contextOf, rejection, render, renderBody, textOf } from "./support.ts";

const shipped = new URL("../../prompts/", import.meta.url);
const guide = await readFile(new URL("../../docs/prompts.md", import.meta.url), "utf8");
const examples = [...guide.matchAll(/^```markdown\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);

/** The input of each example of the guide, by its title, and the text it renders. */
const calls: Readonly<Record<string, readonly [input: unknown, text: string]>> = {
  "Write a greeting": [{ name: "Ann" }, "Write a greeting for Ann in one sentence."],
  "Report the weather": [{ region: "Bern" }, "What will the weather be today in Bern?"],
  "Reply to a customer": [
    { customer: { name: "Ann", orders: ["tea", "cups"] }, urgent: true },
    `Write a reply to Ann. Tone: friendly.
Say that work on it has begun.
- Order 0 of Ann: tea
- Order 1 of Ann: cups
All orders: tea; cups
As JSON: {"name":"Ann","orders":["tea","cups"]}`,
  ],
  "Find synonyms": [{ word: "big" }, '# Find synonyms\n\nList five synonyms of "big", the most common first.'],
  "Explain a word": ["tide", 'Explain the word "tide" to a child.'],
};

describe("the guide", () => {
  verifies("P2", "every example is a whole prompt and says what it should", async () => {
    expect(examples).toHaveLength(Object.keys(calls).length);
    for (const text of examples) {
      const prompt = parsePrompt(text, { filename: "example.md" });
      const [input, expected] = calls[prompt.title ?? ""] ?? [];
      expect(await render(prompt, input)).toBe(expected);
      expect(FilePrompt.sourceOf(prompt)?.unknown).toEqual([]);
    }
  });

  verifies(
    "P4",
    "the refusal of an input that it quotes is the one a caller gets, of a call and of a render",
    async () => {
      const quoted = /^`(The input of builtin\.greet .+)`$/m.exec(guide)?.[1];
      const greet = parsePrompt(examples[0] ?? "", { filename: "greet.md" });
      const toolkit = new Toolkit({ items: [greet] });
      for (const failing of [toolkit.call("greet", {}), toolkit.render("greet", {})]) {
        expect((await rejection(failing)).message).toBe(quoted);
      }
      await toolkit.close();
    },
  );

  verifies("P2", "{{else if}} is what it says", async () => {
    const body = "{{#if x}}X{{else if y}}Y{{else}}Z{{/if}}";
    expect(guide).toContain("{{else if y}}");
    expect([await renderBody(body, { x: 1 }), await renderBody(body, { y: 1 }), await renderBody(body)]).toEqual([
      "X",
      "Y",
      "Z",
    ]);
  });

  test("names every helper", async () => {
    const { helperForms } = await import("../../src/prompt/template/helper-forms.ts");
    for (const name of helperForms.keys()) expect(guide).toMatch(new RegExp(`\\{\\{#?${name} `));
  });
});

describe("the prompts we ship", async () => {
  const prompts = await readPrompts(shipped);
  const prompt = (name: string) => prompts.find((one) => one.name === name) as (typeof prompts)[0];

  verifies("P1", "are three, complete, and use exactly what they declare", () => {
    expect(prompts.map(({ name }) => name)).toEqual(["extract_entities", "summarize", "translate"]);
    for (const one of prompts) {
      expect(one.title?.length).toBeGreaterThanOrEqual(10);
      expect(one.description).toBeDefined();
      const source = FilePrompt.sourceOf(one);
      expect(source?.unknown).toEqual([]);
      const declared = Object.keys((one.input as { properties: object }).properties).sort();
      const values = [source?.body, source?.system].flatMap((template) => template?.uses.values ?? []);
      const used = values.map(({ path }) => path.steps[0]);
      expect([...new Set(used)].sort()).toEqual(declared);
    }
  });

  verifies("P6", "summarize renders with and without its options", async () => {
    const short = await render(prompt("summarize"), { text: "  Tea is hot.\n" });
    expect(short).toContain("in at most 3 sentences.\n\nKeep names");
    expect(short).toMatch(/<text>\nTea is hot\.\n<\/text>$/);
    const long = await render(prompt("summarize"), { text: "x", style: "formal", max_sentences: 5 });
    expect(long).toContain("in at most 5 sentences.\n\nStyle: formal.\nKeep names");
  });

  verifies("P6", "translate renders its system prompt too", async () => {
    const rendered = await prompt("translate").render({ text: "Hello", language: "French" }, contextOf());
    expect(rendered.system).toContain("You are a professional translator into French.\n");
    expect(await textOf(rendered)).toContain("- Tone: that of the text.\n");
  });

  verifies("P6", "extract_entities asks for the kinds, and its output schema takes what it asks for", async () => {
    const one = prompt("extract_entities");
    expect(await render(one, { text: "x" })).toContain("names: person, place, organization, date.");
    expect(await render(one, { text: "x", kinds: ["date"] })).toContain("names: date.");
    const validate = validatorOf(one.output ?? {});
    const answer = { entities: [{ kind: "person", name: "Ann", mentions: 1 }] };
    expect(await validate(answer)).toEqual(answer);
    expect(await validate({ entities: [{ kind: "planet" }] })).toBeInstanceOf(Violation);
  });
});

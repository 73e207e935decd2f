import { readFile } from "node:fs/promises";
import { describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { PromptChange } from "../../src/core/file-mistake.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { verifies } from "../support/verifies.ts";
import { goForms, jinjaForms } from "./migration-forms.ts";
import { parseError, render } from "./support.ts";

const head = "---\nname: test\n---\n";

/** The changes in the error of a prompt in another language. */
function changesOf(text: string, filename = "prompts/test.md"): readonly PromptChange[] {
  const error = parseError(text, { filename });
  expect(ToolkitError.is(error, "INVALID_PROMPT"), error.message).toBe(true);
  return ToolkitError.is(error, "INVALID_PROMPT") ? (error.details.changes ?? []) : [];
}

/** The text with every change made, at its line and column. */
function applied(text: string, changes: readonly PromptChange[]): string {
  const lines = text.split("\n");
  const starts = lines.map((_, index) => lines.slice(0, index).join("\n").length + (index === 0 ? 0 : 1));
  let result = "";
  let end = 0;
  for (const { line, column, text: old, instead } of changes) {
    const offset = (starts[line - 1] ?? 0) + column - 1;
    // Changes inside the text of a partial go with it.
    if (offset < end) continue;
    expect(text.slice(offset, offset + old.length)).toBe(old);
    result += text.slice(end, offset) + (instead ?? old);
    end = offset + old.length;
  }
  return result + text.slice(end);
}

describe("Go template syntax", () => {
  for (const { what, template, input, text, instead } of goForms) {
    verifies("P8", `${what}: reported tag by tag, and renders the same when it is changed so`, async () => {
      const changes = changesOf(head + template);
      expect(changes.map((change) => change.instead)).toEqual(instead);
      const { message } = parseError(head + template);
      expect(message).toContain("This is Go template syntax.");
      for (const change of changes) if (change.instead !== "") expect(message).toContain(`${change.instead}`);
      const partials = Object.fromEntries(
        changes.flatMap(({ partial }) => (partial === undefined ? [] : [[partial.name, partial.text]])),
      );
      const prompt = parsePrompt(applied(head + template, changes), { partials });
      const rendered = await render(prompt, input);
      if (text !== "") expect(rendered).toBe(text.trim());
    });
  }
});

describe("Jinja", () => {
  for (const [what, template, tag] of jinjaForms) {
    verifies("P8", `${what}: refused at its place, with the usual replacements`, () => {
      const text = `${head}One line.\n${template}`;
      const error = parseError(text);
      const column = template.indexOf(tag) + 1;
      expect(error).toMatchObject({ code: "INVALID_PROMPT", details: { line: 5, column } });
      expect(error.message).toContain(`prompts/test.md:5:${column}: ${tag} is no Handlebars. This is Jinja. `);
      expect(error.message.split("\n")).toHaveLength(4);
      expect(changesOf(text)).toEqual([]);
    });
  }

  verifies("P8", "the advice is Handlebars", async () => {
    const { message } = parseError(`${head}{{ x | upper }}`);
    for (const form of ["{{#if x}}..{{else}}..{{/if}}", "{{#each items as |a|}}..{{/each}}"]) {
      expect(message).toContain(form);
      expect(() => parsePrompt(head + form)).not.toThrow();
    }
    for (const tag of ["{{@root.x}}", "{{upper x}}", '{{default "none" x}}']) {
      expect(message).toContain(tag);
      expect(() => parsePrompt(head + tag)).not.toThrow();
    }
  });

  verifies("P8", "the guide quotes the advice", async () => {
    const guide = await readFile(new URL("../../docs/prompts.md", import.meta.url), "utf8");
    expect(guide).toContain(
      parseError(`${head}{% if diff %}`, { filename: "review.md" }).message.replace(":4:1:", ":13:1:"),
    );
  });

  verifies("P8", "a tag that is code is passed over", () => {
    const text = `${head}Never write \`{% if x %}\`.\n\n~~~\n{{ x | upper }}\n~~~\n{% set a = b %}`;
    expect(parseError(text)).toMatchObject({ details: { line: 9, column: 1 } });
  });

  verifies("P8", "a long tag is shortened", () => {
    const { message } = parseError(`${head}{{ x | default("${"a".repeat(10_000)}") }}`);
    expect(message.length).toBeLessThan(600);
  });
});

describe("what Handlebars cannot say", () => {
  const cases: readonly [what: string, template: string, instead: readonly (string | undefined)[], advice: string][] = [
    ["an unknown function", "{{ .x | title }}", [undefined], "There is no helper like title: the helpers are json, "],
    [
      "a format",
      '{{ printf "%5.2e" .x }}',
      [undefined],
      "Handlebars has no %5.2e: pass the value as the text it is to be.",
    ],
    [
      "a layout with a zone",
      '{{ .x }}: {{ .at.Format "2006-01-02T15:04:05Z07:00" }}',
      ["{{x}}", undefined],
      'The helper date has nothing for Z07:00 of this layout: write a format without it, as in {{date created "d MMMM yyyy, HH:mm" zone="Europe/Berlin"}}, or pass the text.',
    ],
    ["a layout with a padded day", '{{ .at.Format "Jan _2 15:04:05.000" }}', [undefined], "has nothing for _2 of"],
    ["a fraction of a second", '{{ .at.Format "05.000" }}', [undefined], "has nothing for .000 of"],
    ["minutes of one digit", '{{ .at.Format "3:4pm" }}', [undefined], "has nothing for 4 of"],
    [
      "a layout that is a field",
      "{{ .at.Format .layout }}",
      [undefined],
      'Write the format in the tag, as in {{date created "yyyy-MM-dd"}}.',
    ],
    ["a variable that changes", "{{ $x := .y }}{{ $x = .z }}", ["", undefined], "Handlebars has no variables"],
    ["an unknown variable", "{{ if .x }}{{ $y }}{{ end }}", ["{{#if x}}", undefined, "{{/if}}"], "no variable $y"],
    ["an end of nothing", "{{ .x }}{{ end }}", ["{{x}}", undefined], "No block is open here: remove it."],
    ["a computed text", '{{ printf "%s" (title .x) }}', [undefined], "There is no helper like title"],
    [
      "a comparison that is no helper",
      '{{ if in .kind "a" }}a{{ end }}',
      [undefined, "{{/if}}"],
      "There is no helper like in: the helpers are json, ",
    ],
    [
      "a count",
      "{{ range 3 }}a{{ end }}{{ range $i := 3 }}b{{ end }}",
      [undefined, "{{/each}}", undefined, "{{/each}}"],
      "Nothing counts here: pass a list with as many entries, and write {{#each list}}.",
    ],
    [
      "the end of a loop",
      "{{ range .x }}{{ if .a }}{{ continue }}{{ end }}{{ break }}{{ end }}",
      ["{{#each x}}", "{{#if a}}", undefined, "{{/if}}", undefined, "{{/each}}"],
      "A loop goes through all entries: pass those that are wanted, or take the first ones with {{#each (slice items 0 3)}}.",
    ],
    [
      "the root inside a partial",
      '{{ define "a" }}{{ range .x }}{{ $.y }}{{ end }}{{ end }}',
      ["", "{{#each x}}", undefined, "{{/each}}"],
      "A partial does not know where it is used",
    ],
  ];
  for (const [what, template, instead, advice] of cases) {
    verifies("P8", `${what} is reported with advice`, () => {
      expect(changesOf(head + template).map((change) => change.instead)).toEqual(instead);
      expect(parseError(head + template).message).toContain(advice);
    });
  }
});

describe("whole files", () => {
  const front = `---
title: Review a change
input:
  type: object
  properties:
    diff: { type: string }
    files: { type: array, items: { type: object, properties: { name: { type: string } } } }
format:
  type: object
  properties: { verdict: { type: string } }
---
`;

  verifies("P8", "one that is valid here too is loaded as it is", async () => {
    const prompt = parsePrompt(`${front}Review:\n{{ diff }}\n{{!-- {{ .diff }} --}}`, { filename: "review.md" });
    expect(prompt).toMatchObject({ name: "review", output: { type: "object" } });
    expect(await render(prompt, { diff: "+ tea" })).toBe("Review:\n+ tea");
  });

  verifies("P8", "each tag is reported with its line and column, in the file and in the system prompt", async () => {
    const body = "Review:\n{{ .diff }}\n{{ range .files }}\n- {{ .name }}\n{{ end }}";
    const error = parseError(front + body, { filename: "review.md" });
    expect(
      error.message,
    ).toBe(`review.md:13:1: {{ .diff }} is no Handlebars. This is Go template syntax. Change these 4 tags:
  13:1 {{ .diff }} to {{diff}}
  14:1 {{ range .files }} to {{#each files}}
  15:3 {{ .name }} to {{name}}
  16:1 {{ end }} to {{/each}}`);
    const prompt = parsePrompt(applied(front + body, changesOf(front + body)), { filename: "review.md" });
    expect(await render(prompt, { diff: "+ tea", files: [{ name: "a" }, { name: "b" }] })).toBe(
      "Review:\n+ tea\n- a\n- b",
    );
    const system = "---\nname: a\nsystem_prompt: Be {{ .tone }}.\n---\nHi";
    expect(changesOf(system)).toMatchObject([{ line: 3, column: 19, text: "{{ .tone }}", instead: "{{tone}}" }]);
  });

  verifies("P8", "what a prompt says about templates, as code or escaped, is text", async () => {
    for (const text of [
      "Mend this:\n```\n{% if x %}a{% endif %}\n```",
      "Never write `{% if x %}`.",
      "Go writes \\{{ .text }}, a price is 5 {%}",
      "a {# b #} c",
    ]) {
      expect(await render(parsePrompt(head + text))).toBe(text.replace("\\", ""));
    }
  });

  verifies("P8", "many tags, and deep ones, are refused in time", () => {
    for (const text of [
      "{{ .x }}".repeat(20_000),
      "{{ if .x }}\n".repeat(20_000),
      `${'{{ define "a" }}'.repeat(10_000)}${"{{ end }}".repeat(10_000)}`,
      `{{ .x ${"| upper ".repeat(20_000)}}}`,
      "{{ x | upper }}".repeat(20_000),
      `{% if x %}\n${"`".repeat(100_000)}\n${"a".repeat(100_000)}`,
    ]) {
      expect(parseError(head + text).code).toBe("INVALID_PROMPT");
    }
  });

  verifies("P8", "many marks that never end are read in time", () => {
    // Time that grows with the square of them would go beyond the limit of a test.
    for (const mark of ["{{ .x ", "{{!-- ", "{% if ", "{{/* ", "{{{", "{# "])
      parsePromptOrFail(head + mark.repeat(20_000));
  });
});

function parsePromptOrFail(text: string): void {
  try {
    parsePrompt(text);
  } catch (error) {
    if (!ToolkitError.is(error)) throw error;
  }
}

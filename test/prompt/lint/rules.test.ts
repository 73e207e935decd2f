import { describe, expect, test } from "vitest";
import type { Toolbox } from "../../../src/core/item.ts";
import { defineTool } from "../../../src/core/tool.ts";
import { type LintCode, lintRules } from "../../../src/prompt/lint/lint-findings.ts";
import { type LintOptions, lintPrompts } from "../../../src/prompt/lint/lint-prompts.ts";
import { resource } from "../../../src/resource/resource-factory.ts";
import { Toolkit } from "../../../src/toolkit/toolkit.ts";
import { verifies } from "../../support/verifies.ts";

/** A prompt, and what lint says of it: `line:column severity rule: the beginning of the message`. */
type Case = readonly [what: string, text: string, ...problems: readonly string[]];

const described = "title: A title that says it\ndescription: Says it.";
/** A prompt with a line 4 for fields of its own. */
const prompt = (fields: string, body = "Hello.") => `---\n${described}\n${fields}\n---\n${body}`;
const input = (properties: string, body: string, more = "") =>
  prompt(`input: { type: object, properties: { ${properties} }${more} }`, body);

const files: readonly Case[] = [
  ["nothing", "", "1:1 error file: The file does not start"],
  ["no end", "---\na: b\n", "1:1 error file: The front matter that starts here"],
  ["no text", prompt("x-a: 1", ""), "6:1 warning empty-text: The prompt has no text"],
  [
    "a broken line, and a broken template",
    "---\ntitle: Review: the rules\n---\n{{#if x}}",
    "2:8 error yaml: The front matter is no YAML",
    "4:1 error template: The block {{#if}} is never closed",
  ],
];

const fields: readonly Case[] = [
  [
    "several at once",
    "---\ntitle: 7\ndescription: TODO\nthinking: yes\ntools: [a b, 3]\nmodle: x\ncolor: red\nx-own: 1\n---\nHi",
    "2:8 error field: title must be text and is a number.",
    '3:14 hint short-description: The description "TODO" has fewer than 5 characters.',
    '4:11 error field: thinking must be true or false and is "yes".',
    "5:14 error field: tools must be a list of names, and this is a number.",
    "6:1 error field: There is no field `modle`.",
    "7:1 warning unknown-field: The field `color` means nothing here.",
  ],
  [
    "a short title",
    "---\ntitle: Short\ndescription: Says it all.\n---\nHi",
    '2:8 hint short-title: The title "Short" has fewer than 10 characters.',
  ],
  ["a heading alone", "# Say hello\nHi", "1:1 hint missing-description: The prompt has no description."],
  ["a name that is none", prompt("name: two words"), '4:7 error name: "two words" is no name for a prompt'],
  ["a reserved name", prompt("name: submit_output"), '4:7 error name: "submit_output" is reserved'],
  ["both of one", prompt("output: {type: object}\nformat: {type: object}"), "5:1 error field: Both output and format"],
  [
    "neither title nor description",
    "---\nname: a\n---\nHi",
    "1:1 hint missing-description: The prompt has no description.",
    "1:1 hint missing-title: The prompt has no title.",
  ],
];

const schemas: readonly Case[] = [
  [
    "a misspelt word, and what it hides",
    prompt("input:\n  type: object\n  propertis:\n    text: { type: strin }\n  required: [txt]", "{{text}}{{nmae}}"),
    '6:3 error misspelt-keyword: input has "propertis", which is no keyword of JSON Schema.',
    "7:19 error schema: input is no JSON Schema at /properties/text/type",
    '8:14 error schema: input requires "txt"',
    '10:11 error unknown-variable: There is no "nmae" in input.',
  ],
  [
    "every one of several",
    input("a: { type: strin }, b: { minLength: -1 }, c: 7", "{{a}}{{b}}{{c}}", ", required: [d, e]"),
    "4:49 error schema: input is no JSON Schema at /properties/a/type",
    "4:74 error schema: input is no JSON Schema at /properties/b/minLength",
    "4:83 error schema: input is no JSON Schema at /properties/c",
    '4:99 error schema: input requires "d"',
    '4:102 error schema: input requires "e"',
  ],
  ["an unknown keyword", input("a: { colour: red }", "{{a}}"), '4:51 warning unknown-keyword: input has "colour"'],
  [
    "a default that only a validator refuses",
    input("a: { type: string, format: email, default: nobody }", "{{a}}"),
    "4:81 error schema: input has a default that its own schema refuses, at /properties/a/default",
  ],
  [
    "a default the reader refuses is reported once",
    input("a: { type: string, default: 3 }", "{{a}}"),
    "4:66 error schema: input has a default",
  ],
  [
    "an example",
    input("a: { type: integer, examples: [1, two] }", "{{a}}"),
    '4:58 warning unfit-example: input has an example that its own schema refuses, at /properties/a/examples: "two"',
  ],
  [
    "bounds that cross, and a choice of another type",
    input("a: { type: integer, minimum: 3, maximum: 2, enum: [1, one] }", "{{a}}"),
    "4:38 warning contradiction: input has a minimum of 3 above its maximum of 2",
    '4:38 warning contradiction: input offers "one" under enum, and its type is integer.',
  ],
  [
    "a reference only a validator follows",
    input("a: { $ref: '#nowhere' }", "{{a}}"),
    "4:1 error schema: input cannot be used",
  ],
  [
    "a default of what must be given",
    input("a: { type: string, default: x }", "{{a}}", ", required: [a]"),
    '4:66 warning unused-default: "a" is required',
  ],
];

const variables: readonly Case[] = [
  ["without an input any name is one", prompt("x-a: 1", "{{anything}}")],
  [
    "a name, in the text and in the system prompt",
    prompt("input: { properties: { name: {} } }\nsystem_prompt: |\n  Of {{ nam }}.", "{{name}} {{nmae}}"),
    '6:9 error unknown-variable: There is no "nam" in input.',
    '8:12 error unknown-variable: There is no "nmae" in input.',
  ],
  [
    "inside an object",
    input(
      "author: { type: object, properties: { first: {} } }",
      "{{author.first}} {{author.frist}} {{upper author.x}}",
    ),
    '6:20 error unknown-variable: There is no "frist" in input.author.',
    '6:43 error unknown-variable: There is no "x" in input.author.',
  ],
  [
    "inside a block, where names are those of its value",
    input(
      "items: { type: array, items: { type: object, properties: { title: {} } } }, a: {}",
      "{{#each items}}{{title}}{{titel}}{{../a}}{{../b}}{{@root.c}}{{@index}}{{/each}}",
    ),
    '6:27 error unknown-variable: There is no "titel" in the entries of input.items.',
    '6:44 error unknown-variable: There is no "b" in input.',
    '6:52 error unknown-variable: There is no "c" in input.',
  ],
  [
    "names a block gives",
    input(
      "items: { type: array, items: { type: object, properties: { title: {} } } }",
      "{{#each items as |item i|}}{{item.title}}{{i}}{{item.x}}{{/each}}{{#with items.[0] as |x|}}{{x.y}}{{title}}{{/with}}",
    ),
    '6:49 error unknown-variable: There is no "x" in the entries of input.items.',
    '6:94 error unknown-variable: There is no "y" in input.items.0.',
  ],
  [
    "a text that is gone through, and a name inside it",
    input("text: { type: string }", "{{#each text}}{{x}}{{/each}}{{text.x}}{{text.length}}"),
    "6:9 warning no-list: {{#each}} goes through input.text, which is text.",
    '6:31 error unknown-variable: input.text is text and has no "x".',
  ],
  [
    "choices and references",
    prompt(
      "input: { $ref: '#/$defs/in', $defs: { in: { anyOf: [ { properties: { a: {} } }, { properties: { b: {} } } ] } } }",
      "{{a}}{{b}}{{c}}",
    ),
    '6:13 error unknown-variable: There is no "c" in input.',
  ],
  ["an object of which nothing is said", input("a: { type: object }", "{{a.b}}")],
  ["an input that takes more", input("a: {}", "{{a}}{{b}}", ", additionalProperties: true")],
  [
    "an input that is no object",
    prompt("input: { type: string }", "{{this}}{{name}}"),
    '6:11 error unknown-variable: input is text and has no "name".',
  ],
  [
    "what nothing uses",
    input("a: {}, b: {}", "Hello.", ", required: [a]"),
    '4:38 warning unused-required: Nothing in the text uses "a", which callers must give.',
    '4:45 hint unused-optional: Nothing in the text uses "b".',
  ],
  ["the whole input uses all of it", input("a: {}", "{{json this}}", ", required: [a]")],
  [
    "what a broken text uses is not known",
    input("a: {}", "{{nohelper a}}", ", required: [a]"),
    '6:3 error template: There is no helper "nohelper".',
  ],
];

const templates: readonly Case[] = [
  [
    "every broken tag of several",
    prompt("x-a: 1", "{{uper x}}\n{{#each x}}{{@foo}}{{/each}}\n{{> one/two}}{{> gone}}"),
    '6:3 error template: There is no helper "uper".',
    "7:14 error template: There is no @foo.",
    '8:1 error template: "one/two" is no name of a partial.',
    '8:14 error partial: There is no partial "gone"',
  ],
  ["Go", prompt("x-a: 1", "{{ if .x }}{{ .y }}{{ end }}"), "6:1 error template: {{ if .x }} is no Handlebars."],
];

async function found(text: string, options?: LintOptions): Promise<readonly string[]> {
  const { problems } = await lintPrompts({ text, filename: "greet.md" }, options);
  for (const { file, source, line } of problems) {
    expect(file).toBe("greet.md");
    expect(source).toBe(text.split("\n")[line - 1] ?? "");
  }
  return problems.map(
    ({ line, column, severity, code, message }) => `${line}:${column} ${severity} ${code}: ${message}`,
  );
}

function expectProblems(problems: readonly string[], expected: readonly string[]): void {
  const cut = problems.map((problem, index) => {
    const wanted = expected[index];
    return wanted !== undefined && problem.startsWith(wanted) ? wanted : problem;
  });
  expect(cut).toEqual(expected);
}

describe.each([
  ["files", files],
  ["fields", fields],
  ["schemas", schemas],
  ["variables", variables],
  ["templates", templates],
])("%s", (_, cases) => {
  for (const [what, text, ...problems] of cases) {
    verifies("P7", what, async () => expectProblems(await found(text), problems));
  }
});

describe("tools and models", () => {
  const tool = (name: string) => defineTool({ name, run: () => "" });

  verifies("P7", "entries of tools are looked up in the toolbox", async () => {
    await using toolkit = new Toolkit({ items: [tool("forecast"), tool("now"), resource.text("note", "hi")] });
    toolkit.addSource("weather", { tool: () => [tool("storms")] });
    const text = prompt("tools: [forecast, builtin.now, n*, weather.storms, storms, forcast, fs.*, 'text:note']");
    expectProblems(await found(text, { toolbox: toolkit }), [
      '4:60 error unknown-tool: There is no tool "forcast".',
      '4:69 warning no-match: "fs.*" matches nothing.',
      '4:75 error unknown-tool: There is no tool "text:note": it is a resource.',
    ]);
    expect(await found(text)).toEqual([]);
    const { problems } = await lintPrompts({ text, filename: "greet.md" }, { toolbox: toolkit });
    expect(problems.map(({ hint }) => hint)).toEqual([
      'Did you mean "builtin.forecast"?',
      "Write its namespace and its name, such as weather.forecast.",
      "Remove it: a resource is read, and not called.",
    ]);
  });

  verifies("P7", "one name needs no list, and a server that is down is no proof", async () => {
    const failures = [{ namespace: "weather" }];
    const toolbox = { list: async () => ({ entries: [], failures }) } as unknown as Toolbox;
    expectProblems(await found(prompt("tools: weather.forecast"), { toolbox }), [
      '4:8 warning unchecked-tool: "weather.forecast" cannot be checked',
    ]);
  });

  const models = ["openai/gpt-5", "ollama/*", "meta/llama/4"];

  test.each([
    ["model: gpt-5"],
    ["model: openai/gpt-5"],
    ["model: anything"],
    ["provider: openai\nmodel: gpt-5"],
    ["provider: ollama\nmodel: qwen"],
    ["provider: openai"],
    ["model: llama/4"],
  ])("[P7] %s is there", async (fields) => {
    expect(await found(prompt(fields), { models })).toEqual([]);
  });

  verifies("P7", "a model and a provider that are not among the given ones", async () => {
    expectProblems(await found(prompt("provider: openai\nmodel: gpt-6"), { models }), [
      '5:8 error unknown-model: There is no model "gpt-6" of openai.',
    ]);
    expectProblems(await found(prompt("provider: opnai\nmodel: gpt-5"), { models }), [
      '4:11 error unknown-model: There is no provider "opnai".',
    ]);
    expectProblems(await found(prompt("model: gpt-6"), { models: ["openai/gpt-5"] }), [
      '4:8 error unknown-model: There is no model "gpt-6".',
    ]);
  });
});

verifies("P7", "each rule has a test", async () => {
  const tested = [files, fields, schemas, variables, templates].flatMap((cases) =>
    cases.flatMap(([, , ...problems]) => problems.map((problem) => problem.split(/[ :]+/)[3])),
  );
  const elsewhere: readonly LintCode[] = [
    "unknown-tool",
    "no-match",
    "unchecked-tool",
    "unknown-model",
    "duplicate-name",
    "unused-partial",
    "workflow",
    // In test/cli/lint-manifests.test.ts and manifests.test.ts.
    "manifest",
    "missing-target",
  ];
  expect(new Set([...tested, ...elsewhere])).toEqual(new Set(Object.keys(lintRules)));
});

import { readFile } from "node:fs/promises";
import { describe, expect } from "vitest";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { verifies } from "../support/verifies.ts";
import { parseError } from "./support.ts";

/** A broken text, the place of the mistake, the message, and the hint. */
type Case = readonly [what: string, text: string, place: string, message: string, hint: string];

const file: readonly Case[] = [
  ["no front matter", "Hello {{name}}", "1:1", "does not start with front matter", "Start the file with a line ---"],
  ["an empty file", "", "1:1", "does not start with front matter", "Start the file with a line ---"],
  [
    "something before it",
    "\n---\nname: a\n---\nHi",
    "1:1",
    "does not start with front matter",
    "Remove everything before the first ---.",
  ],
  ["no closing line", "---\nname: a\nHello", "1:1", "never closed", "Write a line --- after the last field"],
  ["a closing line of four dashes", "---\nname: a\n----\nHello", "3:1", 'this line is "----"', "Write --- alone"],
  ["an indented closing line", "---\nname: a\n ---\nHello", "3:1", 'this line is " ---"', "without blanks before it"],
  [
    "no opening line",
    "title: A prompt\n---\n# A heading",
    "1:1",
    "does not start with front matter",
    "Start the file with a line ---",
  ],
  [
    "something before it, and a heading",
    "\n---\nname: a\n---\n# A heading",
    "1:1",
    "does not start with front matter",
    "Remove everything before the first ---.",
  ],
];

const yaml: readonly Case[] = [
  ["a colon in a value", "title: Review: the rules", "2:8", "is no YAML", "in quotes"],
  ["a tab", "input:\n\ttype: object", "3:1", "is no YAML", "Indent with blanks instead of tabs."],
  [
    "a blank of a web page before a name",
    "input:\n\u00a0 type: object\n\u00a0 properties: {}",
    "3:1",
    "This blank is none to YAML: it is the character U+00A0.",
    "Type it anew",
  ],
  ["a blank of a web page between others", "input:\n \u00a0type: object", "3:2", "U+00A0", "Type it anew"],
  ["a blank of a web page after a colon", "title: A long title\nmodel:\u00a0x", "3:7", "U+00A0", "Type it anew"],
  ["a field twice", "model: a\nmodel: b", "3:1", "Map keys must be unique", "Keep one of the two."],
  ["an empty field twice", "model:\nmodel: b", "3:1", "Map keys must be unique", "Keep one of the two."],
  ["a field twice in braces", "x-a: { b: 1, 'b': 2 }", "2:14", "Map keys must be unique", "Keep one of the two."],
  [
    "a field twice before another mistake",
    "x-a:\n  b: 1\n  b: 2\ny: [",
    "4:3",
    "Map keys must",
    "Keep one of the two.",
  ],
  ["levels out of line", "input:\n   type: object\n  required: []", "4:1", "is no YAML", "in the same column"],
  ["an open quote", "title: 'Never closed", "2:21", "Missing closing 'quote", "Close the quote"],
  ["a value that starts with @", "title: @home is best", "2:8", "cannot start with reserved character @", "in quotes"],
  ["a template as a value", "title: {{name}}", "2:9", "a name of a field is no text", "in quotes"],
  ["a list", "- a\n- b", "2:1", "has no fields", "Write one `name: value` a line"],
  ["an alias of nothing", "model: *other", "2:8", "The alias *other stands for nothing", "Write &other before"],
  ["an alias inside itself", "tags: &t [*t]", "2:11", "stands inside what it repeats", "Write the value out."],
  ["a merge of text", "base: &b text\ninput: { <<: *b }", "2:1", "Merge sources must be maps", "merges (<<)"],
  ["no number", "price: .inf", "2:8", ".inf is no number JSON can hold", "finite number"],
  ["the end of a document", "name: a\n...\nfoo", "3:1", "is no YAML", "Remove the line `...`."],
];

const fields: readonly Case[] = [
  [
    "a number as text",
    "title: 1234567890",
    "2:8",
    "title must be text and is a number.",
    'Put it in quotes: `title: "1234567890"`.',
  ],
  [
    "a list as text",
    "description: [a]",
    "2:1",
    "description must be text and is a list.",
    "Write text, such as `description: ",
  ],
  ["empty text", 'model: ""', "2:8", "model must be text and is empty.", "Write text, such as `model: "],
  ["an object as text", "system_prompt: { a: b }", "2:1", "system_prompt must be text and is an object.", "Write text"],
  ["a number as provider", "provider: 5", "2:11", "provider must be text and is a number.", "in quotes"],
  ["yes for true", "thinking: yes", "2:11", 'thinking must be true or false and is "yes".', "Write `thinking: true`"],
  [
    "a negative budget",
    "thinking_budget: -5",
    "2:18",
    "must be a whole number above 0 and is -5.",
    "`thinking_budget: 2000`",
  ],
  ["a broken budget", "thinking_budget: 1.5", "2:18", "must be a whole number above 0", "`thinking_budget: 2000`"],
  ["a tool that is a number", "tools:\n  - fs.read\n  - 5", "4:5", "tools must be a list of names", "Write `tools: ["],
  ["tools as an object", "tools: { a: b }", "2:1", "and this is an object.", "Write `tools: ["],
  [
    "an input that is text",
    "input: text",
    "2:8",
    "input is no JSON Schema: it must be an object.",
    "input: { type: object",
  ],
  [
    "a bad type in input",
    "input:\n  type: object\n  properties:\n    text:\n      type: strng",
    "6:13",
    "input is no JSON Schema at /properties/text/type: type must be one of null, boolean, object, array, number, string, integer, or a list of these.",
    "input: { type: object",
  ],
  [
    "a property that is no schema",
    "input:\n  properties:\n    text: string",
    "4:11",
    "at /properties/text",
    "Write `text: { type: string }`",
  ],
  [
    "required as text",
    "output:\n  required: text",
    "3:13",
    "output is no JSON Schema at /required",
    "`required: [text]`",
  ],
  ["a reference to nothing", 'format: { $ref: "#/$defs/a" }', "2:17", "#/$defs/a leads nowhere", "under $defs"],
  [
    "a bad schema through a merge",
    "b: &b { type: nope }\ninput: { <<: *b }",
    "3:1",
    "input is no JSON Schema at /type",
    "input: {",
  ],
  [
    "an input that is a shape",
    "model: a\ninput:\n  text: string",
    "3:1",
    "input is no JSON Schema: none of its keys is a keyword of JSON Schema",
    "input: { type: object, properties: { text: { type: string } } }",
  ],
  [
    "an output that is a shape",
    "output: { name: string }",
    "2:1",
    "output is no JSON Schema: none of its",
    "output: {",
  ],
  [
    "an output without a type",
    "output: { properties: { a: {} } }",
    "2:1",
    "output has no type.",
    "Write `type: object` in",
  ],
  ["a list without a type", "format:\n  items: {}", "2:1", "format has no type.", "Write `type: array` in it."],
  ["an output that says nothing", "output: {}", "2:1", "output has no type.", "Write `type: object` in it."],
  [
    "tools in one text",
    "tools: weather.forecast, fs.read",
    "2:8",
    'tools must be a list of names, and "weather.forecast, fs.read" is one text.',
    "Write `tools: [weather.forecast, fs.read]`.",
  ],
  [
    "two tools in an entry",
    "tools:\n  - a.b\n  - c.d e.f",
    "4:5",
    '"c.d e.f" is one text',
    "Write `tools: [a.b, c.d, e.f]`.",
  ],
  ["a misspelt field", "modle: gpt-5", "2:1", 'There is no field `modle`. Did you mean "model"?', "`x-modle`"],
  ["a field with a capital", "Tools: [a.b]", "2:1", 'There is no field `Tools`. Did you mean "tools"?', "`x-Tools`"],
  ["a field in camel case", "systemPrompt: Hi", "2:1", 'Did you mean "system_prompt"?', "`x-systemPrompt`"],
  ["a field with a dash", "name: a\nsystem-prompt:\n  Hi", "3:1", 'Did you mean "system_prompt"?', "`x-system-prompt`"],
  ["a field cut short", "system: Hi", "2:1", 'Did you mean "system_prompt"?', "`x-system`"],
  ["a letter left out", "descripton: Hi", "2:1", 'Did you mean "description"?', "`x-descripton`"],
  ["a plural", "inputs: { type: object }", "2:1", 'Did you mean "input"?', "`x-inputs`"],
  [
    "a required property that is misspelt",
    "input:\n  properties: { name: { type: string } }\n  required:\n    - nmae",
    "5:7",
    'input requires "nmae", and there is no such property.',
    'Did you mean "name"?',
  ],
  [
    "a required property that is not there, deep inside",
    "output:\n  properties:\n    a: { items: { properties: { x: {} }, required: [other], additionalProperties: false } }",
    "4:53",
    'output requires "other", and there is no such property at /properties/a/items.',
    'Describe "other" under properties, or remove it from required.',
  ],
  [
    "a default of another type",
    "input:\n  properties:\n    count:\n      type: integer\n      default: three",
    "6:16",
    'input has a default that its own schema refuses, at /properties/count/default: "three" must be integer.',
    "Correct the default or the schema.",
  ],
  [
    "output and format",
    "output: { type: object }\nformat: { type: object }",
    "3:1",
    "Both output and format",
    "Keep `output`.",
  ],
];

const go = "This is Go template syntax. ";
const template: readonly Case[] = [
  ["a Go field", "Say {{ .text }}", "4:5", "{{ .text }} is no Handlebars.", `${go}Write {{text}} instead.`],
  ["a Go field, trimmed", "{{- .text -}}", "4:1", "is no Handlebars", `${go}Write {{~text~}} instead.`],
  [
    "a Go if",
    "{{ if .x }}a{{ end }}",
    "4:1",
    "{{ if .x }}",
    `${go}Change these 2 tags:\n  4:1 {{ if .x }} to {{#if x}}\n  4:13 {{ end }} to {{/if}}`,
  ],
  ["a Go if without a dot", "{{ if x }}a{{ end }}", "4:1", "{{ if x }}", "4:1 {{ if x }} to {{#if x}}"],
  ["a Go if not", "{{ if not .x }}a{{ end }}", "4:1", "{{ if not .x }}", "4:1 {{ if not .x }} to {{#unless x}}"],
  ["a Go comparison", '{{ if eq .x "a" }}b{{ end }}', "4:1", "{{ if eq", 'to {{#if (eq x "a")}}'],
  ["a Go else if", "{{#if a}}b{{ else if .c }}d{{/if}}", "4:11", "{{ else if .c }}", "Write {{else if c}} instead."],
  ["a Go end", "{{#if x}}a{{ end }}", "4:11", "{{ end }}", "Write {{/if}} instead."],
  [
    "a Go range",
    "{{ range .items }}{{ . }}{{ end }}",
    "4:1",
    "{{ range .items }}",
    "4:1 {{ range .items }} to {{#each items}}\n  4:26 {{ end }} to {{/each}}",
  ],
  ["a Go range with names", "{{ range $i, $x := .items }}{{ end }}", "4:1", "range", "to {{#each items as |x i|}}"],
  ["a Go with", "{{ with .author }}{{ end }}", "4:1", "with", "to {{#with author}}"],
  ["a Go pipe", "{{ .x | upper }}", "4:1", "{{ .x | upper }}", `${go}Write {{upper x}} instead.`],
  ["two Go pipes", "{{ .a.b | trim | upper }}", "4:1", "trim", "Write {{upper (trim a.b)}} instead."],
  ["a Go join", '{{ .tags | join ", " }}', "4:1", "join", 'Write {{join tags ", "}} instead.'],
  ["a Go default", '{{ .x | default "y z" }}', "4:1", "default", 'Write {{default "y z" x}} instead.'],
  ["a Go call", "{{ toJson .x }}", "4:1", "toJson", "Write {{json x}} instead."],
  [
    "a Go template",
    '{{ template "sign" . }}',
    "4:1",
    "template",
    "Write {{> sign}} instead: the text goes into a file _sign.md of the same folder.",
  ],
  ["a Go variable", "{{ $x := .y }}", "4:1", ":=", "Handlebars has no variables"],
  ["a Go comment", "{{/* note */}}", "4:1", "note", "Write {{!-- note --}} instead."],
  ["a Go root", "{{#each x}}{{ $.y }}{{/each}}", "4:12", "$.y", "Write {{@root.y}} instead."],
  ["a dot in a block", "a\n{{#if .x}}b{{/if}}", "5:1", "{{#if .x}}", "Write {{#if x}} instead"],
  [
    "an unknown helper",
    "Hi\n  {{uppercase x}}",
    "5:5",
    'There is no helper "uppercase".',
    "The helpers are json, default, join, upper, lower, trim, ",
  ],
  ["an unknown inner helper", "{{upper (trm x)}}", "4:10", 'There is no helper "trm".', "The helpers are"],
  ["an unknown block helper", "{{#iff x}}a{{/iff}}", "4:4", 'There is no helper "iff".', "The helpers are"],
  ["a path with values", "{{a.b c}}", "4:3", 'There is no helper "a.b".', "The helpers are"],
  ["an entry as elsewhere", "{{items[0]}}", "4:3", "items[0] cannot be read", "Write {{items.[0]}}."],
  ["a field of an entry", "a\n{{upper a.b[0].c}}", "5:9", "a.b[0].c cannot be read", "Write {{upper a.b.[0].c}}."],
  ["an entry of an entry", "{{#each x[0][1]}}a{{/each}}", "4:9", "x[0][1] cannot", "Write {{#each x.[0].[1]}}."],
  ["elseif", "{{#if a}}b{{elseif c}}d{{/if}}", "4:13", "There is no {{elseif}}.", "Write {{else if field}}"],
  ["a lone elsif", "{{#if a}}b{{elsif}}d{{/if}}", "4:13", "There is no {{elsif}}.", "Write {{else if field}}"],
  ["elif", "{{#if a}}b{{elif c}}d{{/if}}", "4:13", "There is no {{elif}}.", "Write {{else if field}}"],
  ["a section", "{{#items}}a{{/items}}", "4:1", "There is no block {{#items}}.", "{{#each items}}"],
  ["an inverse section", "{{^items}}a{{/items}}", "4:1", "There is no block {{#items}}.", "{{#if items}}"],
  ["a block as a helper", "{{each items}}", "4:3", "each is a block.", "{{#each items}}"],
  ["a helper as a block", "{{#upper x}}a{{/upper}}", "4:4", "upper is no block.", "{{upper name}}"],
  [
    "a helper without its value",
    "{{upper}}",
    "4:3",
    "upper takes one value and has 0.",
    "A field named upper is written {{this.upper}}.",
  ],
  ["too many values", "{{json a b}}", "4:3", "json takes one value and has 2.", "{{json items}}"],
  ["too few values", "{{join tags}}", "4:3", "join takes 2 values and has 1.", '{{join tags ", "}}'],
  ["a named value", "{{upper x loud=true}}", "4:11", "upper takes no loud=.", "{{upper name}}"],
  [
    "an unknown @",
    "{{#each x}}{{@indx}}{{/each}}",
    "4:14",
    "There is no @indx.",
    "There are @index, @key, @first, @last, @root.",
  ],
  ["one ../ too many", "{{#if x}}{{../y}}{{/if}}", "4:12", "../y leads out of the input.", "Remove one ../"],
  ["a value as a tag", '{{"text"}}', "4:1", "holds a value and no field", "Write the text without {{ and }}."],
  ["an open tag", "a {{b", "4:3", "starts here and never ends", "Close it with }}"],
  ["an open block", "a\n{{#if x}}\nb", "5:1", "The block {{#if}} is never closed.", "Write {{/if}} where it ends."],
  [
    "an open inner block",
    "{{#each x}}{{#if y}}{{/each}}",
    "4:21",
    "{{/each}} closes the block {{#if}} of this line.",
    "Write {{/if}}.",
  ],
  [
    "a wrong close",
    "{{#if x}}\n{{/each}}",
    "5:1",
    "{{/each}} closes the block {{#if}} of an earlier line.",
    "Write {{/if}}.",
  ],
  [
    "a close without an open",
    "a {{/if}}",
    "4:3",
    "closes a block that was never opened",
    "Write {{#if ...}} before it",
  ],
  ["an else outside", "{{else}}", "4:1", "stands outside a block", "between {{#if ...}} and {{/if}}"],
  ["an empty tag", "a {{}}", "4:5", "ends too early", "Write {{name}}"],
  ["an odd path", "{{a/../b}}", "4:3", "cannot be read", "Write {{name}}"],
  ["a missing partial", "a\n{{> sign}}", "5:1", 'There is no partial "sign"', "{{> sign}}"],
  ["two values for a partial", "{{> sign a b}}", "4:1", "takes one value at most", "{{> sign author}}"],
];

function table(name: string, cases: readonly Case[], toText: (text: string) => string): void {
  describe(name, () => {
    for (const [what, text, place, message, hint] of cases) {
      verifies("P4", what, () => {
        const error = parseError(toText(text));
        expect(error.code).toBe("INVALID_PROMPT");
        expect(error.message.startsWith(`prompts/test.md:${place}: `), error.message).toBe(true);
        expect(error.message).toContain(message);
        expect(error.message).toContain(hint);
        const [line, column] = place.split(":").map(Number);
        expect(error.details).toMatchObject({
          file: "prompts/test.md",
          line,
          column,
          hint: expect.stringContaining(hint.replace(go, "")),
        });
      });
    }
  });
}

table("the file", file, (text) => text);
table("its YAML", yaml, (text) => `---\n${text}\n---\nHello`);
table("its fields", fields, (text) => `---\n${text}\n---\nHello`);
table("its text", template, (text) => `---\nname: test\n---\n${text}`);

describe("a default that does not fit its own schema", () => {
  const misfits: readonly [schema: string, value: string, why: string][] = [
    ["type: [string, 'null']", "5", "5 must be string or null"],
    ["enum: [formal, casual]", "neutral", '"neutral" must be one of "formal", "casual"'],
    ["const: { a: 1 }", "{ a: 2 }", '{"a":2} must be {"a":1}'],
    ["minimum: 1", "0", "0 must be at least 1"],
    ["maximum: 1", "2", "2 must be at most 1"],
    ["exclusiveMinimum: 1", "1", "1 must be above 1"],
    ["exclusiveMaximum: 1", "1", "1 must be below 1"],
    ["minLength: 2", "é", '"é" must have at least 2 characters'],
    ["maxItems: 1", "[1, 2]", "[1,2] must have at most 1 entries"],
    ["pattern: '^[a-z]+$'", "A", '"A" must match ^[a-z]+$'],
    ["items: { type: string }", "[a, 5]", '["a",5] has an entry 1 that must be string'],
    ["properties: { b: {} }, required: [b]", "{ a: 1 }", '{"a":1} has no "b"'],
    ["properties: { a: { type: string } }", "{ a: 1 }", '{"a":1} has a "a" that must be string'],
    ["anyOf: [{ type: string }, { type: 'null' }]", "5", "5 fits none of the choices"],
    ["allOf: [{ type: string }]", "5", "5 must be string"],
    ["$ref: '#/$defs/word'", "5", "5 must be string"],
    ["type: string", "", "null must be string"],
  ];
  const withDefault = (schema: string, value: string) =>
    `---\nname: a\ninput: { properties: { x: { ${schema}, default: ${value} } }, $defs: { word: { type: string } } }\n---\nHi`;
  for (const [schema, value, why] of misfits) {
    verifies("P4", `${schema}: ${why}`, () => {
      expect(parseError(withDefault(schema, value)).message).toContain(`/properties/x/default: ${why}.`);
    });
  }

  verifies("P1", "values that match, and mismatches that only a validator finds, are taken", () => {
    const fits: readonly [string, string][] = [
      ["type: integer", "2.0"],
      ["type: number, minimum: 0", "0.5"],
      ["type: boolean", "false"],
      ["type: 'null'", "null"],
      ["type: array, items: { $ref: '#/$defs/word' }, minItems: 1", "[a]"],
      ["enum: [{ a: 1, b: 2 }]", "{ b: 2, a: 1 }"],
      ["oneOf: [{ type: string }, { type: integer }]", "5"],
      ["format: email", "nobody"],
      ["type: object, properties: { a: { type: string } }", "{}"],
      ["prefixItems: [{ type: string }], items: { type: integer }", "[a, 1]"],
      ["$ref: '#'", "{}"],
    ];
    for (const [schema, value] of fits) expect(() => parsePrompt(withDefault(schema, value)), schema).not.toThrow();
  });
});

describe("what is no mistake is taken", () => {
  verifies("P1", "a required property that may be described elsewhere", () => {
    const a = "properties: { a: {} }, required: [b]";
    for (const schema of [
      "required: [b]",
      `${a}, additionalProperties: true`,
      `${a}, additionalProperties: { type: string }`,
      `${a}, allOf: [{ properties: { b: {} } }]`,
      `${a}, patternProperties: { '^b': {} }`,
    ]) {
      expect(() => parsePrompt(`---\nname: a\ninput: { ${schema} }\n---\nHi`), schema).not.toThrow();
    }
  });

  verifies("P1", "a field of its own that is like none of ours", () => {
    const own = ["temperature", "tags", "version", "author", "prompt", "date", "type", "x-modle", "max_tokens", "foo"];
    for (const field of own) {
      const prompt = parsePrompt(`---\nname: a\n${field}: 1\n---\nHi`);
      expect(prompt.meta).toEqual({ frontMatter: { [field]: 1 } });
    }
  });
});

describe("the system prompt", () => {
  const places: readonly [string, string, string][] = [
    ["on the line of its field", "system_prompt: Be {{uper x}}", "2:21"],
    ["in quotes", 'system_prompt: "Be {{uper x}}"', "2:22"],
    ["as a literal", "system_prompt: |\n  Hello\n\n    {{uper x}}", "5:7"],
    ["folded: where it starts", "system_prompt: >\n  Be\n  {{uper x}}", "2:16"],
  ];
  for (const [what, text, place] of places) {
    verifies("P4", `an error in it is found ${what}`, () => {
      expect(parseError(`---\n${text}\n---\nHello`).message).toContain(
        `prompts/test.md:${place}: There is no helper "uper".`,
      );
    });
  }
});

verifies("P4", "without a file name the place is still given", () => {
  expect(parseError("---\nname: a\nthinking: 1\n---\nHi", {})).toMatchObject({
    message: expect.stringMatching(/^prompt:3:11: /),
    details: { file: undefined, line: 3, column: 11 },
  });
});

verifies("P4", "the messages in the guide are those that are given", async () => {
  const guide = await readFile(new URL("../../docs/prompts.md", import.meta.url), "utf8");
  const quoted = [...guide.matchAll(/^\| (`+)(.+?)\1 \| (?:Start|Write|A value|Say|Correct|Use)/gm)].map(
    ([, , message = ""]) => message,
  );
  expect(quoted.length).toBeGreaterThanOrEqual(10);
  const cases = [
    ...[...file, ["js", "---js\n---\n"] as const].map((one) => one[1]),
    ...[...yaml, ...fields].map((one) => `---\n${one[1]}\n---\nHello`),
    ...template.map((one) => `---\nname: test\n---\n${one[1]}`),
  ];
  const given = cases.map((text) => parseError(text).message).join("\n");
  // The error of a missing partial names the folder: see read.test.ts.
  const untold = quoted.filter((message) => !message.startsWith("There is no partial") && !given.includes(message));
  expect(untold).toEqual([]);
});

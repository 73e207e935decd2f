import { createRequire } from "node:module";
import type Handlebars from "handlebars";
import { describe, expect, test, vi } from "vitest";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { verifies } from "../support/verifies.ts";
import { parseError, render, renderBody } from "./support.ts";

const handlebars = createRequire(import.meta.url)("handlebars") as typeof Handlebars;

type Case = readonly [what: string, template: string, input: unknown, text: string];

const helpers: readonly Case[] = [
  ["json of an object", "{{json a}}", { a: { b: [1, "x"] } }, '{"b":[1,"x"]}'],
  ["json of text", "{{json a}}", { a: 'say "hi"' }, '"say \\"hi\\""'],
  ["json of nothing", "{{json a}}", {}, "null"],
  ["default for what is missing", '{{default "none" a}}', {}, "none"],
  ["default for null", '{{default "none" a}}', { a: null }, "none"],
  ["default for empty text", '{{default "none" a}}', { a: "" }, "none"],
  ["default never for 0", '{{default "none" a}}', { a: 0 }, "0"],
  ["default never for false", '{{default "none" a}}', { a: false }, "false"],
  ["default never for a value", '{{default "none" a}}', { a: "some" }, "some"],
  ["default gives lists and objects as JSON", '{{default "none" a}}', { a: [{ b: 1 }] }, '[{"b":1}]'],
  ["join", '{{join a ", "}}', { a: ["x", 2, true, null, { b: 1 }] }, 'x, 2, true, , {"b":1}'],
  ["join of nothing", '{{join a ", "}}', {}, ""],
  ["join of what is no list", '{{join a ", "}}', { a: "x" }, "x"],
  ["upper", "{{upper a}}", { a: "größe" }, "GRÖSSE"],
  ["lower", "{{lower a}}", { a: "HÉLLO" }, "héllo"],
  ["trim", "[{{trim a}}]", { a: " \n x \t" }, "[x]"],
  ["text helpers of nothing", "[{{upper a}}{{lower a}}{{trim a}}]", { a: null }, "[]"],
  ["text helpers of a number", "{{upper a}}", { a: 5 }, "5"],
  ["helpers in helpers", '{{upper (trim (default " x " a))}}', {}, "X"],
  ["lookup", "{{lookup prices product}}", { prices: { tea: 3 }, product: "tea" }, "3"],
];

const values: readonly Case[] = [
  ["text is not escaped", "{{a}} {{{a}}} {{&a}}", { a: `<b> & "c" 'd'` }, `<b> & "c" 'd' <b> & "c" 'd' <b> & "c" 'd'`],
  ["numbers and booleans", "{{a}} {{b}} {{c}}", { a: 0, b: false, c: 1.5 }, "0 false 1.5"],
  ["what is missing is empty", "[{{a}}{{b.c.d}}{{e}}]", { e: null }, "[]"],
  ["an object is JSON", "{{a}}", { a: { b: 1 } }, '{"b":1}'],
  ["a list is JSON", "{{a}}", { a: [1, "x", { b: null }] }, '[1,"x",{"b":null}]'],
  ["a value inside a list", "{{a.[1].b}} {{a.length}}", { a: [1, { b: 2 }] }, "2 2"],
  ["`this` is the whole input", "{{this}} {{.}} {{json this}}", { a: 1 }, '{"a":1} {"a":1} {"a":1}'],
  ["`this` may be text", "{{this}}", "some text", "some text"],
  ["`this` may be 0", "[{{this}}]", 0, "[0]"],
  ["`this` may be false", "[{{this}}]", false, "[false]"],
  ["`this` may be a list", "{{this}}: {{#each this}}{{this}}{{/each}}", ["a", "b"], '["a","b"]: ab'],
  ["`this` may be null", "[{{this}}]", null, "[]"],
  ["a field named as a helper", "{{this.upper}}", { upper: "x" }, "x"],
  ["an escaped tag is text", "\\{{a}} {{a}}", { a: 1 }, "{{a}} 1"],
  ["what looks like a tag in a value is text", "{{a}}", { a: "{{b}} {{> c}}" }, "{{b}} {{> c}}"],
  ["notes leave nothing", "a{{! x }}b{{!-- {{ .y }} --}}c", {}, "abc"],
  ["Go syntax in escaped tags is text", "Go writes \\{{ .text }}", {}, "Go writes {{ .text }}"],
  ["a function is nothing", "[{{a}}{{json b}}]", { a: () => "called", b: () => "called" }, "[null]"],
];

const blocks: readonly Case[] = [
  ["if and else", "{{#if a}}yes{{else}}no{{/if}}", { a: [] }, "no"],
  ["else if", "{{#if a}}1{{else if b}}2{{else}}3{{/if}}", { b: "x" }, "2"],
  ["if with zero", "{{#if a includeZero=true}}yes{{/if}}", { a: 0 }, "yes"],
  ["unless", "{{#unless a}}no{{/unless}}", {}, "no"],
  ["each of a list", "{{#each a}}{{@index}}{{this}}{{#unless @last}},{{/unless}}{{/each}}", { a: ["x", "y"] }, "0x,1y"],
  ["each of an object", "{{#each a}}{{@key}}={{this}};{{/each}}", { a: { x: 1, y: [2] } }, "x=1;y=[2];"],
  ["each of nothing", "{{#each a}}x{{else}}none{{/each}}", {}, "none"],
  ["each with a name, even that of a helper", "{{#each a as |upper i|}}{{i}}{{upper}}{{/each}}", { a: ["x"] }, "0x"],
  ["the way out", "{{#each a}}{{../b}}{{@root.b}}{{#if this}}{{../b}}{{/if}}{{/each}}", { a: [1], b: "x" }, "xxx"],
  ["with", "{{#with a}}{{b}}{{else}}none{{/with}}", { a: { b: 1 } }, "1"],
  ["lines of blocks leave no line", "a\n{{#if x}}\nb\n{{/if}}\nc", { x: true }, "a\nb\nc"],
  ["trimmed tags", "a \n {{~#if x~}} b {{~/if~}} \n c", { x: 1 }, "abc"],
];

for (const [name, cases] of Object.entries({ helpers, values, blocks })) {
  describe(name, () => {
    for (const [what, template, input, text] of cases) {
      verifies("P2", what, async () => {
        expect(await renderBody(template, input)).toBe(text);
      });
    }
  });
}

describe("partials", () => {
  verifies("P2", "a partial sees the values around it, or those it is given", async () => {
    const partials = { who: "{{name}}{{#if mood}} ({{mood}}){{/if}}" };
    const input = { name: "Ann", author: { name: "Bo" } };
    expect(await renderBody('{{> who}}, {{> who author}}, {{> who mood="calm"}}, {{> "who"}}', input, partials)).toBe(
      "Ann, Bo, Ann (calm), Ann",
    );
  });

  verifies("P2", "a partial on a line of its own keeps the lines around it, indented as its tag", async () => {
    expect(await renderBody("a\n  {{> list}}\nb", { x: [1] }, { list: "- {{x}}\n- y\n" })).toBe("a\n  - [1]\n  - y\nb");
  });

  verifies("P2", "partials use partials; their front matter is left out; objects in them are JSON", async () => {
    const partials = { outer: "---\ntitle: x\n---\n<{{> inner}}>", inner: "{{this}}" };
    expect(await renderBody("{{#each a}}{{> outer}}{{/each}}", { a: [{ b: 1 }] }, partials)).toBe('<{"b":1}>');
  });

  verifies("P2", "the system prompt has them too", async () => {
    const prompt = parsePrompt('---\nname: a\nsystem_prompt: "{{> role}}"\n---\nHi', {
      partials: { role: "Be {{x}}." },
    });
    const rendered = await prompt.render({ x: "kind" }, { attachments: [] } as never);
    expect(rendered.system).toBe("Be kind.");
  });

  verifies("P4", "an error in a partial is found in the partial", () => {
    const options = { filename: "a.md", partials: { x: "---\na: b\n---\nHi\n  {{uper y}}" } };
    expect(parseError("---\n---\n{{> x}}", options).message).toContain('partial x:5:5: There is no helper "uper".');
    const open = { filename: "a.md", partials: { x: "---\na: b" } };
    expect(parseError("---\n---\n{{> x}}", open).message).toContain("partial x:1:1: The front matter that starts here");
  });

  verifies("P4", "a partial that uses itself is refused, however far around", () => {
    const partials = { a: "{{> b}}", b: "x\n {{> c}}", c: "{{#if x}}{{> a}}{{/if}}" };
    expect(parseError("---\nname: p\n---\n{{> b}}", { partials }).message).toContain(
      'partial a:1:1: The partial "b" uses itself (b > c > a > b).',
    );
  });

  test("one used twice, side by side and through another, is no circle", async () => {
    expect(await renderBody("{{> a}}{{> b}}{{> a}}", {}, { a: "A{{> b}}", b: "B" })).toBe("ABBAB");
  });
});

verifies("P3", "a template is compiled once, at its first render, and no code is generated", async () => {
  const prompt = parsePrompt("---\nname: a\n---\n{{x}}");
  // Compiling begins with the syntax tree: counting the trees counts compilations.
  const parse = vi.spyOn(handlebars, "parse");
  const original = globalThis.Function;
  globalThis.Function = new Proxy(original, {
    apply: () => expect.unreachable(),
    construct: () => expect.unreachable(),
  });
  try {
    expect(parse).not.toHaveBeenCalled();
    for (const x of [1, 2, 3]) expect(await render(prompt, { x })).toBe(String(x));
    expect(parse).toHaveBeenCalledTimes(1);
  } finally {
    globalThis.Function = original;
    parse.mockRestore();
  }
});

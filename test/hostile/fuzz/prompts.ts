import { setImmediate as nextTurn } from "node:timers/promises";
import { lintPrompts } from "../../../src/prompt/lint/lint-prompts.ts";
import { parsePrompt } from "../../../src/prompt/parse-prompt.ts";
import { contextOf } from "../../prompt/support.ts";
import type { Random } from "../../support/random.ts";

const tags = [
  ..."{{a}} {{#if_a}} {{/if}} {{else}} {{else_if_b}} {{#each_xs}} {{/each}} {{#each_@root.xs}} {{#with_c}} {{/with}}".split(
    " ",
  ),
  ..."{{>_one}} {{>_two}} {{json_@root}} {{upper_text}} {{join_xs_text}} {{~a~}} {{../a}} {{{a}}} {{{{a}}}} \\{{ {{ }}".split(
    " ",
  ),
  ..."{{!_a_}} {{!--_a_--}} {{^}} {{#*inline_'a'}} {{_.a_}} {%_if_a_%} {{(a)}} {{a.[0]}} {{#each_xs_as_|x_y|}} {{@index}}".split(
    " ",
  ),
  ..."{{#if_(eq_a_b)}} {{lt_a_xs}} {{or_a_(and_b_xs)}} {{not_a}} {{number_a_b}} {{date_a_'MMMM_d'_locale=b}} {{slice_text_a}} {{slice_xs_1}} {{break}}".split(
    " ",
  ),
].map((tag) => tag.replaceAll("_", " "));
const texts = ["\n", " ", "a", "#", "# a ", "`", "```\n", "---\n", "<!--", "-->", "\u2028", "\t", "ä", "\u0000"];
const yaml = [
  ..."a:_b\n|-_a\n|[|]|{|}|,_|:_|?_|&a_|*a|'|\"|>\n|#|!!str_|!a_|\\|<<:_*a\n|\t|~|.nan|%YAML\n|...\n|name:_a\n|__a:\n".split(
    "|",
  ),
  "settings:\n",
  "input:\n",
  "tools: ",
  "x: ",
  "system_prompt: >\n  {{a}}\n",
  "\u00a0",
].map((piece) => piece.replaceAll("_", " "));
const schemas = [
  "type: object",
  "type: string",
  "$ref: '#'",
  "default: [1]",
  "pattern: '(a+)+$'",
  "enum: [1, a]",
  "required: [a]",
  "examples: [a]",
];

/** Prompts of up to 300 KiB in every order of their parts: parsed, rendered and linted. */
export const promptFuzz = {
  name: "prompts",
  *cases(random: Random): Iterable<{ readonly describe: string; readonly run: () => Promise<unknown> }> {
    const below = (end: number) => Math.floor(random() * end);
    const pick = <T>(list: readonly T[]) => list[below(list.length)] as T;
    const size = () => 2 ** below(18);
    const repeated = (pieces: readonly string[], most: number) => {
      const piece = Array.from({ length: 1 + below(4) }, () => pick(pieces)).join("");
      return piece.repeat(Math.ceil(Math.min(most, size()) / piece.length));
    };
    const mixed = (pieces: readonly string[], most: number) =>
      Array.from({ length: 1 + below(5) }, () => repeated(pieces, most / 5)).join("");
    const schema = (depth: number): string =>
      `{ ${Array.from({ length: 1 + below(3) }, () => pick(schemas)).join(", ")}${
        depth > 0
          ? `, properties: { a: ${schema(depth - 1)}, b: ${schema(depth - 1)} }, anyOf: [${schema(depth - 1)}]`
          : ""
      } }`;
    const balanced = (depth: number): string => {
      const block = pick(["if a", "each xs", "each @root.xs", "with c", "unless b"]);
      const inner = depth > 0 ? balanced(depth - 1).repeat(1 + below(3)) : repeated([...tags, ...texts], 50);
      return `{{#${block}}}${inner}{{/${block.split(" ")[0]}}}`;
    };
    const makers: readonly (() => readonly [what: string, text: string])[] = [
      () => ["template", `---\nname: a\n---\n${mixed([...tags, ...texts], 300_000)}`],
      () => ["blocks", `---\nname: a\n---\n${balanced(below(8))}`],
      () => ["yaml", `---\nname: a\n${mixed(yaml, 70_000)}\n---\nHi {{a}}`],
      () => ["schema", `---\nname: a\ninput: ${schema(below(5))}\n---\nHi {{a}}`],
      () => ["file", mixed([...texts, ...yaml], 300_000)],
    ];
    for (;;) {
      const [what, text] = pick(makers)();
      const filename = pick(["a.md", "a.prompt"]);
      const partials = { one: repeated(tags, 5_000), two: repeated(["{{> one}}", "a\n"], 5_000) };
      const xs = Array.from({ length: size() }, (_, at) => at);
      const input = {
        a: pick<unknown>(["a", 1, null, xs]),
        b: false,
        c: { a: xs },
        xs,
        text: repeated(texts, 100_000),
      };
      const describe = `${what} of ${text.length} characters as ${filename}: ${JSON.stringify(text.slice(0, 100))}`;
      yield { describe, run: () => attack(text, filename, partials, input) };
    }
  },
};

async function attack(text: string, filename: string, partials: Record<string, string>, input: unknown): Promise<void> {
  await lintPrompts({ text, filename, partials });
  // Each is work of its own, between which the loop turns.
  await nextTurn();
  await parsePrompt(text, { filename, partials }).render(input, contextOf());
}

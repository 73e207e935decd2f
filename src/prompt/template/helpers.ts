import { mediaMark, roleMark } from "./marks.ts";
import { toJsonText, toText } from "./text.ts";

/** How a helper may be used. */
export interface HelperForm {
  readonly block: boolean;
  /** How many values it takes, at least and at most. */
  readonly arguments: readonly [least: number, most: number];
  /** Names that may be given as `name=value`. */
  readonly named: readonly string[];
  /** How it is written. */
  readonly example: string;
  /** True where it gives text; what others give may be a list or an object. */
  readonly givesText: boolean;
  /** Names that must be given. */
  readonly needed?: readonly string[] | undefined;
  /** Values that may be given, and no others: they are written out. */
  readonly choices?: readonly string[] | undefined;
  /** Why it is not to be had here, and what to write instead. */
  readonly refusal?: { readonly what: string; readonly hint: string } | undefined;
}

const inline = (least: number, most: number, example: string, givesText: boolean): HelperForm => ({
  block: false,
  arguments: [least, most],
  named: [],
  example,
  givesText,
});
const block = (example: string, named: readonly string[] = []): HelperForm => ({
  block: true,
  arguments: [1, 1],
  named,
  example,
  givesText: true,
});

/** Every helper a prompt may use. */
export const helperForms: ReadonlyMap<string, HelperForm> = new Map([
  ["json", inline(1, 1, "{{json items}}", true)],
  ["default", inline(2, 2, '{{default "neutral" tone}}', false)],
  ["join", inline(2, 2, '{{join tags ", "}}', true)],
  ["upper", inline(1, 1, "{{upper name}}", true)],
  ["lower", inline(1, 1, "{{lower name}}", true)],
  ["trim", inline(1, 1, "{{trim text}}", true)],
  ["lookup", inline(2, 2, "{{lookup prices product}}", false)],
  ["if", block("{{#if tone}}...{{/if}}", ["includeZero"])],
  ["unless", block("{{#unless tone}}...{{/unless}}", ["includeZero"])],
  ["each", block("{{#each items}}{{this}}{{/each}}")],
  ["with", block("{{#with author}}{{name}}{{/with}}")],
]);

const refused = (what: string, hint: string): HelperForm => ({ ...inline(0, 9, "", true), refusal: { what, hint } });
const equals = (name: string): HelperForm => ({
  ...block(`{{#${name} tone "formal"}}...{{/${name}}}`),
  arguments: [2, 2],
});

/** What the helpers of a `.prompt` file are besides. */
const dotpromptForms: readonly (readonly [string, HelperForm])[] = [
  ["json", { ...inline(1, 1, "{{json items indent=2}}", true), named: ["indent"] }],
  ["role", { ...inline(1, 1, '{{role "system"}}', true), choices: ["system", "user", "model", "assistant"] }],
  ["media", { ...inline(0, 0, "{{media url=photo}}", true), named: ["url", "contentType"], needed: ["url"] }],
  ["ifEquals", equals("ifEquals")],
  ["unlessEquals", equals("unlessEquals")],
  [
    "history",
    refused(
      "There is no history here: a call of a prompt is a conversation of its own.",
      "Remove it, or pass what was said before: {{#each messages}}{{text}}{{/each}}.",
    ),
  ],
  [
    "section",
    refused(
      "There are no sections here: nothing is put into a text after it is rendered.",
      "Remove it, or write the text that belongs there; the model is told the form of the answer without it.",
    ),
  ],
];

/** Every helper a `.prompt` file may use. */
export const dotpromptHelperForms: ReadonlyMap<string, HelperForm> = new Map([...helperForms, ...dotpromptForms]);

/** The helpers Handlebars does not have itself. */
export const ownHelpers = {
  json: (value: unknown, options?: HelperOptions) => toJsonText(value, indentOf(options)),
  default: (fallback: unknown, value: unknown) =>
    value === undefined || value === null || value === "" ? fallback : value,
  join: (list: unknown, separator: unknown) =>
    Array.isArray(list) ? list.map(toText).join(toText(separator)) : toText(list),
  upper: (value: unknown) => toText(value).toUpperCase(),
  lower: (value: unknown) => toText(value).toLowerCase(),
  trim: (value: unknown) => toText(value).trim(),
  role: (role: unknown) => roleMark(toText(role)),
  media: (options: HelperOptions) => mediaMark(toText(options.hash.url), toText(options.hash.contentType)),
  ifEquals(this: unknown, left: unknown, right: unknown, options: HelperOptions) {
    return left === right ? options.fn(this) : options.inverse(this);
  },
  unlessEquals(this: unknown, left: unknown, right: unknown, options: HelperOptions) {
    return left === right ? options.inverse(this) : options.fn(this);
  },
};

/** What Handlebars gives a helper last. */
interface HelperOptions {
  readonly hash: Readonly<Record<string, unknown>>;
  fn(context: unknown): string;
  inverse(context: unknown): string;
}

function indentOf(options: HelperOptions | undefined): number | undefined {
  const indent = options?.hash?.indent;
  return typeof indent === "number" ? indent : undefined;
}

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

/** The helpers Handlebars does not have itself. */
export const ownHelpers = {
  json: (value: unknown) => toJsonText(value),
  default: (fallback: unknown, value: unknown) =>
    value === undefined || value === null || value === "" ? fallback : value,
  join: (list: unknown, separator: unknown) =>
    Array.isArray(list) ? list.map(toText).join(toText(separator)) : toText(list),
  upper: (value: unknown) => toText(value).toUpperCase(),
  lower: (value: unknown) => toText(value).toLowerCase(),
  trim: (value: unknown) => toText(value).trim(),
};

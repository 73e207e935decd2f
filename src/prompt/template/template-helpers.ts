import { randomUUID } from "node:crypto";
import { messageOf, ToolkitError } from "../../core/error.ts";

/** The form in which a helper may be used. */
export interface HelperForm {
  readonly block: boolean;
  /** The least and the greatest number of arguments. */
  readonly arguments: readonly [least: number, most: number];
  /** Names of the arguments that may be given as `name=value`. */
  readonly named: readonly string[];
  readonly example: string;
  /** False for a result that may be a list or an object. */
  readonly givesText: boolean;
  /** Names of the arguments that must be given as `name=value`. */
  readonly needed?: readonly string[] | undefined;
  /** The only values its argument may have, as constants. */
  readonly choices?: readonly string[] | undefined;
  /** The reason why a helper of dotprompt is not available, and the text to write instead. */
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

/** The further helpers of a `.prompt` file. */
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
      "Remove it, or write the text that belongs there; the model gets the schema of the answer without it.",
    ),
  ],
];

/** Every helper a `.prompt` file may use. */
export const dotpromptHelperForms: ReadonlyMap<string, HelperForm> = new Map([...helperForms, ...dotpromptForms]);

/**
 * The helper of a `{{media}}` whose URL is written in the template and does not come from the input. No template can spell its name.
 * @internal
 */
export const writtenMedia = "~media";

/** The helpers that Handlebars does not have itself. */
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
  media: (options: HelperOptions) => mediaMark(options.hash, false),
  [writtenMedia]: (options: HelperOptions) => mediaMark(options.hash, true),
  ifEquals(this: unknown, left: unknown, right: unknown, options: HelperOptions) {
    return left === right ? options.fn(this) : options.inverse(this);
  },
  unlessEquals(this: unknown, left: unknown, right: unknown, options: HelperOptions) {
    return left === right ? options.inverse(this) : options.fn(this);
  },
};

/** The last argument with which Handlebars calls a helper. */
interface HelperOptions {
  readonly hash: Readonly<Record<string, unknown>>;
  fn(context: unknown): string;
  inverse(context: unknown): string;
}

function indentOf(options: HelperOptions | undefined): number | undefined {
  const indent = options?.hash?.indent;
  return typeof indent === "number" ? indent : undefined;
}

/** A value as JSON; `null` for a missing one. @throws ToolkitError `INVALID_INPUT` for a value that JSON cannot hold */
function toJsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent) ?? "null";
  } catch (cause) {
    const message = `cannot be written as JSON: ${messageOf(cause)}`;
    const issues = [{ pointer: "", message }];
    throw new ToolkitError("INVALID_INPUT", `A value of the input ${message}`, { issues }, { cause });
  }
}

/**
 * A value as a template writes it: text as it is, numbers and booleans in digits and words, lists and objects as JSON, nothing for
 * a missing value. Nothing for a function either: no code runs from a template.
 */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined || typeof value === "function") return "";
  return typeof value === "object" ? toJsonText(value) : String(value);
}

// Encloses what a helper adds to the text besides text. No value can forge it: it is another one in each process.
const mark = `\u0000${randomUUID()}\u0000`;

function roleMark(role: string): string {
  return `${mark}${JSON.stringify({ role })}${mark}`;
}

function mediaMark({ url, contentType }: HelperOptions["hash"], isWritten: boolean): string {
  const mediaType = toText(contentType);
  return `${mark}${JSON.stringify({ url: toText(url), isWritten, mediaType: mediaType === "" ? undefined : mediaType })}${mark}`;
}

/** A piece of a rendered text: text, the beginning of the message of a role, or a file. */
export type RenderedPiece =
  | { readonly text: string }
  | { readonly role: string }
  | {
      readonly url: string;
      /** It stands in the template, and does not come from the input. */
      readonly isWritten: boolean;
      readonly mediaType?: string | undefined;
    };

/** Splits a rendered text into its pieces; it is one piece if no helper added more than text. */
export function splitAtMarks(rendered: string): readonly RenderedPiece[] {
  if (!rendered.includes(mark)) return [{ text: rendered }];
  return rendered.split(mark).map((piece, index) => (index % 2 === 0 ? { text: piece } : JSON.parse(piece)));
}

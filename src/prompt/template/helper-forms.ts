import type { FormattedKind } from "./value-formats.ts";

/** The form in which a helper may be used. */
export interface HelperForm {
  readonly block: boolean;
  /** The least and the greatest number of arguments. */
  readonly arguments: readonly [least: number, most: number];
  /** Names of the arguments that may be given as `name=value`. */
  readonly named: readonly string[];
  readonly example: string;
  /** Names of the arguments that must be given as `name=value`. */
  readonly needed?: readonly string[] | undefined;
  /** Written alone it is a field of the input, as it was before there was a helper of this name. */
  readonly aloneIsField?: boolean | undefined;
  /** Its second argument and those by name are a format of this kind, which is checked where it is written out. */
  readonly format?: FormattedKind | undefined;
  /** The only values its argument may have, as constants. */
  readonly choices?: readonly string[] | undefined;
  /** The reason why a helper of dotprompt is not available, and the text to write instead. */
  readonly refusal?: { readonly what: string; readonly hint: string } | undefined;
}

const inline = (least: number, most: number, example: string): HelperForm => ({
  block: false,
  arguments: [least, most],
  named: [],
  example,
});
const block = (example: string, named: readonly string[] = []): HelperForm => ({
  block: true,
  arguments: [1, 1],
  named,
  example,
});

const operator = (least: number, most: number, example: string, more: Partial<HelperForm> = {}): HelperForm => ({
  ...inline(least, most, example),
  aloneIsField: true,
  ...more,
});
const comparison = (name: string) => [name, operator(2, 2, `{{#if (${name} price 100)}}...{{/if}}`)] as const;
const maxOperands = 20;

/** Every helper a prompt may use. */
export const helperForms: ReadonlyMap<string, HelperForm> = new Map<string, HelperForm>([
  ["json", inline(1, 1, "{{json items}}")],
  ["default", inline(2, 2, '{{default "neutral" tone}}')],
  ["join", inline(2, 2, '{{join tags ", "}}')],
  ["upper", inline(1, 1, "{{upper name}}")],
  ["lower", inline(1, 1, "{{lower name}}")],
  ["trim", inline(1, 1, "{{trim text}}")],
  ["lookup", inline(2, 2, "{{lookup prices product}}")],
  ["eq", operator(2, maxOperands, '{{#if (eq kind "new")}}...{{/if}}')],
  ["ne", operator(2, 2, '{{#if (ne kind "new")}}...{{/if}}')],
  comparison("lt"),
  comparison("le"),
  comparison("gt"),
  comparison("ge"),
  ["and", operator(2, maxOperands, "{{#if (and name urgent)}}...{{/if}}")],
  ["or", operator(2, maxOperands, '{{or nickname name "you"}}')],
  ["not", operator(1, 1, "{{#if (and name (not urgent))}}...{{/if}}")],
  ["number", operator(1, 2, '{{number price "0.00"}}', { named: ["locale", "currency"], format: "number" })],
  ["date", operator(1, 2, '{{date created "yyyy-MM-dd"}}', { named: ["locale", "zone"], format: "date" })],
  ["slice", operator(2, 3, "{{slice text 0 100}}")],
  ["if", block("{{#if tone}}...{{/if}}", ["includeZero"])],
  ["unless", block("{{#unless tone}}...{{/unless}}", ["includeZero"])],
  ["each", block("{{#each items}}{{this}}{{/each}}")],
  ["with", block("{{#with author}}{{name}}{{/with}}")],
]);

const refused = (what: string, hint: string): HelperForm => ({ ...inline(0, 9, ""), refusal: { what, hint } });
const equals = (name: string): HelperForm => ({
  ...block(`{{#${name} tone "formal"}}...{{/${name}}}`),
  arguments: [2, 2],
});

/** The further helpers of a `.prompt` file. */
const dotpromptForms: readonly (readonly [string, HelperForm])[] = [
  ["json", { ...inline(1, 1, "{{json items indent=2}}"), named: ["indent"] }],
  ["role", { ...inline(1, 1, '{{role "system"}}'), choices: ["system", "user", "model", "assistant"] }],
  ["media", { ...inline(0, 0, "{{media url=photo}}"), named: ["url", "contentType"], needed: ["url"] }],
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

import { helperForms } from "../helpers.ts";

/** A value in a template of another language, as far as the languages say the same. */
export type Expression = Path | Literal | Call;

/** A value by its name. */
export interface Path {
  readonly kind: "path";
  /** Where its first part is looked for: in what the template stands in, in the whole input, or among the names a block gives. */
  readonly from: "here" | "root" | "block";
  readonly parts: readonly string[];
}

/** A value written out. */
export interface Literal {
  readonly kind: "literal";
  readonly value: string | number | boolean | null;
}

/** A function with its values. */
export interface Call {
  readonly kind: "call";
  readonly name: string;
  readonly values: readonly Expression[];
}

/** Says that something has no form in Handlebars, and what to do then. */
export class NoForm extends Error {
  readonly hint: string;

  constructor(hint: string) {
    super(hint);
    this.hint = hint;
  }
}

const helperNames = [...helperForms.keys()].join(", ");

/** What others call our helpers. */
const helperOf: Readonly<Record<string, string>> = {
  upper: "upper",
  toupper: "upper",
  uppercase: "upper",
  lower: "lower",
  tolower: "lower",
  lowercase: "lower",
  trim: "trim",
  trimspace: "trim",
  strip: "trim",
  json: "json",
  tojson: "json",
  marshal: "json",
  dump: "json",
  default: "default",
  d: "default",
  join: "join",
};

/** A value as Handlebars writes it inside a tag. @throws NoForm */
export function handlebarsOf(expression: Expression): string {
  if (expression.kind === "literal") return literalOf(expression.value);
  if (expression.kind === "path") return pathOf(expression);
  return callOf(expression);
}

/** A value beside others in a tag. @throws NoForm */
function argumentOf(expression: Expression): string {
  const text = handlebarsOf(expression);
  return expression.kind === "call" && /\s/.test(text) ? `(${text})` : text;
}

const plainPart = /^[A-Za-z_][\w-]*$/;
const words: ReadonlySet<string> = new Set(["this", "true", "false", "null", "undefined", "else", "as"]);

function pathOf({ from, parts }: Path): string {
  const written = parts.map((part) => (plainPart.test(part) && !words.has(part) ? part : `[${part}]`));
  if (parts.some((part) => part.includes("]"))) throw new NoForm("A name with ] cannot be written.");
  if (from === "root") return ["@root", ...written].join(".");
  if (parts.length === 0) return "this";
  const [first = ""] = parts;
  const isAmbiguous = from === "here" && ((parts.length === 1 && helperForms.has(first)) || written[0] !== first);
  return (isAmbiguous ? ["this", ...written] : written).join(".");
}

function literalOf(value: Literal["value"]): string {
  if (typeof value !== "string") return String(value);
  const quote = value.includes('"') ? "'" : '"';
  const hasBoth = value.includes("'") && quote === "'";
  if (hasBoth || value.includes("\\")) throw new NoForm("This text cannot be written in a tag: pass it as a field.");
  return `${quote}${value}${quote}`;
}

function callOf({ name, values }: Call): string {
  const bare = name.replace(/^.*\./, "").toLowerCase();
  const [first, ...others] = values;
  if (first === undefined) throw new NoForm(`${name} has no value.`);
  if (/^(?:len|length|count)$/.test(bare) && others.length === 0) return lengthOf(first);
  if (bare === "index") return lookupOf(first, others);
  const helper = helperOf[bare];
  const form = helper === undefined ? undefined : helperForms.get(helper);
  if (helper === undefined || form === undefined) {
    throw new NoForm(`There is no helper like ${name}: the helpers are ${helperNames}.`);
  }
  // Some write the separator first.
  const ordered = helper === "join" && first.kind === "literal" ? [...others, first] : values;
  const [least, most] = form.arguments;
  if (ordered.length < least || ordered.length > most) throw new NoForm(`Write it as in ${form.example}.`);
  return [helper, ...ordered.map(argumentOf)].join(" ");
}

function lengthOf(value: Expression): string {
  if (value.kind === "path") return value.parts.length === 0 ? "this.length" : pathOf(withPart(value, "length"));
  throw new NoForm("A length is that of a field, {{items.length}}.");
}

/** `path` with one more part. */
export function withPart(path: Path, part: string): Path {
  return { ...path, parts: [...path.parts, part] };
}

function lookupOf(value: Expression, keys: readonly Expression[]): string {
  return keys.reduce(
    (text, key) => `lookup ${/\s/.test(text) ? `(${text})` : text} ${argumentOf(key)}`,
    argumentOf(value),
  );
}

/** An entry of a value: one more part of its path where that can be. */
export function entryOf(value: Expression, key: Expression): Expression {
  if (value.kind === "path" && key.kind === "literal") return withPart(value, String(key.value));
  return { kind: "call", name: "index", values: [value, key] };
}

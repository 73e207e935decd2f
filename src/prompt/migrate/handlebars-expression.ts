import { helperForms } from "../template/helper-forms.ts";

/** A value in a template of another language, in the terms that it shares with Handlebars. */
export type Expression = FieldExpression | LiteralExpression | CallExpression;

/** A value that is reached by names. */
export interface FieldExpression {
  readonly kind: "path";
  /** The first part is a field of the current value, a field of the whole input, or a name that a block declares. */
  readonly from: "here" | "root" | "block";
  readonly parts: readonly string[];
}

/** A constant. */
export interface LiteralExpression {
  readonly kind: "literal";
  readonly value: string | number | boolean | null;
}

/** A function with its arguments. */
export interface CallExpression {
  readonly kind: "call";
  readonly name: string;
  readonly values: readonly Expression[];
}

/** Thrown for an expression that Handlebars cannot say; the message is what to do instead. */
export class NoHandlebarsForm extends Error {}

const helperNames = [...helperForms.keys()].join(", ");

/** Our helpers by the names of functions in other languages, in small letters. */
const helperOf: Readonly<Record<string, string>> = {
  upper: "upper",
  toupper: "upper",
  uppercase: "upper",
  lower: "lower",
  tolower: "lower",
  lowercase: "lower",
  trim: "trim",
  trimspace: "trim",
  json: "json",
  tojson: "json",
  marshal: "json",
  default: "default",
  join: "join",
  eq: "eq",
  ne: "ne",
  lt: "lt",
  le: "le",
  gt: "gt",
  ge: "ge",
  and: "and",
  or: "or",
  not: "not",
  slice: "slice",
  number: "number",
  date: "date",
};

/** A value as Handlebars writes it inside a tag. @throws NoHandlebarsForm */
export function toHandlebars(expression: Expression): string {
  if (expression.kind === "literal") return toLiteral(expression.value);
  if (expression.kind === "path") return toPath(expression);
  return toCall(expression);
}

/** A value as an argument of a helper. @throws NoHandlebarsForm */
export function toArgument(expression: Expression): string {
  const text = toHandlebars(expression);
  return expression.kind === "call" && /\s/.test(text) ? `(${text})` : text;
}

const plainPart = /^[A-Za-z_][\w-]*$/;
const words: ReadonlySet<string> = new Set(["this", "true", "false", "null", "undefined", "else", "as"]);

function toPath({ from, parts }: FieldExpression): string {
  const written = parts.map((part) => (plainPart.test(part) && !words.has(part) ? part : `[${part}]`));
  if (parts.some((part) => part.includes("]"))) throw new NoHandlebarsForm("A name with ] cannot be written.");
  if (from === "root") return ["@root", ...written].join(".");
  if (parts.length === 0) return "this";
  const [first = ""] = parts;
  const isAmbiguous = from === "here" && ((parts.length === 1 && helperForms.has(first)) || written[0] !== first);
  return (isAmbiguous ? ["this", ...written] : written).join(".");
}

function toLiteral(value: LiteralExpression["value"]): string {
  if (typeof value !== "string") return String(value);
  const quote = value.includes('"') ? "'" : '"';
  const hasBoth = value.includes("'") && quote === "'";
  if (hasBoth || value.includes("\\"))
    throw new NoHandlebarsForm("This text cannot be written in a tag: pass it as a field.");
  return `${quote}${value}${quote}`;
}

function toCall({ name, values }: CallExpression): string {
  const bare = name.replace(/^.*\./, "").toLowerCase();
  const [first, ...others] = values;
  if (first === undefined) throw new NoHandlebarsForm(`${name} has no value.`);
  if (/^(?:len|length|count)$/.test(bare) && others.length === 0) return lengthOf(first);
  if (bare === "index") return lookupOf(first, others);
  const helper = helperOf[bare];
  const form = helper === undefined ? undefined : helperForms.get(helper);
  if (helper === undefined || form === undefined) {
    throw new NoHandlebarsForm(`There is no helper like ${name}: the helpers are ${helperNames}.`);
  }
  // Go writes the separator first.
  const ordered = helper === "join" && first.kind === "literal" ? [...others, first] : values;
  const [least, most] = form.arguments;
  if (ordered.length < least || ordered.length > most) throw new NoHandlebarsForm(`Write it as in ${form.example}.`);
  return [helper, ...ordered.map(toArgument)].join(" ");
}

function lengthOf(value: Expression): string {
  if (value.kind === "path") return value.parts.length === 0 ? "this.length" : toPath(withPart(value, "length"));
  throw new NoHandlebarsForm("A length is that of a field, {{items.length}}.");
}

/** The path with one more part. */
export function withPart(path: FieldExpression, part: string): FieldExpression {
  return { ...path, parts: [...path.parts, part] };
}

function lookupOf(value: Expression, keys: readonly Expression[]): string {
  return keys.reduce(
    (text, key) => `lookup ${/\s/.test(text) ? `(${text})` : text} ${toArgument(key)}`,
    toArgument(value),
  );
}

/** An entry of a value: one more part of its path, or else a call of `index`. */
export function entryOf(value: Expression, key: Expression): Expression {
  if (value.kind === "path" && key.kind === "literal") return withPart(value, String(key.value));
  return { kind: "call", name: "index", values: [value, key] };
}

import {
  type CallExpression,
  type Expression,
  type FieldExpression,
  type LiteralExpression,
  NoHandlebarsForm,
  toHandlebars,
  withPart,
} from "./handlebars-expression.ts";
import { type TemplateTag, tagsInPlaceOf, textInPlaceOf } from "./template-tags.ts";

/** A condition as blocks of Handlebars. */
export interface HandlebarsCondition {
  /** The openings of the blocks, outermost first: `if tone`. */
  readonly opens: readonly string[];
  /** A field that the input needs for it, where Handlebars cannot compute the condition. */
  readonly field?: ConditionField | undefined;
}

/** A field of the input that takes the place of a comparison. */
export interface ConditionField {
  readonly name: string;
  /** `true where kind is "b"`. */
  readonly meaning: string;
}

/** The means a condition has. */
export interface ConditionOptions {
  /** The helper `ifEquals` is available, so that no field is needed for a comparison. */
  readonly hasEquals: boolean;
  /** Several nested blocks may stand for one condition: only where it has no `else`. */
  readonly mayNest: boolean;
}

/** Converts a condition to blocks of Handlebars. @throws NoHandlebarsForm */
export function toCondition(expression: Expression, options: ConditionOptions, isNegated = false): HandlebarsCondition {
  const word = isNegated ? "unless" : "if";
  if (expression.kind !== "call") return { opens: [`${word} ${toHandlebars(expression)}`] };
  const { name, values } = expression;
  const [first, second] = values;
  if (name === "not" && first !== undefined && values.length === 1) return toCondition(first, options, !isNegated);
  if (name === "and" && !isNegated && options.mayNest) {
    const parts = values.map((value) => toCondition(value, options));
    return { opens: parts.flatMap(({ opens }) => opens), field: parts.find(({ field }) => field !== undefined)?.field };
  }
  if (Object.hasOwn(comparisons, name) || name === "and" || name === "or") {
    const presence = first === undefined || second === undefined ? undefined : presenceTest(name, first, second);
    if (presence !== undefined) return toCondition(presence.value, options, presence.isNegated !== isNegated);
    if (options.hasEquals && (name === "eq" || name === "ne") && values.length === 2) {
      const helper = (name === "eq") === isNegated ? "unlessEquals" : "ifEquals";
      return { opens: [[helper, ...values.map(toHandlebars)].join(" ")] };
    }
    const { path, field } = conditionField(expression);
    return { opens: [`${word} ${toHandlebars(path)}`], field };
  }
  const text = toHandlebars(expression);
  return { opens: [`${word} ${/\s/.test(text) ? `(${text})` : text}`] };
}

/** The value of a comparison that only asks whether a text or a list is empty; undefined for any other comparison. */
function presenceTest(
  name: string,
  first: Expression,
  second: Expression,
): { readonly value: Expression; readonly isNegated: boolean } | undefined {
  if (second.kind !== "literal") return undefined;
  const isLength = first.kind === "call" && /^(?:len|length|count)$/.test(first.name);
  const isNothing = second.value === "" || (isLength && second.value === 0);
  if (isNothing && (name === "ne" || (name === "gt" && isLength))) return { value: first, isNegated: false };
  return isNothing && name === "eq" ? { value: first, isNegated: true } : undefined;
}

const comparisons: Readonly<Record<string, readonly [part: string, meaning: string]>> = {
  eq: ["is", "is"],
  ne: ["is_not", "is not"],
  lt: ["below", "is below"],
  le: ["at_most", "is at most"],
  gt: ["above", "is above"],
  ge: ["at_least", "is at least"],
  in: ["in", "is in"],
};

/** The field that takes the place of a condition, beside the first field that the condition is about. */
function conditionField(expression: Expression): { readonly path: FieldExpression; readonly field: ConditionField } {
  const about = firstField(expression);
  if (about === undefined || about.parts.length === 0 || (about.from === "block" && about.parts.length === 1)) {
    throw new NoHandlebarsForm(
      "Handlebars compares nothing: pass a field that is true or false, and write {{#if field}}.",
    );
  }
  const name = slugOf(expression).replace(/_+/g, "_").replace(/^_|_$/g, "");
  const path = withPart({ ...about, parts: about.parts.slice(0, -1) }, name);
  return { path, field: { name: path.parts.join("."), meaning: `true where ${meaningOf(expression)}` } };
}

function firstField(expression: Expression): FieldExpression | undefined {
  if (expression.kind === "path") return expression;
  if (expression.kind === "literal") return undefined;
  for (const value of expression.values) {
    const path = firstField(value);
    if (path !== undefined) return path;
  }
  return undefined;
}

function slugOf(expression: Expression): string {
  if (expression.kind === "path") return expression.parts.at(-1) ?? "this";
  if (expression.kind === "literal") return slugOfLiteral(expression.value);
  const { name, values } = expression;
  const [word] = comparisons[name] ?? [name];
  const parts = values.map(slugOf);
  return name === "not" || parts.length === 1 ? `${name}_${parts.join("_")}` : parts.join(`_${word}_`);
}

function slugOfLiteral(value: LiteralExpression["value"]): string {
  const text = String(value)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_");
  return text === "" || text === "_" ? "empty" : text;
}

function meaningOf(expression: Expression): string {
  if (expression.kind === "path") return expression.parts.join(".");
  if (expression.kind === "literal") return JSON.stringify(expression.value);
  const { name, values } = expression;
  const word = comparisons[name]?.[1] ?? name;
  const parts = values.map(meaningOf);
  return parts.length === 1 ? `${name} ${parts[0]}` : parts.join(` ${word} `);
}

/** The text that replaces a tag that writes a value. @throws NoHandlebarsForm */
export function valueInPlaceOf(tag: TemplateTag, expression: Expression): string {
  if (expression.kind === "literal") return textInPlaceOf(tag, escapedText(expression.value ?? ""));
  if (expression.kind === "call") {
    const { name, values } = expression;
    if (name === "printf") return textInPlaceOf(tag, formattedText(expression));
    if (/^(?:print|println|string|toString|safe|html_safe|safeHTML)$/.test(name) && values.length === 1) {
      return valueInPlaceOf(tag, values[0] as Expression);
    }
    if ((name === "or" || name === "and") && values.length === 2) return textInPlaceOf(tag, choiceBlock(expression));
  }
  return tagsInPlaceOf(tag, toHandlebars(expression));
}

function escapedText(value: string | number | boolean): string {
  return String(value).replaceAll("{{", "\\{{");
}

/** `or a b` is the first of the two that is not empty. */
function choiceBlock({ name, values }: CallExpression): string {
  const [first, second] = values as [Expression, Expression];
  const [yes, no] = (name === "or" ? [first, second] : [second, first]).map(valueText);
  const condition = toCondition(first, { hasEquals: false, mayNest: false });
  return `{{#${condition.opens[0]}}}${yes}{{else}}${no}{{/if}}`;
}

function valueText(value: Expression): string {
  return value.kind === "literal" ? escapedText(value.value ?? "") : `{{${toHandlebars(value)}}}`;
}

/** The format of `printf` with its values in it. */
function formattedText({ values: [format, ...values] }: CallExpression): string {
  if (format?.kind !== "literal") throw new NoHandlebarsForm("Write the text around the value: Hello {{name}}.");
  let used = 0;
  const text = String(format.value).replace(/%%|%\+?[#]?([a-zA-Z])|%[^%\s]*|\{\{/g, (verb, letter?: string) => {
    if (verb === "%%") return "%";
    if (verb === "{{") return "\\{{";
    const value = values[used];
    used += 1;
    if (value === undefined || !/^[svdqt]$/.test(letter ?? "")) {
      throw new NoHandlebarsForm(`Handlebars has no ${verb}: pass the value as the text it is to be.`);
    }
    return valueText(letter === "q" ? { kind: "call", name: "json", values: [value] } : value);
  });
  if (used !== values.length) throw new NoHandlebarsForm("Write the text around the value: Hello {{name}}.");
  return text;
}

import {
  type CallExpression,
  type Expression,
  NoHandlebarsForm,
  toArgument,
  toHandlebars,
} from "./handlebars-expression.ts";
import { type TemplateTag, tagsInPlaceOf, textInPlaceOf } from "./template-tags.ts";

/** Converts a condition to the opening of a block of Handlebars: `if tone`. @throws NoHandlebarsForm */
export function toCondition(expression: Expression, isNegated = false): string {
  if (expression.kind === "call") {
    const { name, values } = expression;
    const [first, second] = values;
    if (name === "not" && first !== undefined && values.length === 1) return toCondition(first, !isNegated);
    const presence = first === undefined || second === undefined ? undefined : presenceTest(name, first, second);
    if (presence !== undefined) return toCondition(presence.value, presence.isNegated !== isNegated);
  }
  return `${isNegated ? "unless" : "if"} ${toArgument(expression)}`;
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

/** The text that replaces a tag that writes a value. @throws NoHandlebarsForm */
export function valueInPlaceOf(tag: TemplateTag, expression: Expression): string {
  if (expression.kind === "literal") return textInPlaceOf(tag, escapedText(expression.value ?? ""));
  if (expression.kind === "call") {
    const { name, values } = expression;
    if (name === "printf") return textInPlaceOf(tag, formattedText(expression));
    if (/^(?:print|println|string|toString|safe|html_safe|safeHTML)$/.test(name) && values.length === 1) {
      return valueInPlaceOf(tag, values[0] as Expression);
    }
  }
  return tagsInPlaceOf(tag, toHandlebars(expression));
}

function escapedText(value: string | number | boolean): string {
  return String(value).replaceAll("{{", "\\{{");
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
    const digits = /^%\.(\d{1,2})f$/.exec(verb)?.[1];
    if (value !== undefined && digits !== undefined) return valueText(fixed(value, Number(digits)));
    if (value === undefined || !/^[svdqt]$/.test(letter ?? "")) {
      throw new NoHandlebarsForm(`Handlebars has no ${verb}: pass the value as the text it is to be.`);
    }
    return valueText(letter === "q" ? { kind: "call", name: "json", values: [value] } : value);
  });
  if (used !== values.length) throw new NoHandlebarsForm("Write the text around the value: Hello {{name}}.");
  return text;
}

/** A number with a fixed number of digits behind the point. */
function fixed(value: Expression, digits: number): Expression {
  const format = digits === 0 ? "0" : `0.${"0".repeat(Math.min(digits, maxDigits))}`;
  return { kind: "call", name: "number", values: [value, { kind: "literal", value: format }] };
}

/** The most that the format of a number may have. */
const maxDigits = 20;

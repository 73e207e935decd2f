import { conditionOf } from "./condition.ts";
import { type Call, type Expression, handlebarsOf, NoForm } from "./expression.ts";
import { inPlaceOf, type Tag, textInPlaceOf } from "./tag.ts";

/** What takes the place of a tag that shows a value. @throws NoForm */
export function shownBy(tag: Tag, expression: Expression): string {
  if (expression.kind === "literal") return textInPlaceOf(tag, shownText(expression.value ?? ""));
  if (expression.kind === "call") {
    const { name, values } = expression;
    if (name === "printf") return textInPlaceOf(tag, formatted(expression));
    if (/^(?:print|println|string|toString|safe|html_safe|safeHTML)$/.test(name) && values.length === 1) {
      return shownBy(tag, values[0] as Expression);
    }
    if ((name === "or" || name === "and") && values.length === 2) return textInPlaceOf(tag, chosen(expression));
  }
  return inPlaceOf(tag, handlebarsOf(expression));
}

function shownText(value: string | number | boolean): string {
  return String(value).replaceAll("{{", "\\{{");
}

/** `or a b` gives the first of the two that is something. */
function chosen({ name, values }: Call): string {
  const [first, second] = values as [Expression, Expression];
  const [yes, no] = (name === "or" ? [first, second] : [second, first]).map(shown);
  const condition = conditionOf(first, { hasEquals: false, mayNest: false });
  return `{{#${condition.opens[0]}}}${yes}{{else}}${no}{{/if}}`;
}

function shown(value: Expression): string {
  return value.kind === "literal" ? shownText(value.value ?? "") : `{{${handlebarsOf(value)}}}`;
}

/** The text of `printf` around its values. */
function formatted({ values: [format, ...values] }: Call): string {
  if (format?.kind !== "literal") throw new NoForm("Write the text around the value: Hello {{name}}.");
  let used = 0;
  const text = String(format.value).replace(/%%|%\+?[#]?([a-zA-Z])|%[^%\s]*|\{\{/g, (verb, letter?: string) => {
    if (verb === "%%") return "%";
    if (verb === "{{") return "\\{{";
    const value = values[used];
    used += 1;
    if (value === undefined || !/^[svdqt]$/.test(letter ?? "")) {
      throw new NoForm(`Handlebars has no ${verb}: pass the value as the text it is to be.`);
    }
    return shown(letter === "q" ? { kind: "call", name: "json", values: [value] } : value);
  });
  if (used !== values.length) throw new NoForm("Write the text around the value: Hello {{name}}.");
  return text;
}

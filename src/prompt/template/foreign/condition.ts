import { type Expression, handlebarsOf, type Literal, NoForm, type Path, withPart } from "./expression.ts";

/** How a condition is opened and closed in Handlebars. */
export interface Condition {
  /** The blocks, outermost first: `if tone`. */
  readonly opens: readonly string[];
  /** What the input needs for it, where Handlebars cannot say it itself. */
  readonly field?: NeededField | undefined;
}

/** A field of the input that stands for a comparison. */
export interface NeededField {
  readonly name: string;
  /** `true where kind is "b"`. */
  readonly meaning: string;
}

/** What a template may use: where there is `ifEquals`, nothing has to stand for a comparison. */
export interface ConditionOptions {
  readonly hasEquals: boolean;
  /** Several blocks, one in the other, are one condition only where nothing is said for the other case. */
  readonly mayNest: boolean;
}

/** A condition as blocks of Handlebars. @throws NoForm */
export function conditionOf(expression: Expression, options: ConditionOptions, isNegated = false): Condition {
  const word = isNegated ? "unless" : "if";
  if (expression.kind !== "call") return { opens: [`${word} ${handlebarsOf(expression)}`] };
  const { name, values } = expression;
  const [first, second] = values;
  if (name === "not" && first !== undefined && values.length === 1) return conditionOf(first, options, !isNegated);
  if (name === "and" && !isNegated && options.mayNest) {
    const parts = values.map((value) => conditionOf(value, options));
    return { opens: parts.flatMap(({ opens }) => opens), field: parts.find(({ field }) => field !== undefined)?.field };
  }
  if (Object.hasOwn(comparisons, name) || name === "and" || name === "or") {
    const plain = first === undefined || second === undefined ? undefined : emptiness(name, first, second);
    if (plain !== undefined) return conditionOf(plain.value, options, plain.isNegated !== isNegated);
    if (options.hasEquals && (name === "eq" || name === "ne") && values.length === 2) {
      const helper = (name === "eq") === isNegated ? "unlessEquals" : "ifEquals";
      return { opens: [[helper, ...values.map(handlebarsOf)].join(" ")] };
    }
    const needed = fieldFor(expression);
    return { opens: [`${word} ${handlebarsOf(needed.path)}`], field: needed.field };
  }
  const text = handlebarsOf(expression);
  return { opens: [`${word} ${/\s/.test(text) ? `(${text})` : text}`] };
}

/** What a comparison that only asks whether there is something asks for. */
function emptiness(
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

/** A name and a meaning for a condition, beside the first field it is about. */
function fieldFor(expression: Expression): { readonly path: Path; readonly field: NeededField } {
  const about = firstPath(expression);
  if (about === undefined || about.parts.length === 0 || (about.from === "block" && about.parts.length === 1)) {
    throw new NoForm("Handlebars compares nothing: pass a field that is true or false, and write {{#if field}}.");
  }
  const name = slugOf(expression).replace(/_+/g, "_").replace(/^_|_$/g, "");
  const path = withPart({ ...about, parts: about.parts.slice(0, -1) }, name);
  return { path, field: { name: path.parts.join("."), meaning: `true where ${meaningOf(expression)}` } };
}

function firstPath(expression: Expression): Path | undefined {
  if (expression.kind === "path") return expression;
  if (expression.kind === "literal") return undefined;
  for (const value of expression.values) {
    const path = firstPath(value);
    if (path !== undefined) return path;
  }
  return undefined;
}

function slugOf(expression: Expression): string {
  if (expression.kind === "path") return expression.parts.at(-1) ?? "this";
  if (expression.kind === "literal") return slugOfText(expression.value);
  const { name, values } = expression;
  const [word] = comparisons[name] ?? [name];
  const parts = values.map(slugOf);
  return name === "not" || parts.length === 1 ? `${name}_${parts.join("_")}` : parts.join(`_${word}_`);
}

function slugOfText(value: Literal["value"]): string {
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

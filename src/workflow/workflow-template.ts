import { parseSelection, type SelectNode, selectJson } from "../lib/json-select/select-json.ts";
import { InvalidSelection, writeJson } from "../lib/json-select/select-value.ts";
import { type SelectedPaths, selectedPaths } from "../lib/json-select/selected-paths.ts";
import type { StepBudget } from "../lib/step-budget.ts";
import { Turns } from "../lib/turns.ts";
import { type FieldPath, isRecord } from "../lib/value.ts";

/** A `${...}` of a template. */
export interface TemplateReference {
  /** The expression, as it is written. */
  readonly expression: string;
  readonly node: SelectNode;
  readonly paths: SelectedPaths;
  /** The way from the template to the text that it is in. */
  readonly path: FieldPath;
}

/** A value with references, parsed. */
export type ParsedTemplate =
  | { readonly kind: "literal"; readonly value: unknown }
  | { readonly kind: "reference"; readonly reference: TemplateReference }
  | { readonly kind: "text"; readonly parts: readonly (string | TemplateReference)[] }
  | { readonly kind: "list"; readonly items: readonly ParsedTemplate[] }
  | { readonly kind: "object"; readonly members: readonly (readonly [string, ParsedTemplate])[] };

/** Thrown for a template with a reference that cannot be parsed. Its message begins with a verb: "has ...". */
export class InvalidTemplate extends Error {
  override readonly name = "InvalidTemplate";
  /** The way from the template to the text with the reference. */
  readonly path: FieldPath;

  constructor(message: string, path: FieldPath, options?: ErrorOptions) {
    super(message, options);
    this.path = path;
  }
}

/**
 * Parses the references of a JSON value: of texts at any depth, not of the names of fields. The depth of the value is
 * bounded where it is parsed, and many references are parsed in turns.
 *
 * @throws InvalidTemplate
 */
export async function parseTemplate(
  value: unknown,
  path: FieldPath = [],
  turns: Turns = new Turns(),
): Promise<ParsedTemplate> {
  if (typeof value === "string") return await parseText(value, path, turns);
  if (Array.isArray(value)) {
    const items: ParsedTemplate[] = [];
    for (const [at, item] of value.entries()) items.push(await parseTemplate(item, [...path, at], turns));
    return items.every(isLiteral) ? { kind: "literal", value } : { kind: "list", items };
  }
  if (!isRecord(value)) return { kind: "literal", value };
  const members: (readonly [string, ParsedTemplate])[] = [];
  for (const [name, member] of Object.entries(value))
    members.push([name, await parseTemplate(member, [...path, name], turns)]);
  return members.every(([, member]) => isLiteral(member)) ? { kind: "literal", value } : { kind: "object", members };
}

function isLiteral(template: ParsedTemplate): boolean {
  return template.kind === "literal";
}

/** The references of a template, in its order. */
export function referencesOf(template: ParsedTemplate): readonly TemplateReference[] {
  switch (template.kind) {
    case "literal":
      return [];
    case "reference":
      return [template.reference];
    case "text":
      return template.parts.filter((part) => typeof part !== "string");
    case "list":
      return template.items.flatMap(referencesOf);
    case "object":
      return template.members.flatMap(([, member]) => referencesOf(member));
  }
}

/**
 * The value of a template: the same for the same scope. A reference to what is not there gives null, in a text nothing.
 *
 * @throws InvalidSelection for a function whose arguments do not fit, and a value that is too deep; StepsSpent beyond the budget, and for a value
 *   that is too large for it
 */
export function fillTemplate(template: ParsedTemplate, scope: object, steps: StepBudget): unknown {
  const value = filled(template, scope, steps);
  if (template.kind !== "literal") takeSize(value, steps, 0);
  return value;
}

/** The deepest value that a template may give. */
const maxDepth = 500;

/**
 * Counts a value: a step for each part of it, and for each 16 characters. A part that is referred to twice is there once in memory, and twice where the
 * value is written: a few steps that double what they get make more than any process can write.
 */
function takeSize(value: unknown, steps: StepBudget, depth: number): void {
  if (typeof value === "string") steps.take(1 + (value.length >> 4));
  else if (typeof value !== "object" || value === null) steps.take(1);
  else {
    if (depth >= maxDepth) throw new InvalidSelection(`gives a value nested deeper than ${maxDepth}`);
    const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    steps.take(1 + members.length);
    for (const member of members) takeSize(member, steps, depth + 1);
  }
}

function filled(template: ParsedTemplate, scope: object, steps: StepBudget): unknown {
  switch (template.kind) {
    case "literal":
      return template.value;
    case "reference":
      return selectJson(template.reference.node, scope, steps);
    case "text":
      return template.parts.map((part) => textOf(part, scope, steps)).join("");
    case "list":
      return template.items.map((item) => filled(item, scope, steps));
    case "object":
      return Object.fromEntries(template.members.map(([name, member]) => [name, filled(member, scope, steps)]));
  }
}

function textOf(part: string | TemplateReference, scope: object, steps: StepBudget): string {
  if (typeof part === "string") return part;
  const value = selectJson(part.node, scope, steps);
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return writeJson(value, steps);
  steps.take(value.length);
  return value;
}

async function parseText(text: string, path: FieldPath, turns: Turns): Promise<ParsedTemplate> {
  if (!text.includes("${")) return { kind: "literal", value: text };
  const parts: (string | TemplateReference)[] = [];
  let plain = "";
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf("${", at);
    if (next < 0) {
      plain += text.slice(at);
      break;
    }
    if (next > at && text[next - 1] === "$") {
      plain += `${text.slice(at, next - 1)}\${`;
      at = next + 2;
      continue;
    }
    plain += text.slice(at, next);
    const end = endOfReference(text, next + 2);
    if (end < 0)
      throw new InvalidTemplate(
        `has a reference that is not closed: ${excerpt(text.slice(next))}. Write } after it`,
        path,
      );
    if (plain !== "") parts.push(plain);
    plain = "";
    if (turns.isOver) await turns.next();
    parts.push(await parseReference(text.slice(next + 2, end), path));
    at = end + 1;
  }
  if (plain !== "") parts.push(plain);
  const [first, ...others] = parts;
  if (first === undefined || (typeof first === "string" && others.length === 0))
    return { kind: "literal", value: first ?? "" };
  return typeof first !== "string" && others.length === 0
    ? { kind: "reference", reference: first }
    : { kind: "text", parts };
}

async function parseReference(expression: string, path: FieldPath): Promise<TemplateReference> {
  try {
    const node = await parseSelection(expression);
    return { expression, node, paths: selectedPaths(node), path };
  } catch (cause) {
    if (!(cause instanceof InvalidSelection) && !(cause instanceof RangeError)) throw cause;
    const message = `has \${${excerpt(expression)}}, which is no expression of JMESPath: ${cause.message.replace(/\.$/, "")}`;
    throw new InvalidTemplate(message, path, { cause });
  }
}

/** The position of the brace that closes a reference; -1 where none does. Braces in quoted parts of the expression do not count. */
function endOfReference(text: string, from: number): number {
  let depth = 0;
  let quote: string | undefined;
  for (let at = from; at < text.length; at++) {
    const character = text[at] ?? "";
    if (quote !== undefined) {
      if (character === "\\") at += 1;
      else if (character === quote) quote = undefined;
    } else if (character === "'" || character === '"' || character === "`") quote = character;
    else if (character === "{") depth += 1;
    else if (character === "}") {
      if (depth === 0) return at;
      depth -= 1;
    }
  }
  return -1;
}

function excerpt(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

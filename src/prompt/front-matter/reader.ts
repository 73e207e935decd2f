import { findSchemaProblem } from "../../core/schema/check.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { stepsOf } from "../../lib/pointer.ts";
import { promptProblem } from "../problem.ts";
import type { FieldPath, FrontMatter } from "./yaml.ts";

const article: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  boolean: "true or false",
  object: "an object",
};

/** What a value is, in the words of a prompt author. */
function wordFor(value: unknown): string {
  return Array.isArray(value) ? "a list" : (article[typeof value] ?? typeof value);
}

/**
 * Reads typed fields of front matter. A field without a value (`model:`) counts as left out.
 *
 * Each method throws a ToolkitError `INVALID_PROMPT` at the place of a value of another type.
 */
export class FieldReader {
  readonly #frontMatter: FrontMatter;
  readonly #known = new Set<string>();

  constructor(frontMatter: FrontMatter) {
    this.#frontMatter = frontMatter;
  }

  /** An error at the place of a field. */
  problem(path: FieldPath, what: string, hint: string): Error {
    return promptProblem(this.#frontMatter.file, this.#frontMatter.placeOf(path), what, hint);
  }

  has(field: string): boolean {
    return this.#value(field) !== undefined;
  }

  text(field: string, example: string): string | undefined {
    const value = this.#value(field);
    if (value === undefined || (typeof value === "string" && value.trim() !== "")) return value;
    const hint =
      typeof value === "number" || typeof value === "boolean"
        ? `Put it in quotes: \`${field}: "${value}"\`.`
        : `Write text, such as \`${field}: ${example}\`, or remove the field.`;
    throw this.problem([field], `${field} must be text and is ${value === "" ? "empty" : wordFor(value)}.`, hint);
  }

  flag(field: string): boolean | undefined {
    const value = this.#value(field);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.problem(
      [field],
      `${field} must be true or false and is ${JSON.stringify(value)}.`,
      `Write \`${field}: true\` or \`${field}: false\`, without quotes.`,
    );
  }

  count(field: string, example: number): number | undefined {
    const value = this.#value(field);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
    throw this.problem(
      [field],
      `${field} must be a whole number above 0 and is ${JSON.stringify(value)}.`,
      `Write digits alone, such as \`${field}: ${example}\`.`,
    );
  }

  texts(field: string, example: string): readonly string[] | undefined {
    const value = this.#value(field);
    if (value === undefined) return undefined;
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const [index, entry] of list.entries()) {
      if (typeof entry === "string" && entry.trim() !== "") continue;
      throw this.problem(
        Array.isArray(value) ? [field, index] : [field],
        `${field} must be a list of names, and this is ${entry === null || entry === "" ? "empty" : wordFor(entry)}.`,
        `Write \`${field}: ${example}\`.`,
      );
    }
    return Object.freeze([...list] as string[]);
  }

  schema(field: string): JsonSchema | undefined {
    const value = this.#value(field);
    if (value === undefined) return undefined;
    const problem = findSchemaProblem(value);
    if (problem === undefined) return value as JsonSchema;
    const path = [field, ...stepsOf(problem.pointer)];
    const where = problem.pointer === "" ? "" : ` at ${problem.pointer}`;
    throw this.problem(
      path,
      `${field} is no JSON Schema${where}: ${problem.message}.`,
      `Describe the value as in \`${field}: { type: object, properties: { text: { type: string } } }\`.`,
    );
  }

  /** The fields nothing asked for. */
  rest(): Readonly<Record<string, unknown>> | undefined {
    const unknown = Object.entries(this.#frontMatter.values).filter(([field]) => !this.#known.has(field));
    return unknown.length === 0 ? undefined : Object.freeze(Object.fromEntries(unknown));
  }

  #value(field: string): unknown {
    this.#known.add(field);
    const { values } = this.#frontMatter;
    return Object.hasOwn(values, field) ? (values[field] ?? undefined) : undefined;
  }
}

import type { ToolkitError } from "../../core/error.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { stepsOf } from "../../lib/pointer.ts";
import { type ProblemKind, promptProblem, type Report, refuse } from "../problem.ts";
import { misspelt } from "./misspelt.ts";
import { findMistakes } from "./schema-mistake.ts";
import { isKnownSound, rememberSound, schemaContent } from "./sound-schemas.ts";
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

const separators = /[\s,;]+/;

/**
 * Reads typed fields of front matter. A field without a value (`model:`) counts as left out.
 *
 * A value of another type is reported at its place, as INVALID_PROMPT, and then counts as left out.
 */
export class FieldReader {
  readonly frontMatter: FrontMatter;
  readonly #report: Report;
  readonly #known = new Set<string>();

  constructor(frontMatter: FrontMatter, report: Report = refuse) {
    this.frontMatter = frontMatter;
    this.#report = report;
  }

  /** Reports a problem at the place of a field. */
  wrong(path: FieldPath, what: string, hint: string, kind: ProblemKind = "field"): undefined {
    return this.refuse(promptProblem(this.frontMatter.file, this.frontMatter.placeOf(path), what, hint), kind);
  }

  /** Reports a problem. */
  refuse(problem: ToolkitError, kind: ProblemKind = "field"): undefined {
    this.#report(problem, kind);
    return undefined;
  }

  /** The fields that were asked for. */
  get known(): ReadonlySet<string> {
    return this.#known;
  }

  has(field: string): boolean {
    return this.value(field) !== undefined;
  }

  text(field: string, example: string): string | undefined {
    const value = this.value(field);
    if (value === undefined || (typeof value === "string" && value.trim() !== "")) return value;
    const hint =
      typeof value === "number" || typeof value === "boolean"
        ? `Put it in quotes: \`${field}: "${value}"\`.`
        : `Write text, such as \`${field}: ${example}\`, or remove the field.`;
    return this.wrong([field], `${field} must be text and is ${value === "" ? "empty" : wordFor(value)}.`, hint);
  }

  flag(field: string): boolean | undefined {
    const value = this.value(field);
    if (value === undefined || typeof value === "boolean") return value;
    return this.wrong(
      [field],
      `${field} must be true or false and is ${JSON.stringify(value)}.`,
      `Write \`${field}: true\` or \`${field}: false\`, without quotes.`,
    );
  }

  count(field: string, example: number): number | undefined {
    const value = this.value(field);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
    return this.wrong(
      [field],
      `${field} must be a whole number above 0 and is ${JSON.stringify(value)}.`,
      `Write digits alone, such as \`${field}: ${example}\`.`,
    );
  }

  texts(field: string, example: string): readonly string[] | undefined {
    const value = this.value(field);
    if (value === undefined) return undefined;
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const [index, entry] of list.entries()) {
      if (typeof entry === "string" && entry.trim() !== "") continue;
      return this.wrong(
        Array.isArray(value) ? [field, index] : [field],
        `${field} must be a list of names, and this is ${entry === null || entry === "" ? "empty" : wordFor(entry)}.`,
        `Write \`${field}: ${example}\`.`,
      );
    }
    const names = list as readonly string[];
    const joined = names.findIndex((entry) => separators.test(entry.trim()));
    if (joined === -1) return Object.freeze([...names]);
    const single = names.flatMap((entry) => entry.trim().split(separators)).filter((name) => name !== "");
    return this.wrong(
      Array.isArray(value) ? [field, joined] : [field],
      `${field} must be a list of names, and ${JSON.stringify(names[joined])} is one text.`,
      `Write \`${field}: [${single.join(", ")}]\`.`,
    );
  }

  schema(field: string): JsonSchema | undefined {
    return this.schemaAt([field], this.value(field));
  }

  /** A schema that stands, or is to be thought, at a place inside a field. */
  schemaAt(path: FieldPath, value: unknown): JsonSchema | undefined {
    if (value === undefined) return undefined;
    const content = schemaContent(value);
    if (content !== undefined && isKnownSound(content)) return value as JsonSchema;
    const field = path.join(".");
    const mistakes = findMistakes(field, value);
    let isSound = true;
    for (let next = mistakes.next(); ; next = mistakes.next()) {
      if (next.done === true) {
        if (isSound && content !== undefined) rememberSound(content);
        return next.value;
      }
      isSound = false;
      const { pointer, what, hint } = next.value;
      this.wrong([...path, ...stepsOf(pointer)], `${field}${what}`, hint, "schema");
    }
  }

  /** The fields nothing asked for. One that is nearly the name of a field is a misspelling, and would change nothing. */
  rest(): Readonly<Record<string, unknown>> | undefined {
    const { file, values } = this.frontMatter;
    const unknown = Object.entries(values).filter(([field]) => !this.#known.has(field));
    for (const [field] of unknown) {
      const meant = misspelt(field, this.#known);
      if (meant === undefined) continue;
      const place = this.frontMatter.placeOfName(field);
      const hint = `A field of your own that is called so can be written \`x-${field}\`.`;
      this.refuse(promptProblem(file, place, `There is no field \`${field}\`: did you mean \`${meant}\`?`, hint));
    }
    return unknown.length === 0 ? undefined : Object.freeze(Object.fromEntries(unknown));
  }

  /** What a field holds, whatever it is; undefined where it is left out. */
  value(field: string): unknown {
    this.#known.add(field);
    const { values } = this.frontMatter;
    return Object.hasOwn(values, field) ? (values[field] ?? undefined) : undefined;
  }
}

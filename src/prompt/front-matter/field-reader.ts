import { basename, extname } from "node:path";
import { ToolkitError } from "../../core/error.ts";
import { assertItemName, isIdentifier } from "../../core/identifier.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { stepsOf } from "../../lib/pointer.ts";
import { didYouMean, nearest } from "../../lib/similar.ts";
import type { FieldPath } from "../../lib/value.ts";
import { isDotprompt } from "../prompt-files.ts";
import {
  describePlace,
  fileStart,
  type ProblemKind,
  promptProblem,
  type ReportProblem,
  throwProblem,
} from "../prompt-problem.ts";
import type { FrontMatter } from "./front-matter.ts";
import { findSchemaMistakes } from "./schema-mistakes.ts";

const typeWords: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  boolean: "true or false",
  object: "an object",
};

/** The type of a value in the words of a prompt author. */
function describeType(value: unknown): string {
  return Array.isArray(value) ? "a list" : (typeWords[typeof value] ?? typeof value);
}

const separators = /[\s,;]+/;

interface FieldReaderOptions {
  readonly report?: ReportProblem | undefined;
  /** The beginning of the name of the prompt, of the folder that its file is in. */
  readonly namePrefix?: string | undefined;
}

/**
 * Reads typed fields of front matter. A field without a value (`model:`) counts as left out.
 *
 * A value of another type is reported at its place, as INVALID_PROMPT, and then counts as left out.
 */
export class FieldReader {
  readonly frontMatter: FrontMatter;
  readonly #report: ReportProblem;
  readonly #namePrefix: string;
  readonly #known = new Set<string>();

  constructor(frontMatter: FrontMatter, { report = throwProblem, namePrefix = "" }: FieldReaderOptions = {}) {
    this.frontMatter = frontMatter;
    this.#report = report;
    this.#namePrefix = namePrefix;
  }

  /** Reports a problem at the place of a field. */
  reject(path: FieldPath, what: string, hint: string, kind: ProblemKind = "field"): undefined {
    const { file, placeOf } = this.frontMatter;
    this.#report(promptProblem(file, placeOf(path), what, hint), kind);
  }

  /** The names of the fields that were read. */
  get known(): ReadonlySet<string> {
    return this.#known;
  }

  /** The value of a field, of any type; undefined for one that is left out. */
  value(field: string): unknown {
    this.#known.add(field);
    const { values } = this.frontMatter;
    return Object.hasOwn(values, field) ? (values[field] ?? undefined) : undefined;
  }

  text(field: string, example: string): string | undefined {
    const value = this.value(field);
    if (value === undefined || (typeof value === "string" && value.trim() !== "")) return value;
    const hint =
      typeof value === "number" || typeof value === "boolean"
        ? `Put it in quotes: \`${field}: "${value}"\`.`
        : `Write text, such as \`${field}: ${example}\`, or remove the field.`;
    return this.reject([field], `${field} must be text and is ${value === "" ? "empty" : describeType(value)}.`, hint);
  }

  flag(field: string): boolean | undefined {
    const value = this.value(field);
    if (value === undefined || typeof value === "boolean") return value;
    return this.reject(
      [field],
      `${field} must be true or false and is ${JSON.stringify(value)}.`,
      `Write \`${field}: true\` or \`${field}: false\`, without quotes.`,
    );
  }

  count(field: string, example: number): number | undefined {
    const value = this.value(field);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
    return this.reject(
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
      return this.reject(
        Array.isArray(value) ? [field, index] : [field],
        `${field} must be a list of names, and this is ${entry === null || entry === "" ? "empty" : describeType(entry)}.`,
        `Write \`${field}: ${example}\`.`,
      );
    }
    const names = list as readonly string[];
    const joined = names.findIndex((entry) => separators.test(entry.trim()));
    if (joined === -1) return Object.freeze([...names]);
    const single = names.flatMap((entry) => entry.trim().split(separators)).filter((name) => name !== "");
    return this.reject(
      Array.isArray(value) ? [field, joined] : [field],
      `${field} must be a list of names, and ${JSON.stringify(names[joined])} is one text.`,
      `Write \`${field}: [${single.join(", ")}]\`.`,
    );
  }

  schema(field: string): JsonSchema | undefined {
    return this.schemaAt([field], this.value(field));
  }

  /** A schema of a field, or of a place inside it. */
  schemaAt(path: FieldPath, value: unknown): JsonSchema | undefined {
    if (value === undefined) return undefined;
    const field = path.join(".");
    return findSchemaMistakes(field, value, ({ pointer, what, hint }) => {
      this.reject([...path, ...stepsOf(pointer)], `${field}${what}`, hint, "schema");
    });
  }

  /** The name of the prompt: its field, or else the name of the file. Empty for one that is missing or cannot be used. */
  name(): string {
    const { file, placeOf } = this.frontMatter;
    const given = this.text("name", "summarize");
    const place = describePlace(file, given === undefined ? fileStart : placeOf(["name"]));
    const own = given ?? (file === undefined ? undefined : nameOfFile(file));
    if (own === undefined) {
      const message = `${place}: The prompt has no name. Write \`name: summarize\`.`;
      this.#report(new ToolkitError("INVALID_NAME", message, { name: "", allowed: "an identifier" }), "name");
      return "";
    }
    const name = this.#namePrefix + own;
    try {
      assertItemName(name, "prompt");
      return name;
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
      const isFileName = given === undefined && !isIdentifier(name);
      const isFolderName = isIdentifier(own);
      const hint = isFolderName
        ? " Rename its folder: the name of a prompt begins with it."
        : isFileName
          ? " Rename the file, or write `name: ...` in its front matter."
          : "";
      const message = `${place}: ${error.message}${hint}`;
      this.#report(new ToolkitError(error.code, message, error.details, { cause: error }), "name");
      return "";
    }
  }

  /** The fields that were not read. One that is nearly the name of a known field is reported: it would have no effect. */
  rest(): Readonly<Record<string, unknown>> | undefined {
    const { file, values, placeOfName } = this.frontMatter;
    const unknown = Object.entries(values).filter(([field]) => !this.#known.has(field));
    for (const [field] of unknown) {
      const meant = findMisspelled(field, this.#known);
      if (meant === undefined) continue;
      const what = `There is no field \`${field}\`.`;
      const hint = `${didYouMean([meant])} A field of your own that is called so can be written \`x-${field}\`.`;
      this.#report(promptProblem(file, placeOfName(field), what, hint), "field");
    }
    return unknown.length === 0 ? undefined : Object.freeze(Object.fromEntries(unknown));
  }
}

/** `greet.formal.prompt`, the variant "formal" of "greet" in dotprompt, is `greet_formal`: a name has no dots. */
function nameOfFile(file: string): string {
  const name = basename(file, extname(file));
  return isDotprompt(file) ? name.replaceAll(".", "_") : name;
}

/** Shorter words are the beginning of too many names. */
const minBeginning = 4;

/**
 * The known word that an unknown one is meant to be: spelled in another case (`systemPrompt`), cut short (`system`), or misspelled
 * (`modle`). Undefined for a word that is like none of them.
 */
export function findMisspelled(word: string, known: Iterable<string>): string | undefined {
  const words = [...known];
  const wanted = bare(word);
  const same = words.find((other) => bare(other) === wanted);
  if (same !== undefined) return same;
  // A word that is only part of a longer name, as `prompt` is of `system_prompt`, is not misspelled.
  const near = nearest(word, words, words.length).find(
    (other) => Math.abs(other.length - word.length) <= Math.max(1, Math.floor(word.length / 3)),
  );
  return near ?? (wanted.length < minBeginning ? undefined : words.find((other) => bare(other).startsWith(wanted)));
}

function bare(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, "");
}

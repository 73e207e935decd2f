import type { Document, Node, Pair, Scalar, YAMLParseError } from "yaml";
import { messageOf } from "../../core/error.ts";
import { loadYaml } from "../libraries.ts";
import { type Place, placeOf, promptProblem } from "../problem.ts";
import type { TemplateSource } from "../template/source.ts";
import { hasOddBlank, oddBlankAt, oddBlankHint } from "./odd-blank.ts";
import { readPlainYaml } from "./plain-yaml.ts";
import type { SplitFile } from "./split.ts";

/** A way into the front matter: names of fields and indices of lists. */
export type FieldPath = readonly (string | number)[];

/** Front matter as values, with the way back to where each was written. */
export interface FrontMatter {
  readonly file: string | undefined;
  readonly values: Readonly<Record<string, unknown>>;
  /** Where the value is written; for a list or an object, and for what is empty, where its name is. */
  placeOf(path: FieldPath): Place;
  /** Where the name of a field is written. */
  placeOfName(field: string): Place;
  /** The text of a field as a template. What is in it is placed where the field starts when its own place cannot be told. */
  source(field: string, text: string): TemplateSource;
}

// Enough for a schema that repeats itself; an expansion of so few cannot grow beyond what is read in milliseconds.
const maxAliases = 30;

const options = {
  prettyErrors: false,
  stringKeys: true,
  merge: true,
  // Values that are JSON and nothing else: no dates, sets or bytes, and a custom tag is an error.
  schema: "core",
  resolveKnownTags: false,
  version: "1.2",
} as const;

const hints: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY: 'Put a value that contains a colon in quotes, such as `title: "Review: the rules"`.',
  MULTILINE_IMPLICIT_KEY: "Write each field as `name: value`, with a blank after the colon.",
  TAB_AS_INDENT: "Indent with blanks instead of tabs.",
  DUPLICATE_KEY: "Keep one of the two.",
  BAD_INDENT: "Start what belongs to the same level in the same column, and close every bracket.",
  BAD_SCALAR_START: "Put the value in quotes.",
  MISSING_CHAR: "Close the quote or bracket, and write a blank after each colon.",
  NON_STRING_KEY: "Put a value that contains braces in quotes.",
  MULTIPLE_DOCS: "Remove the line `...`.",
};
const generalHint = "Write one `name: value` a line, and put a value with special characters in quotes.";

/** Reads the YAML of a prompt file. @throws ToolkitError `INVALID_PROMPT` */
export function readFrontMatter(split: SplitFile, file: string | undefined): FrontMatter {
  const start = split.yamlStart;
  const at = (offset: number) => placeOf(split.text, start + Math.min(offset, Math.max(0, split.yaml.length - 1)));
  const fail = (offset: number, what: string, hint: string, cause?: unknown) =>
    promptProblem(file, at(offset), what, hint, cause);
  // Composed when it is first needed: for what is not written plainly, and to say where something stands.
  let composed: Document.Parsed | undefined;
  const document = () => {
    composed ??= compose(split.yaml, fail);
    return composed;
  };
  return {
    file,
    values: readPlainYaml(split.yaml) ?? readValues(split.yaml, document(), fail),
    placeOf: (path) => at(offsetOf(document(), path)),
    placeOfName: (field) => at(follow(document(), [field]).key?.range?.[0] ?? 0),
    source: (field, text) => ({
      text,
      file,
      placeAt: (line, column) =>
        placeInScalar(document(), field, split.text, start, text, line, column) ?? at(offsetOf(document(), [field])),
    }),
  };
}

function readValues(yaml: string, document: Document.Parsed, fail: Fail): Readonly<Record<string, unknown>> {
  if (/[*&]|\.(?:inf|nan)/i.test(yaml) || hasOddBlank(yaml)) checkNodes(document, yaml, fail);
  return toValues(document, fail);
}

type Fail = (offset: number, what: string, hint: string, cause?: unknown) => Error;

function compose(yaml: string, fail: Fail): Document.Parsed {
  let document: Document.Parsed;
  try {
    document = loadYaml().parseDocument(yaml, options);
  } catch (cause) {
    throw fail(0, `The front matter cannot be read: ${messageOf(cause)}.`, "Nest its values less deeply.", cause);
  }
  const [error] = document.errors;
  if (error !== undefined) {
    const blank = oddBlankAt(yaml, error.pos[0]);
    if (blank !== undefined) throw fail(blank.offset, blank.what, oddBlankHint, error);
    const { offset, what } = describeError(error, yaml);
    throw fail(offset, `The front matter is no YAML: ${what}.`, hints[error.code] ?? generalHint, error);
  }
  const [warning] = document.warnings;
  if (warning !== undefined) {
    const tag = yaml.slice(...warning.pos).split(/\s/, 1)[0];
    const what =
      warning.code === "TAG_RESOLVE_FAILED"
        ? `The tag ${tag} is not known: front matter is plain YAML and no code runs from a prompt file.`
        : `The front matter is no YAML: ${warning.message}.`;
    throw fail(warning.pos[0], what, "Remove it, and put a value that starts with ! in quotes.", warning);
  }
  return document;
}

/** In the words of a prompt author, where the library speaks to its own user. */
function describeError({ code, message, pos }: YAMLParseError, yaml: string): { offset: number; what: string } {
  if (code === "NON_STRING_KEY") return { offset: pos[0], what: "a name of a field is no text" };
  const end = code === "MULTIPLE_DOCS" ? yaml.search(/^\.\.\./m) : -1;
  return end === -1 ? { offset: pos[0], what: message } : { offset: end, what: "something comes after its end" };
}

function checkNodes(document: Document.Parsed, yaml: string, fail: Fail): void {
  let aliases = 0;
  loadYaml().visit(document, {
    // Else what is indented so would be fields of its own, which nobody reads.
    Pair(_key, { key }) {
      const start = (key as Node | null)?.range?.[0] ?? 0;
      const blank = oddBlankAt(yaml, start);
      if (blank?.offset === start) throw fail(start, blank.what, oddBlankHint);
    },
    Alias(_key, alias) {
      const offset = alias.range?.[0] ?? 0;
      const target = alias.resolve(document);
      if (target === undefined) {
        throw fail(
          offset,
          `The alias *${alias.source} stands for nothing.`,
          `Write &${alias.source} before the value it repeats.`,
        );
      }
      const [from, , to] = target.range ?? [0, 0, 0];
      if (from <= offset && offset < to) {
        throw fail(offset, `The alias *${alias.source} stands inside what it repeats.`, "Write the value out.");
      }
      aliases += 1;
      if (aliases > maxAliases) {
        throw fail(offset, `The front matter has more than ${maxAliases} aliases.`, "Write the values out.");
      }
    },
    Scalar(_key, scalar) {
      if (typeof scalar.value !== "number" || Number.isFinite(scalar.value)) return;
      throw fail(
        scalar.range?.[0] ?? 0,
        `${scalar.source} is no number JSON can hold.`,
        "Write a finite number, or put it in quotes.",
      );
    },
  });
}

function toValues(document: Document.Parsed, fail: Fail): Readonly<Record<string, unknown>> {
  if (document.contents === null) return {};
  if (!loadYaml().isMap(document.contents)) {
    throw fail(document.contents.range[0], "The front matter has no fields.", generalHint);
  }
  try {
    return document.toJS({ maxAliasCount: maxAliases }) as Record<string, unknown>;
  } catch (cause) {
    const text = messageOf(cause).replace(/\.$/, "");
    throw fail(
      0,
      `The front matter cannot be read: ${text}.`,
      "Write out what aliases (*) and merges (<<) stand for.",
      cause,
    );
  }
}

/** The pair and the value a path leads to, as far as it leads. */
function follow(document: Document.Parsed, path: FieldPath): { key: Node | undefined; value: unknown } {
  const { isAlias, isMap, isSeq, isScalar } = loadYaml();
  let key: Node | undefined;
  let value: unknown = document.contents;
  for (const step of path) {
    const holder = isAlias(value) ? value.resolve(document) : value;
    if (isMap(holder)) {
      const pair = holder.items.find((item: Pair) => isScalar(item.key) && String(item.key.value) === String(step));
      // What came through a merge is not written here.
      if (pair === undefined) break;
      key = pair.key as Node;
      value = pair.value;
    } else if (isSeq(holder)) {
      value = holder.items[Number(step)];
      key = value as Node;
    } else break;
  }
  return { key, value };
}

function offsetOf(document: Document.Parsed, path: FieldPath): number {
  const { key, value } = follow(document, path);
  const { isScalar } = loadYaml();
  const [from, to] = (isScalar(value) && value.range) || [0, 0];
  return to > from ? from : (key?.range?.[0] ?? 0);
}

function placeInScalar(
  document: Document.Parsed,
  field: string,
  file: string,
  start: number,
  text: string,
  line: number,
  column: number,
): Place | undefined {
  const { value } = follow(document, [field]);
  if (!loadYaml().isScalar(value) || !value.range) return undefined;
  const scalar = value as Scalar;
  const first = placeOf(file, start + value.range[0]);
  const wanted = text.split("\n")[line - 1] ?? "";
  const fileLines = file.split("\n");
  // A block literal keeps its lines; a value of one line is where it is written; others are folded and cannot be told.
  if (scalar.type === "BLOCK_LITERAL") {
    const source = fileLines[first.line + line - 1] ?? "";
    if (!source.endsWith(wanted)) return undefined;
    return { line: first.line + line, column: source.length - wanted.length + column };
  }
  const source = fileLines[first.line - 1] ?? "";
  const index = line === 1 ? source.indexOf(wanted, first.column - 1) : -1;
  return index === -1 ? undefined : { line: first.line, column: index + column };
}

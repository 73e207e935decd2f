import type { CST, Document, Node, Pair, YAMLMap, YAMLParseError } from "yaml";
import { messageOf } from "../../core/error.ts";
import { loadYaml } from "../../lib/lazy-libraries.ts";
import type { FieldPath } from "../../lib/value.ts";

/** Makes the error of a mistake at an offset of the YAML. */
export type YamlProblem = (offset: number, what: string, hint: string, cause?: unknown) => Error;

/** A parsed YAML document with the positions of its nodes. */
export type YamlDocument = Document.Parsed;

/** The most maps and lists inside each other. Beyond it the library takes memory that grows with the square of the text. */
const maxDepth = 250;

// Enough for a schema that repeats itself, and few enough that their expansion is read in milliseconds.
const maxAliases = 30;

const options = {
  prettyErrors: false,
  stringKeys: true,
  // Checked here: the library compares each key with all before it.
  uniqueKeys: false,
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
  BAD_INDENT: "Start what belongs to the same level in the same column, and close every bracket.",
  BAD_SCALAR_START: "Put the value in quotes.",
  MISSING_CHAR: "Close the quote or bracket, and write a blank after each colon.",
  NON_STRING_KEY: "Put a value that contains braces in quotes.",
  MULTIPLE_DOCS: "Remove the line `...`.",
};
const frontMatter = "The front matter";
const generalHint = "Write one `name: value` a line, and put a value with special characters in quotes.";

/**
 * Parses YAML.
 *
 * @param subject - the text, as messages call it
 * @throws Error of `problem`
 */
export function parseYamlDocument(yaml: string, problem: YamlProblem, subject = frontMatter): YamlDocument {
  let document: YamlDocument;
  // The library makes an Error of each mistake, of which there may be one in each character; most of their time goes into the stack.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    document = composed(yaml);
  } catch (cause) {
    throw problem(0, `${subject} cannot be read: ${messageOf(cause)}.`, "Nest its values less deeply.", cause);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  const [error] = document.errors;
  const duplicate = findDuplicateKey(document);
  if (duplicate !== undefined && duplicate < (error?.pos[0] ?? Number.POSITIVE_INFINITY)) {
    throw problem(duplicate, `${subject} is no YAML: Map keys must be unique.`, "Keep one of the two.");
  }
  if (error !== undefined) {
    const blank = findOddBlank(yaml, error.pos[0]);
    if (blank !== undefined) throw problem(blank, describeBlank(yaml, blank), oddBlankHint, error);
    const { offset, what } = describeError(error, yaml);
    throw problem(offset, `${subject} is no YAML: ${what}.`, hints[error.code] ?? generalHint, error);
  }
  const [warning] = document.warnings;
  if (warning !== undefined) {
    const tag = yaml.slice(...warning.pos).split(/\s/, 1)[0];
    const what =
      warning.code === "TAG_RESOLVE_FAILED"
        ? `The tag ${tag} is not known: ${subject.toLowerCase()} is plain YAML, and no code runs from it.`
        : `${subject} is no YAML: ${warning.message}.`;
    throw problem(warning.pos[0], what, "Remove it, and put a value that starts with ! in quotes.", warning);
  }
  return document;
}

/** The first document of a text. A second one is an error of the first, as in `parseDocument` of the library. */
function composed(yaml: string): YamlDocument {
  const { Composer, YAMLParseError: ParseError } = loadYaml();
  const documents = new Composer(options).compose(tokensOf(yaml), true, yaml.length);
  const [document, second] = documents;
  if (document === undefined) throw new Error("it holds nothing");
  const [from, to] = second?.range ?? [0, 0];
  if (second !== undefined) document.errors.push(new ParseError([from, to], "MULTIPLE_DOCS", "has several documents"));
  return document as YamlDocument;
}

function* tokensOf(yaml: string): Generator<CST.Token> {
  const { Lexer, Parser } = loadYaml();
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(yaml)) {
    if (parser.stack.length > maxDepth) throw new Error(`it is nested deeper than ${maxDepth} levels`);
    yield* parser.next(lexeme);
  }
  yield* parser.end();
}

/** The offset of the first key that its map already has. */
function findDuplicateKey(document: YamlDocument): number | undefined {
  const { isScalar, visit } = loadYaml();
  let first: number | undefined;
  visit(document, {
    Map(_key, { items }) {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const offset = key.range?.[0] ?? 0;
        if (keys.has(key.value) && offset < (first ?? Number.POSITIVE_INFINITY)) first = offset;
        keys.add(key.value);
      }
    },
  });
  return first;
}

/** The message of a parse error, with those of the library replaced that speak to its own user. */
function describeError({ code, message, pos }: YAMLParseError, yaml: string): { offset: number; what: string } {
  if (code === "NON_STRING_KEY") return { offset: pos[0], what: "a name of a field is no text" };
  const end = code === "MULTIPLE_DOCS" ? yaml.search(/^\.\.\./m) : -1;
  return end === -1 ? { offset: pos[0], what: message } : { offset: end, what: "something comes after its end" };
}

/** The fields of a document. @throws Error of `problem` for values that JSON cannot hold, and for aliases that expand too far */
export function fieldsOf(
  document: YamlDocument,
  yaml: string,
  problem: YamlProblem,
  subject = frontMatter,
): Readonly<Record<string, unknown>> {
  if (/[*&]|\.(?:inf|nan)/i.test(yaml) || oddBlank.test(yaml)) checkNodes(document, yaml, problem, subject);
  if (document.contents === null) return {};
  if (!loadYaml().isMap(document.contents)) {
    throw problem(document.contents.range[0], `${subject} has no fields.`, generalHint);
  }
  try {
    return document.toJS({ maxAliasCount: maxAliases }) as Record<string, unknown>;
  } catch (cause) {
    const what = `${subject} cannot be read: ${messageOf(cause).replace(/\.$/, "")}.`;
    throw problem(0, what, "Write out what aliases (*) and merges (<<) stand for.", cause);
  }
}

function checkNodes(document: YamlDocument, yaml: string, problem: YamlProblem, subject: string): void {
  let aliases = 0;
  loadYaml().visit(document, {
    // A field behind an odd blank would become an unknown field, whose name begins with the blank.
    Pair(_key, { key }) {
      const start = (key as Node | null)?.range?.[0] ?? 0;
      misplacedBlank.lastIndex = start;
      if (misplacedBlank.test(yaml)) throw problem(start, describeBlank(yaml, start), oddBlankHint);
    },
    Alias(_key, alias) {
      const offset = alias.range?.[0] ?? 0;
      const target = alias.resolve(document);
      if (target === undefined) {
        const hint = `Write &${alias.source} before the value it repeats.`;
        throw problem(offset, `The alias *${alias.source} stands for nothing.`, hint);
      }
      const [from, , to] = target.range ?? [0, 0, 0];
      if (from <= offset && offset < to) {
        throw problem(offset, `The alias *${alias.source} stands inside what it repeats.`, "Write the value out.");
      }
      aliases += 1;
      if (aliases > maxAliases) {
        throw problem(offset, `${subject} has more than ${maxAliases} aliases.`, "Write the values out.");
      }
    },
    Scalar(_key, scalar) {
      if (typeof scalar.value !== "number" || Number.isFinite(scalar.value)) return;
      const hint = "Write a finite number, or put it in quotes.";
      throw problem(scalar.range?.[0] ?? 0, `${scalar.source} is no number JSON can hold.`, hint);
    },
  });
}

/** Characters that look like a blank and are none to YAML: web pages and word processors use them. */
const oddBlank = /[\u00a0\u2000-\u200b\u202f\u205f\u3000]/;
/** One where YAML needs a blank: before the first word of a line, and after a colon. Inside a text it does no harm. */
const misplacedBlank = new RegExp(`(?<=^ *|:)${oddBlank.source}`, "my");

const oddBlankHint = "Type it anew: it was copied from a web page or a word processor.";

/** The offset of the first misplaced odd blank in the line of an offset. */
function findOddBlank(yaml: string, offset: number): number | undefined {
  const start = yaml.lastIndexOf("\n", offset - 1) + 1;
  const [line = ""] = yaml.slice(start).split("\n", 1);
  const column = line.search(new RegExp(misplacedBlank, "m"));
  return column === -1 ? undefined : start + column;
}

function describeBlank(yaml: string, offset: number): string {
  const code = yaml.charCodeAt(offset).toString(16).toUpperCase().padStart(4, "0");
  return `This blank is none to YAML: it is the character U+${code}.`;
}

/** The last key and value on a path, as far as it leads. */
export function follow(document: YamlDocument, path: FieldPath): { key: Node | undefined; value: unknown } {
  const { isAlias, isMap, isSeq } = loadYaml();
  let key: Node | undefined;
  let value: unknown = document.contents;
  for (const step of path) {
    const holder = isAlias(value) ? value.resolve(document) : value;
    if (isMap(holder)) {
      const pair = pairsOf(holder).get(String(step));
      // A field that comes from a merge is not written here.
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

const pairs = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();

/** The pairs of a map by their keys, the first of each; found once, since lint asks for the place of each field. */
function pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
  let found = pairs.get(map);
  if (found === undefined) {
    const { isScalar } = loadYaml();
    const keyed = map.items.flatMap((pair: Pair) =>
      isScalar(pair.key) ? [[String(pair.key.value), pair] as const] : [],
    );
    // Backwards: of two pairs with one key the first counts.
    found = new Map(keyed.reverse());
    pairs.set(map, found);
  }
  return found;
}

/** The offset of a value; of its name where the value is a list, an object or empty, or of the nearest part around it where there is none. */
export function offsetOf(document: YamlDocument, path: FieldPath): number {
  const { key, value } = follow(document, path);
  const { isScalar } = loadYaml();
  const [from, to] = (isScalar(value) && value.range) || [0, 0];
  return to > from ? from : (key?.range?.[0] ?? 0);
}

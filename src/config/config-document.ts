import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { type ErrorCode, isMap, isPair, isSeq, LineCounter, type Pair, parseDocument } from "yaml";
import { messageOf } from "../core/error.ts";
import type { FieldPath } from "../lib/value.ts";

/** A position in a file. Both begin at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A mistake of a file that cannot be parsed. */
export interface SyntaxMistake extends Position {
  readonly message: string;
}

/** The value of a file, with the positions of its parts. */
export interface ConfigDocument {
  readonly value: unknown;
  /** The position of a field's name, or of an entry of a list; of the nearest part around it where there is none. */
  positionOf(path: FieldPath): Position;
}

/** Parses JSON with comments and trailing commas, by the name of the file, or YAML. A mistake is returned in place of the document. */
export function parseConfig(file: string, text: string): ConfigDocument | SyntaxMistake {
  return /\.jsonc?$/i.test(file) ? parseJsonConfig(text) : parseYamlConfig(text);
}

function parseYamlConfig(text: string): ConfigDocument | SyntaxMistake {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, schema: "core", merge: true });
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const [error] = document.errors;
  if (error !== undefined) return { message: yamlMistakes[error.code] ?? error.message, ...at(error.pos[0]) };
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch (cause) {
    return { message: messageOf(cause), line: 1, column: 1 };
  }
  return {
    value,
    positionOf: (path) => at(offsetInYaml(document.contents, path)),
  };
}

/** The problem and its remedy, by the code of the parser. A mistake is often found on the line after it. */
const yamlMistakes: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_DQ_ESCAPE:
    "this escape means nothing in a text with double quotes; write \\\\ for a backslash, or use single quotes",
  BAD_INDENT:
    "it is not indented as the lines around it, or a bracket before it is not closed; let the fields of one object begin in one column",
  BAD_SCALAR_START: "a text cannot begin with this character; put it in quotes",
  BLOCK_AS_IMPLICIT_KEY: "a second colon follows on one line; put a text that has a colon and a blank in quotes",
  DUPLICATE_KEY: "there is a field of this name already; remove one, or rename it",
  MISSING_CHAR: "a quote, a colon or a comma is missing; close what was opened before",
  MULTILINE_IMPLICIT_KEY: "a colon and a blank are missing after the name of a field; write name: value",
  MULTIPLE_DOCS: "a second document begins here; remove the line ---",
  TAB_AS_INDENT: "a tab indents this line; use blanks",
  UNEXPECTED_TOKEN:
    "this does not belong here; look for a quote or bracket too many, or a line that is indented too little",
};

/** The offset of the name of the last field of a path, or of the last one there is. */
function offsetInYaml(root: unknown, path: FieldPath): number {
  let node = root;
  let offset = 0;
  for (const step of path) {
    const found: unknown = isSeq(node)
      ? node.items[Number(step)]
      : isMap(node)
        ? node.items.find((pair: Pair) => String(pair.key) === String(step))
        : undefined;
    const start = rangeOf(isPair(found) ? found.key : found);
    if (start === undefined) break;
    offset = start;
    node = isPair(found) ? found.value : found;
  }
  return offset;
}

function rangeOf(node: unknown): number | undefined {
  const range = typeof node === "object" && node !== null && "range" in node ? node.range : undefined;
  return Array.isArray(range) && typeof range[0] === "number" ? range[0] : undefined;
}

function parseJsonConfig(text: string): ConfigDocument | SyntaxMistake {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) return { message: jsonMistake(error), ...positionIn(text, error.offset) };
  return {
    value: root === undefined ? {} : getNodeValue(root),
    positionOf: (path) => positionIn(text, offsetInJson(root, path)),
  };
}

function offsetInJson(root: Node | undefined, path: FieldPath): number {
  for (let length = path.length; root !== undefined && length > 0; length--) {
    const node = findNodeAtLocation(root, path.slice(0, length));
    if (node !== undefined) return node.parent?.type === "property" ? node.parent.offset : node.offset;
  }
  return root?.offset ?? 0;
}

/** `PropertyNameExpected` as a sentence. */
function jsonMistake({ error }: ParseError): string {
  const words = printParseErrorCode(error)
    .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toLowerCase();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function positionIn(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: offset - start + 1 };
}

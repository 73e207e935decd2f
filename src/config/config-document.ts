import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { isMap, isPair, isSeq, LineCounter, type Pair, parseDocument } from "yaml";
import { messageOf } from "../core/error.ts";

/** The way to a value: names of fields and positions in lists. */
export type ConfigPath = readonly (string | number)[];

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
  positionOf(path: ConfigPath): Position;
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
  if (error !== undefined) return { message: error.message, ...at(error.pos[0]) };
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

/** The offset of the name of the last field of a path, or of the last one there is. */
function offsetInYaml(root: unknown, path: ConfigPath): number {
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

function offsetInJson(root: Node | undefined, path: ConfigPath): number {
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

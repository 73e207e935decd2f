import { childrenOf } from "../../core/schema/children.ts";
import { isRecord } from "../../lib/value.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A parameter of a tool that is sent as a header too. */
export interface MirroredParameter {
  readonly header: string;
  readonly path: readonly string[];
}

const keyword = "x-mcp-header";
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const primitives: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);

/**
 * The parameters of tools that go into headers, so that what is between client and server can route by them.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
 */
export class ParameterHeaders {
  readonly #byTool = new Map<string, readonly MirroredParameter[]>();

  /** Takes note of a tool as its server lists it. Gives the reason why it cannot be used, if any. */
  learn(entry: Fields): string | undefined {
    const { name, inputSchema } = entry;
    if (typeof name !== "string") return undefined;
    const found: MirroredParameter[] = [];
    const fault = faultIn(inputSchema, found);
    if (fault !== undefined || found.length === 0) this.#byTool.delete(name);
    else this.#byTool.set(name, found);
    return fault;
  }

  /** The headers of a call. */
  headersOf(name: string, input: unknown): Readonly<Record<string, string>> {
    const parameters = this.#byTool.get(name);
    if (parameters === undefined) return none;
    const headers: Record<string, string> = {};
    for (const { header, path } of parameters) {
      const text = mirroredText(input, path);
      if (text !== undefined) headers[header] = headerValue(text);
    }
    return headers;
  }
}

/** The parameters of a tool that come in headers too; none where the marks of its schema are not valid. */
export function mirroredParameters(inputSchema: unknown): readonly MirroredParameter[] {
  const found: MirroredParameter[] = [];
  return faultIn(inputSchema, found) === undefined ? found : [];
}

/** The value of a parameter as its header has it, before it is encoded; undefined where there is none. */
export function mirroredText(input: unknown, path: readonly string[]): string | undefined {
  const value = valueAt(input, path);
  if (typeof value === "string") return value;
  return typeof value === "boolean" || Number.isSafeInteger(value) ? String(value) : undefined;
}

const none: Readonly<Record<string, string>> = {};

/** A text as the value of a header: as it is where that is safe, else in Base64, marked as such. */
export function headerValue(text: string): string {
  const isPlain = /^(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$/.test(text);
  if (isPlain && !/^=\?base64\?.*\?=$/.test(text)) return text;
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** The text of such a value; undefined for what is not encoded as it must be. */
export function textOfHeader(value: string): string | undefined {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value) ?? [];
  if (encoded === undefined) return /^[\x20-\x7e\t]*$/.test(value) ? value : undefined;
  const bytes = Buffer.from(encoded, "base64");
  return bytes.toString("base64") === encoded ? bytes.toString("utf8") : undefined;
}

/** Finds the mirrored parameters of a schema. Each stands at the end of a chain of `properties`; anywhere else the schema is not valid. */
function faultIn(schema: unknown, found: MirroredParameter[]): string | undefined {
  if (!isRecord(schema)) return undefined;
  const names = new Set<string>();
  const visit = (at: Fields, path: readonly string[] | undefined): string | undefined => {
    const fault = Object.hasOwn(at, keyword) ? parameterFault(at, path, names) : undefined;
    if (fault !== undefined) return fault;
    if (Object.hasOwn(at, keyword) && path !== undefined)
      found.push({ header: `mcp-param-${String(at[keyword]).toLowerCase()}`, path });
    const { properties } = at;
    const own = new Set<unknown>();
    for (const [name, child] of isRecord(properties) ? Object.entries(properties) : []) {
      own.add(child);
      const below = isRecord(child) ? visit(child, path && [...path, name]) : undefined;
      if (below !== undefined) return below;
    }
    for (const child of childrenOf(at)) {
      const below = isRecord(child) && !own.has(child) ? visit(child, undefined) : undefined;
      if (below !== undefined) return below;
    }
    return undefined;
  };
  return visit(schema, []);
}

function parameterFault(schema: Fields, path: readonly string[] | undefined, names: Set<string>): string | undefined {
  const name = schema[keyword];
  if (typeof name !== "string" || !token.test(name)) return `a parameter has an ${keyword} that is no name of a header`;
  if (path === undefined || path.length === 0) return `the ${keyword} ${name} stands at no property of its own`;
  if (!primitives.has(schema.type))
    return `the ${keyword} ${name} is at a parameter that is no text, integer or boolean`;
  if (names.has(name.toLowerCase())) return `two of its parameters have the ${keyword} ${name}`;
  names.add(name.toLowerCase());
  return undefined;
}

function valueAt(input: unknown, path: readonly string[]): unknown {
  let at = input;
  for (const name of path) at = isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return at;
}

import { isRecord } from "../../lib/value.ts";
import {
  type MirroredParameter,
  mirroredParameters,
  mirroredText,
  textOfHeader,
} from "../../mcp/modern/parameter-headers.ts";
import { metaKeys, modernCodes } from "../../mcp/modern/revision.ts";
import { RpcError } from "../../mcp/rpc/rpc-error.ts";

type Fields = Readonly<Record<string, unknown>>;
type HeaderOf = (name: string) => string | undefined;

/** The parameter that stands in `Mcp-Name`, by method. */
const nameFields: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

/**
 * Compares the headers of a request with its body: what is between client and server goes by the headers, and must see what is served.
 *
 * @throws RpcError
 */
export function assertStandardHeaders(headerOf: HeaderOf, method: string, params: Fields): void {
  const meta = isRecord(params._meta) ? params._meta : {};
  assertSame("MCP-Protocol-Version", headerOf("mcp-protocol-version"), meta[metaKeys.protocolVersion]);
  assertSame("Mcp-Method", headerOf("mcp-method"), method);
  const field = Object.hasOwn(nameFields, method) ? nameFields[method] : undefined;
  const name = field === undefined ? undefined : params[field];
  if (typeof name === "string") assertSame("Mcp-Name", decoded("Mcp-Name", headerOf("mcp-name")), name);
}

const parametersBySchema = new WeakMap<object, readonly MirroredParameter[]>();

/** The same for the parameters that the schema of a tool marks with `x-mcp-header`. @throws RpcError */
export function assertParameterHeaders(headerOf: HeaderOf, inputSchema: object | undefined, input: unknown): void {
  if (inputSchema === undefined) return;
  const known = parametersBySchema.get(inputSchema);
  const parameters = known ?? mirroredParameters(inputSchema);
  if (known === undefined) parametersBySchema.set(inputSchema, parameters);
  for (const { header, path } of parameters) {
    const wanted = mirroredText(input, path);
    const given = decoded(header, headerOf(header));
    const isSameNumber = wanted !== undefined && given !== undefined && isNumber(wanted) && isNumber(given);
    if (!isSameNumber || Number(wanted) !== Number(given)) assertSame(header, given, wanted);
  }
}

function isNumber(text: string): boolean {
  return /^-?\d+(?:\.\d+)?$/.test(text);
}

function decoded(name: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const text = textOfHeader(value);
  if (text === undefined) throw mismatch(`the value of ${name} is not encoded as it must be`);
  return text;
}

function assertSame(name: string, given: string | undefined, wanted: unknown): void {
  if (given === wanted) return;
  if (given === undefined) throw mismatch(`the header ${name} is missing`);
  throw mismatch(`${name} does not match the body`);
}

function mismatch(what: string): RpcError {
  return new RpcError({ code: modernCodes.headerMismatch, message: `Header mismatch: ${what}.` });
}

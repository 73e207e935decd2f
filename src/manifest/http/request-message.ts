import { clientHeaders } from "../../lib/fetch/client-exchange.ts";
import { isRecord } from "../../lib/value.ts";
import { essenceOf, isJsonType } from "../../resource/media-type.ts";
import { argumentOf, type Encode, filled, isMissing, pairsOf, plainText, soleSlot, unfit } from "./argument-text.ts";
import type { HttpBody, HttpOperation } from "./http-operation.ts";
import { encodePart } from "./request-url.ts";

type Headers = Readonly<Record<string, string>>;

/** Headers that belong to the connection, or that the client writes. */
const reserved: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** An entry of `headers_from_env`, such as `X-Key=API_KEY`. A variable alone is one that is needed, and no header. */
export function headerFromEnv(entry: string): { readonly name: string | undefined; readonly value: string } {
  const equals = entry.indexOf("=");
  const name = equals < 0 ? undefined : entry.slice(0, equals).trim();
  return { name, value: `\${${entry.slice(equals + 1).trim()}}` };
}

/** The reason why a manifest may not set a header of a name; undefined where it may. */
export function headerNameFault(name: string): string | undefined {
  if (!isToken(name)) return "is no name of a header";
  return reserved.has(name.toLowerCase()) ? "belongs to the connection, and cannot be set" : undefined;
}

/** True for a name of a header or cookie (RFC 9110, section 5.6.2). */
export function isToken(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

/** True for a text that a header may have: no line break, and no character beyond Latin-1. */
export function isHeaderText(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}

const checked: Encode = (text, slot) => {
  if (isHeaderText(text)) return text;
  throw unfit(slot, "stands in a header: it may have no line break, and no character beyond Latin-1");
};

/**
 * The headers of a request, by name in lower case.
 *
 * @throws ToolkitError `INVALID_INPUT` for an argument that does not fit
 */
export function requestHeaders(operation: HttpOperation, input: unknown, type: string | undefined): Headers {
  const { parameters, headers, answer } = operation;
  const all: Record<string, string> = { ...clientHeaders, accept: answer.accept ?? "*/*" };
  if (type !== undefined) all["content-type"] = type;
  const cookies: string[] = [];
  for (const { in: place, name, value } of parameters) {
    // A document of others may name them.
    const isOdd = place === "header" ? headerNameFault(name) !== undefined : !isToken(name);
    if (place === "query" || isOdd || isMissing(value, input)) continue;
    const slot = soleSlot(value);
    if (place === "header") all[name.toLowerCase()] = filled(value, input, checked).trim();
    else if (slot === undefined) cookies.push(`${name}=${filled(value, input, encodePart)}`);
    else cookies.push(...pairsOf(name, argumentOf(input, slot), slot, encodePart).map((pair) => pair.join("=")));
  }
  Object.assign(all, headers);
  if (headers.cookie !== undefined) cookies.push(headers.cookie);
  if (cookies.length > 0) all.cookie = cookies.join("; ");
  return all;
}

/** Headers that may go along to another origin: nothing that the manifest or an argument gave. */
const harmless: ReadonlySet<string> = new Set(["accept", "accept-encoding", "user-agent"]);

/** The headers that are left where a redirect leads to another origin. */
export function headersForAnother(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.has(name)));
}

/** The bytes or the text of a body, and its header `Content-Type`. */
export interface RequestBody {
  readonly type: string;
  readonly content: string | Uint8Array;
}

/** The body of a request; undefined for none. @throws ToolkitError as the body's own function */
export async function requestBody(
  { body }: HttpOperation,
  input: Readonly<Record<string, unknown>>,
): Promise<RequestBody | undefined> {
  const value = body?.value(input);
  if (body === undefined || value === undefined) return undefined;
  const type = essenceOf(body.mediaType);
  if (type === "multipart/form-data") return multipart(value, body);
  if (value instanceof Uint8Array) return { type: body.mediaType, content: value };
  if (type === "application/x-www-form-urlencoded") return { type: body.mediaType, content: urlencoded(value, body) };
  return { type: body.mediaType, content: isJsonType(type) ? JSON.stringify(value) : plainText(value) };
}

function urlencoded(value: unknown, { fields = {} }: HttpBody): string {
  if (!isRecord(value)) return plainText(value);
  const encode = (text: string) => encodeURIComponent(text.toWellFormed()).replaceAll("%20", "+");
  return Object.entries(value)
    .flatMap(([name, each]) => {
      const { style = isRecord(each) ? "json" : "form", explode } = fields[name] ?? {};
      return pairsOf(name, each, { argument: [name], style, explode }, encode);
    })
    .map((pair) => pair.join("="))
    .join("&");
}

async function multipart(value: unknown, { fields = {} }: HttpBody): Promise<RequestBody> {
  const form = new FormData();
  for (const [name, field] of Object.entries(isRecord(value) ? value : { body: value })) {
    for (const each of Array.isArray(field) ? field : [field]) {
      if (each === undefined || each === null) continue;
      const type = fields[name]?.mediaType;
      if (each instanceof Uint8Array) form.append(name, new Blob([new Uint8Array(each)], { type: type ?? "" }), name);
      else if (type !== undefined && type !== "text/plain") form.append(name, new Blob([plainText(each)], { type }));
      else form.append(name, plainText(each).toWellFormed());
    }
  }
  // The platform chooses the boundary, and escapes names.
  const encoded = new Response(form);
  const type = encoded.headers.get("content-type") ?? "multipart/form-data";
  return { type, content: new Uint8Array(await encoded.arrayBuffer()) };
}

import { clientHeaders } from "../../lib/fetch/client-exchange.ts";
import { argumentOf, type Encode, filled, isMissing, pairsOf, soleSlot, unfit } from "./argument-text.ts";
import type { HttpOperation } from "./http-operation.ts";
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

/** The reason why a manifest may not set a header of a name; undefined where it may. */
export function headerNameFault(name: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return "is no name of a header";
  return reserved.has(name.toLowerCase()) ? "belongs to the connection, and cannot be set" : undefined;
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
    if (place === "query" || isMissing(value, input)) continue;
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

import { acceptedCodings } from "./decoding.ts";

/** One request as it goes over the wire. */
export interface NodeRequest {
  readonly url: URL;
  readonly method: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | undefined;
  readonly redirect: NonNullable<RequestInit["redirect"]>;
  readonly signal: AbortSignal | undefined;
}

type FetchInput = Parameters<typeof globalThis.fetch>[0];

const defaults = { accept: "*/*", "user-agent": "node", "accept-encoding": acceptedCodings };
const redirects: ReadonlySet<unknown> = new Set(["follow", "manual", "error"]);

/** Reads what `fetch` was given. @throws TypeError as `fetch` does */
export function readRequest(input: FetchInput, init: RequestInit): NodeRequest {
  const { body, method, headers, redirect = "follow", signal } = init;
  const isPlain = body === undefined || body === null || typeof body === "string" || body instanceof Uint8Array;
  // Whatever else there is, such as forms and blobs, the platform can read; for what is plain that costs too much.
  if (input instanceof Request || !isPlain || !redirects.has(redirect)) return readPlatform(new Request(input, init));
  const fields: Record<string, string> = { ...defaults };
  addHeaders(fields, headers);
  if (typeof body === "string") fields["content-type"] ??= "text/plain;charset=UTF-8";
  return checked({
    url: typeof input === "string" ? new URL(input) : input,
    method: (method ?? "GET").toUpperCase(),
    headers: fields,
    body: body ?? undefined,
    redirect,
    signal: signal ?? undefined,
  });
}

function readPlatform(request: Request): NodeRequest {
  const headers: Record<string, string> = { ...defaults };
  addHeaders(headers, request.headers);
  const { url, method, body, redirect, signal } = request;
  return checked({ url: new URL(url), method, headers, body: body ?? undefined, redirect, signal });
}

function addHeaders(fields: Record<string, string>, headers: RequestInit["headers"]): void {
  const pairs = headers instanceof Headers || Array.isArray(headers) ? headers : Object.entries(headers ?? {});
  for (const [name = "", value = ""] of pairs as Iterable<readonly [string?, string?]>) {
    const key = name.toLowerCase();
    const before = Object.hasOwn(defaults, key) ? undefined : fields[key];
    fields[key] = before === undefined ? value : `${before}, ${value}`;
  }
}

function checked(request: NodeRequest): NodeRequest {
  const { url, method, body } = request;
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new TypeError(`Not a URL of HTTP: ${url.protocol}`);
  if (url.username !== "" || url.password !== "") throw new TypeError("A URL with credentials cannot be fetched.");
  if (body !== undefined && (method === "GET" || method === "HEAD")) throw new TypeError(`A ${method} has no body.`);
  return body === undefined ? request : { ...request, headers: { ...request.headers, ...lengthOf(body) } };
}

/** Said here, for Node says it of no body that is unusual, such as that of a DELETE. */
function lengthOf(body: NonNullable<NodeRequest["body"]>): Readonly<Record<string, string>> {
  const isWhole = typeof body === "string" || body instanceof Uint8Array;
  return isWhole ? { "content-length": String(Buffer.byteLength(body)) } : { "transfer-encoding": "chunked" };
}

import { ToolkitError } from "../../../core/error.ts";
import type { Redactor } from "../../redact.ts";
import { ConnectionLostError } from "../../rpc/error.ts";
import type { Caller } from "../transport.ts";

/** Sends a request, of the one who made the call it belongs to, if any. */
export type RequestFetch = (url: string | URL, init: RequestInit, caller?: Caller) => Promise<Response>;

/** Where requests go and what they carry. */
export interface HttpParameters {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: RequestFetch;
  readonly maxMessageBytes: number;
  readonly redactor: Redactor;
}

/**
 * Sends a request and gives the answer, whatever its status.
 *
 * @throws ConnectionLostError where there is none, saying why and whether the request may have arrived; ToolkitError where it was not
 *   sent for want of credentials; the signal's reason
 */
export async function fetchOnce(
  { fetch, redactor }: HttpParameters,
  url: string | URL,
  init: RequestInit,
  caller?: Caller,
): Promise<Response> {
  try {
    return await fetch(url, withTrace(init, caller), caller);
  } catch (cause) {
    if (init.signal?.aborted) throw init.signal.reason;
    // It says itself what it is: nothing is wrong with the connection.
    if (ToolkitError.is(cause)) throw cause;
    const why = redactor.text(whyOf(cause));
    throw new ConnectionLostError(`cannot be reached: ${why}`, { sent: !isDown(cause), cause: redactor.error(cause) });
  }
}

/** Where somebody looks at the call, whatever is between us and the server is told whose part this is, as the server is by `_meta`. */
function withTrace(init: RequestInit, caller: Caller | undefined): RequestInit {
  if (caller?.trace === undefined || init.method !== "POST") return init;
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(caller.trace.inject({}))) headers.set(name, String(value));
  return { ...init, headers };
}

/** How a span names a server over HTTP. */
export function networkOf({ hostname, port, protocol }: URL): Readonly<Record<string, string | number>> {
  const defaultPort = protocol === "https:" ? 443 : 80;
  return {
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "server.address": hostname.replace(/^\[(.*)\]$/, "$1"),
    "server.port": port === "" ? defaultPort : Number(port),
  };
}

/** Ends an answer nobody reads. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {});
}

/** The text of an answer that is no success, as far as it comes and no further than so many bytes. */
export async function errorText({ body }: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    // Leaving the loop cancels the body.
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk.subarray(0, maxBytes - size), { stream: true });
      size += chunk.length;
      if (size >= maxBytes) break;
    }
  } catch {
    // What came says enough.
  }
  return text;
}

const downCodes: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** True where no connection came about, so that nothing was sent. */
function isDown(error: unknown): boolean {
  return causes(error).some(
    ({ code, syscall }) => downCodes.has(code) || (code === "ETIMEDOUT" && syscall === "connect"),
  );
}

/** What an error of `fetch` says, whose own message says nothing. */
export function whyOf(error: unknown): string {
  const all = causes(error);
  return all.findLast(({ message }) => message !== undefined && message !== "")?.message ?? String(error);
}

interface Failure {
  readonly message?: string;
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
}

// fetch hides the reason behind "fetch failed", and Node joins the attempts on several addresses.
function causes(error: unknown): readonly Failure[] {
  const found = [];
  let at = error as Failure | undefined;
  while (typeof at === "object" && at !== null && found.length < 8) {
    found.push(at);
    at = (at.cause ?? at.errors?.[0]) as typeof at;
  }
  return found;
}

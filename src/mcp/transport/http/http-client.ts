import { ToolkitError } from "../../../core/error.ts";
import { ConnectionLostError } from "../../rpc/error.ts";
import { EventStreamParser, type StreamEvents } from "./event-stream.ts";
import { HttpStatusError, statusError } from "./status.ts";

/** Where requests go and what they carry. */
export interface HttpParameters {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof globalThis.fetch;
  readonly maxMessageBytes: number;
}

/** One request. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url?: URL | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

const maxRedirects = 5;

/** Sends requests to one server, with its headers, which never go to another origin. */
export class HttpClient {
  readonly #parameters: HttpParameters;

  constructor(parameters: HttpParameters) {
    this.#parameters = parameters;
  }

  /**
   * Sends a request and gives the answer, whatever its status.
   *
   * @throws ConnectionLostError where there is none; its cause tells why, and `sent` whether the request may have arrived
   */
  async request(request: HttpRequest): Promise<Response> {
    const { url, headers } = this.#parameters;
    let target = request.url ?? url;
    for (let redirects = 0; ; redirects++) {
      const response = await this.#fetch(target, request, headers);
      const next = redirectOf(response, target, request.method);
      if (next === undefined) return response;
      await discard(response);
      if (redirects === maxRedirects) {
        throw new HttpStatusError(`redirects more than ${maxRedirects} times`, {
          status: response.status,
          retryAfterMs: undefined,
        });
      }
      if (!isSameService(target, next)) {
        // The headers may hold credentials.
        throw new HttpStatusError(`redirects to another origin, ${next.origin}: use its URL instead if you trust it`, {
          status: response.status,
          retryAfterMs: undefined,
        });
      }
      target = next;
    }
  }

  /** Describes an answer that is no success, and reads it to its end. */
  async failure(response: Response): Promise<{ readonly error: HttpStatusError; readonly text: string }> {
    const text = await this.text(response).catch(() => "");
    return { error: statusError(response, text), text };
  }

  /** The whole body. @throws ToolkitError `LIMIT_EXCEEDED` */
  async text(response: Response): Promise<string> {
    const { maxMessageBytes } = this.#parameters;
    const length = response.headers.get("content-length");
    if (length !== null && response.headers.get("content-encoding") === null) {
      if (Number(length) <= maxMessageBytes) return response.text();
      await discard(response);
      throw tooLarge(maxMessageBytes, Number(length));
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      // Leaving the loop cancels the body.
      if (size > maxMessageBytes) throw tooLarge(maxMessageBytes, size);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("utf8");
  }

  /** Reads an event stream to its end. Rejects when it breaks. @throws ToolkitError `LIMIT_EXCEEDED` */
  async events(response: Response, events: StreamEvents): Promise<void> {
    const { maxMessageBytes } = this.#parameters;
    const parser = new EventStreamParser(events, maxMessageBytes);
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) parser.push(decoder.decode(chunk, { stream: true }));
    } catch (error) {
      throw error instanceof RangeError ? tooLarge(maxMessageBytes, undefined) : error;
    }
  }

  async #fetch(target: URL, request: HttpRequest, headers: Readonly<Record<string, string>>): Promise<Response> {
    const { method, body, signal } = request;
    try {
      return await this.#parameters.fetch(target, {
        method,
        headers: { ...headers, ...request.headers },
        ...(body === undefined ? {} : { body }),
        signal,
        redirect: "manual",
      });
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw new ConnectionLostError(`cannot be reached: ${whyOf(cause)}`, { sent: !isDown(cause), cause });
    }
  }
}

/** Ends an answer nobody reads. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {});
}

function tooLarge(max: number, actual: number | undefined): ToolkitError<"LIMIT_EXCEEDED"> {
  return new ToolkitError(
    "LIMIT_EXCEEDED",
    `A message is larger than maxMessageBytes (${max}). Raise the limit, or ask the server for less at once.`,
    { limit: "maxMessageBytes", max, actual },
  );
}

function redirectOf(response: Response, from: URL, method: string): URL | undefined {
  const { status } = response;
  if (status < 300 || status > 399) return undefined;
  // 301 to 303 turn a POST into a GET, which would lose the message.
  if (status !== 307 && status !== 308 && !(method === "GET" && status <= 303)) return undefined;
  const location = response.headers.get("location");
  return location !== null && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
}

/** The same origin, or the same host by https where it was http. */
function isSameService(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  return (
    from.hostname === to.hostname && from.protocol === "http:" && to.protocol === "https:" && from.port === to.port
  );
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
  return causes(error).some(({ code }) => downCodes.has(code));
}

function whyOf(error: unknown): string {
  const all = causes(error);
  return all.findLast(({ message }) => message !== undefined && message !== "")?.message ?? String(error);
}

// fetch hides the reason behind "fetch failed", and Node joins the attempts on several addresses.
function causes(error: unknown): readonly { readonly code?: unknown; readonly message?: string }[] {
  const found = [];
  let at = error as (Error & { code?: unknown; errors?: readonly Error[] }) | undefined;
  while (typeof at === "object" && at !== null && found.length < 8) {
    found.push(at);
    at = (at.cause ?? at.errors?.[0]) as typeof at;
  }
  return found;
}

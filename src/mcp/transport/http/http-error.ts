import { messageOf, ToolkitError } from "../../../core/error.ts";
import { visible } from "../../../lib/visible-text.ts";
import type { Redactor } from "../../redact.ts";
import { ConnectionLostError } from "../../rpc/rpc-error.ts";

/** A server answered with a status that is no success. */
export class HttpStatusError extends Error {
  override readonly name = "HttpStatusError";
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** The header `WWW-Authenticate`: the credentials a request has to bring along. */
  readonly challenge: string | undefined;

  constructor(
    message: string,
    options: {
      readonly status: number;
      readonly retryAfterMs?: number | undefined;
      readonly challenge?: string | undefined;
    },
  ) {
    super(visible(message));
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.challenge = options.challenge;
  }
}

/** Statuses that say more than a JSON-RPC error in the body could. */
export const namedStatuses: ReadonlySet<number> = new Set([401, 403, 429, 502, 503, 504]);

/** A server answered with something that is not MCP at all. */
export class NotMcpError extends Error {
  override readonly name = "NotMcpError";
}

/** An answer of a media type that MCP does not have; empty for none. */
export function notMcp(type: string, redactor: Redactor): NotMcpError {
  const shown = type === "" ? "without a content type" : redactor.text(type);
  return new NotMcpError(`answered ${visible(shown)}: this is no MCP endpoint`);
}

/** The error of an exchange as one of ours; `what` broke, where it is none. */
export function exchangeFailure(error: unknown, what: string, redactor: Redactor): unknown {
  const types = [ConnectionLostError, HttpStatusError, NotMcpError, ToolkitError];
  if (types.some((type) => error instanceof type)) return error;
  const message = `${what}: ${redactor.text(messageOf(error))}`;
  return new ConnectionLostError(message, { sent: true, cause: redactor.error(error) });
}

/** `Retry-After` in milliseconds: seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

interface Failure {
  readonly message?: string;
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
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
export function isDown(error: unknown): boolean {
  return causesOf(error).some(
    ({ code, syscall }) => downCodes.has(code) || (code === "ETIMEDOUT" && syscall === "connect"),
  );
}

/** The reason in an error of `fetch`, whose own message has none. */
export function reasonOf(error: unknown): string {
  const all = causesOf(error);
  return all.findLast(({ message }) => message !== undefined && message !== "")?.message ?? String(error);
}

// fetch hides the reason behind "fetch failed", and Node joins the attempts on several addresses.
function causesOf(error: unknown): readonly Failure[] {
  const found = [];
  let at = error as Failure | undefined;
  while (typeof at === "object" && at !== null && found.length < 8) {
    found.push(at);
    at = (at.cause ?? at.errors?.[0]) as typeof at;
  }
  return found;
}

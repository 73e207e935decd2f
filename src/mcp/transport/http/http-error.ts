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

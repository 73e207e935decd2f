import type { OAuthError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { sentence } from "../rpc/rpc-error.ts";

/** The authorization server cannot be asked just now. Its answer may be any. */
export class AuthorityUnavailableError extends Error {
  override readonly name = "AuthorityUnavailableError";
}

/** A refusal or another answer of an authorization server, without a word of its body. */
class AuthorityAnswerError extends Error {
  override readonly name = "AuthorityAnswerError";
  /** One of those that OAuth has. */
  readonly errorCode: string;

  constructor(errorCode: string, message: string) {
    super(message);
    this.errorCode = errorCode;
  }
}

/** The person did not authorize, or was not asked. */
export class PersonError extends Error {
  override readonly name = "PersonError";
}

/** A refusal of an authorization server that is final: asked again, it would refuse again. */
export type Rejection = "grant" | "client";

const rejections: Readonly<Record<string, Rejection>> = {
  invalid_grant: "grant",
  invalid_client: "client",
  unauthorized_client: "client",
};
const passing: ReadonlySet<string> = new Set(["server_error", "temporarily_unavailable", "too_many_requests"]);

/** The final refusal in an error; undefined for any other, such as an error of the network. */
export function rejectionOf(error: unknown): Rejection | undefined {
  return isOAuthError(error) ? rejections[error.errorCode] : undefined;
}

/** The error without what was answered: where a stranger chose the address, that is what another service said. */
export function unquoted(error: unknown): unknown {
  // The code is one of a list of the SDK's.
  if (isOAuthError(error))
    return new AuthorityAnswerError(error.errorCode, /^HTTP \d{3}/.exec(error.message)?.[0] ?? "");
  if (error instanceof SyntaxError) return new Error("its authorization server gave an answer that is no JSON");
  // The SDK looks a code up among its classes: `constructor` gives it one that makes an object of the description.
  if (!(error instanceof Error)) return new Error("its authorization server gave an error that OAuth does not have");
  const { issues } = error as { readonly issues?: unknown };
  if (!Array.isArray(issues)) return error;
  const [{ path = [] } = {}] = issues as { readonly path?: readonly PropertyKey[] }[];
  return new Error(
    `its authorization server gave an answer that OAuth does not have: look at its field "${path.map(String).join(".")}"`,
  );
}

/** The error of getting tokens, as a ToolkitError that says what to do. It quotes no answer. */
export function tokenFailure(failure: unknown, label: string): ToolkitError {
  if (ToolkitError.is(failure)) return failure;
  const error = unquoted(failure);
  if (isPassing(error)) {
    const message = `${label} was not asked: its authorization server gives no answer: ${sentence(messageOf(error))} The tokens are kept.`;
    return new ToolkitError("UNAVAILABLE", message, { namespace: label }, { cause: error });
  }
  if (error instanceof PersonError) {
    const why = error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
    const remedy = "A person is asked again in a minute at the earliest: open the URL that `open` is given then";
    return unauthorized(label, `is not authorized: ${why}. ${remedy}`, error);
  }
  if (rejectionOf(error) === "client") {
    const what = `is not authorized: its authorization server does not accept the client (${said(error)}). Check id and secret of the client`;
    return unauthorized(label, what, error);
  }
  return unauthorized(label, `cannot be authorized: ${said(error)}`, error);
}

export function unauthorized(label: string, what: string, cause?: unknown): ToolkitError<"UNAUTHORIZED"> {
  return new ToolkitError("UNAUTHORIZED", `${label} ${sentence(what)}`, { target: label }, { cause });
}

// An answer that breaks off is a TypeError of fetch, one that takes too long a DOMException.
function isPassing(error: unknown): boolean {
  if (isOAuthError(error)) return passing.has(error.errorCode) && !/^HTTP 4/.test(error.message);
  return error instanceof AuthorityUnavailableError || error instanceof TypeError || error instanceof DOMException;
}

// The class itself would load the schemas of the SDK.
function isOAuthError(error: unknown): error is OAuthError {
  return error instanceof Error && typeof (error as { readonly errorCode?: unknown }).errorCode === "string";
}

function said(error: unknown): string {
  if (!isOAuthError(error)) return messageOf(error).slice(0, 300);
  return [error.errorCode, error.message.slice(0, 300)].filter((text) => text !== "").join(": ");
}

import { messageOf, ToolkitError } from "../../../core/error.ts";
import type { CredentialsHost, HeaderFunction, HttpCredentials, HttpRefusal } from "../../../core/http-auth.ts";
import { abortable, genuine, isPromiseLike } from "../../../lib/promise.ts";
import type { Redactor } from "../../redact.ts";
import { isRecord } from "../../rpc/message.ts";
import type { Caller } from "../transport.ts";
import { discard, type RequestFetch } from "./network.ts";

/** What is added to every request, and how. */
export interface CredentialParts {
  readonly fetch: typeof globalThis.fetch;
  /** The server, without secrets. */
  readonly label: string;
  readonly headers: HeaderFunction | undefined;
  readonly credentials: HttpCredentials | undefined;
  readonly host: CredentialsHost;
  readonly redactor: Redactor;
}

const never = new AbortController().signal;

/**
 * A `fetch` that asks for headers and credentials at each request, and repeats one that was refused for its credentials once, when
 * there are better ones.
 *
 * @throws through what it returns: ToolkitError where the request was not sent or was refused; whatever `fetch` throws
 */
export function fetchWithCredentials(parts: CredentialParts): RequestFetch {
  const { fetch, credentials } = parts;
  return async (url, init, caller) => {
    const first = await prepared(parts, init, caller);
    const response = await fetch(url, first);
    const refusal = refusalOf(response, first.headers);
    // What ends a session is not worth a new token.
    if (credentials === undefined || refusal === undefined || init.method === "DELETE") return response;
    await discard(response);
    await refused(credentials, refusal, init.signal ?? never, parts);
    const second = await prepared(parts, init, caller);
    const repeated = await fetch(url, second);
    if (refusalOf(repeated, second.headers) === undefined) return repeated;
    await discard(repeated);
    throw refusedAgain(parts.label, repeated.status);
  };
}

type Prepared = RequestInit & { readonly headers: Headers };

async function prepared(parts: CredentialParts, init: RequestInit, caller: Caller | undefined): Promise<Prepared> {
  const { credentials, redactor } = parts;
  const signal = init.signal ?? never;
  const headers = new Headers(init.headers);
  if (parts.headers !== undefined) await addHeaders(headers, parts.headers, parts, { signal, caller });
  const value = credentials === undefined ? undefined : await authorizationOf(credentials, signal, parts);
  if (value !== undefined) {
    redactor.conceal(value);
    headers.set("authorization", value);
  }
  return { ...init, headers };
}

async function authorizationOf(
  credentials: HttpCredentials,
  signal: AbortSignal,
  parts: CredentialParts,
): Promise<string | undefined> {
  try {
    const value = credentials.authorization({ signal });
    return isPromiseLike(value) ? await abortable(value, signal) : value;
  } catch (error) {
    throw failureOf(error, "credentials", signal, parts);
  }
}

async function refused(
  credentials: HttpCredentials,
  refusal: HttpRefusal,
  signal: AbortSignal,
  parts: CredentialParts,
): Promise<void> {
  try {
    await abortable(credentials.refused(refusal, { signal, host: parts.host }), signal);
  } catch (error) {
    throw failureOf(error, "credentials", signal, parts);
  }
}

/** What was thrown instead of something to send: an error that says so, with no secret in it. */
function failureOf(error: unknown, what: string, signal: AbortSignal, { label, redactor }: CredentialParts): unknown {
  if (signal.aborted) return signal.reason;
  const clean = redactor.error(error);
  if (!ToolkitError.is(error)) {
    const message = `${label} was not asked: its ${what} failed: ${redactor.text(messageOf(error))}`;
    return new ToolkitError("UNAVAILABLE", message, { namespace: label }, { cause: clean });
  }
  if (clean === error) return error;
  const details = redactor.value(error.details) as typeof error.details;
  return new ToolkitError(error.code, redactor.text(error.message), details, { cause: redactor.error(error.cause) });
}

async function addHeaders(
  headers: Headers,
  decide: HeaderFunction,
  parts: CredentialParts,
  { signal, caller }: { readonly signal: AbortSignal; readonly caller: Caller | undefined },
): Promise<void> {
  const { label, redactor } = parts;
  const given = await decided(decide, parts, { signal, caller });
  if (!isRecord(given)) throw badHeaders(label, "it must give an object of strings");
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "string") throw badHeaders(label, `${JSON.stringify(name)} must be a string`);
    redactor.conceal(value);
    try {
      headers.set(name, value);
    } catch {
      // The platform's own message quotes the value.
      const what = `${JSON.stringify(name)} is no valid HTTP header: look for line breaks and special characters`;
      throw badHeaders(label, what);
    }
  }
}

async function decided(
  decide: HeaderFunction,
  parts: CredentialParts,
  { signal, caller }: { readonly signal: AbortSignal; readonly caller: Caller | undefined },
): Promise<unknown> {
  try {
    const given = decide({ session: caller?.session, url: parts.label, signal });
    return isPromiseLike(given) ? await abortable(genuine(given), signal) : given;
  } catch (error) {
    throw failureOf(error, 'function "headers"', signal, parts);
  }
}

function badHeaders(label: string, problem: string): ToolkitError<"INVALID_CONFIG"> {
  const message = `${label} was not asked: its function "headers" gave what cannot be sent: ${problem}.`;
  return new ToolkitError("INVALID_CONFIG", message, { path: "headers" });
}

function refusalOf({ status, headers }: Response, sent: Headers): HttpRefusal | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const challenge = headers.get("www-authenticate") ?? undefined;
  // Whoever is known and not allowed has nothing to gain from another token, unless it is the scope that is missing.
  if (status === 403 && !/\berror="?insufficient_scope\b/.test(challenge ?? "")) return undefined;
  return { status, challenge, authorization: sent.get("authorization") ?? undefined };
}

function refusedAgain(label: string, status: number): ToolkitError<"UNAUTHORIZED"> {
  const message = `${label} refuses (${status}) the credentials it has just been given. Look whether they are meant for this server: its resource, audience and scope.`;
  return new ToolkitError("UNAUTHORIZED", message, { target: label });
}

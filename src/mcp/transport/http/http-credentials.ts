import { messageOf, ToolkitError } from "../../../core/error.ts";
import type { CredentialsHost, HeaderFunction, HttpCredentials, HttpRefusal } from "../../../core/http-auth.ts";
import type { HttpResponse } from "../../../lib/fetch/client-exchange.ts";
import { abortable, genuine, isPromiseLike } from "../../../lib/promise.ts";
import { isRecord } from "../../../lib/value.ts";
import type { Redactor } from "../../redact.ts";
import type { RequestOwner } from "../transport.ts";
import type { EndpointRequest, EndpointSend } from "./http-exchange.ts";

/** The headers and credentials of every request, and the parts they are decided with. */
export interface CredentialParts {
  readonly send: EndpointSend;
  /** The server as a function for headers gets it: without user info, query and fragment. */
  readonly url: string;
  /** The same for people, without any secret. */
  readonly label: string;
  readonly headers: HeaderFunction | undefined;
  readonly credentials: HttpCredentials | undefined;
  readonly host: CredentialsHost;
  readonly redactor: Redactor;
}

/**
 * Sends with headers and credentials that are decided at each request, and repeats one that was refused for its credentials once, when
 * there are better ones.
 *
 * @throws through what it returns: ToolkitError where the request was not sent or was refused; whatever `send` throws
 */
export function sendWithCredentials(parts: CredentialParts): EndpointSend {
  const { send, credentials, label } = parts;
  return async (request, owner) => {
    const first = await prepared(parts, request, owner);
    const response = await send(first, owner);
    const refusal = refusalOf(response, first);
    // The end of a session is not worth a new token.
    if (credentials === undefined || refusal === undefined || request.method === "DELETE") return response;
    response.discard();
    await refused(credentials, refusal, request.signal, parts);
    const second = await prepared(parts, request, owner);
    const repeated = await send(second, owner);
    if (refusalOf(repeated, second) === undefined) return repeated;
    repeated.discard();
    throw refusedAgain(label, repeated.status);
  };
}

async function prepared(
  parts: CredentialParts,
  request: EndpointRequest,
  owner: RequestOwner | undefined,
): Promise<EndpointRequest> {
  const { credentials, redactor } = parts;
  const { signal } = request;
  const headers = { ...request.headers };
  if (parts.headers !== undefined) await addHeaders(headers, parts.headers, parts, { signal, owner });
  const value = credentials === undefined ? undefined : await authorizationOf(credentials, signal, parts);
  if (value !== undefined) {
    redactor.conceal(value);
    headers.authorization = value;
  }
  return { ...request, headers };
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

/** The error of a request that could not be prepared, with no secret in it. */
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
  headers: Record<string, string>,
  decide: HeaderFunction,
  parts: CredentialParts,
  { signal, owner }: { readonly signal: AbortSignal; readonly owner: RequestOwner | undefined },
): Promise<void> {
  const { label, redactor } = parts;
  const given = await decided(decide, parts, { signal, owner });
  if (!isRecord(given)) throw badHeaders(label, "it must give an object of strings");
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "string") throw badHeaders(label, `${JSON.stringify(name)} must be a string`);
    redactor.conceal(value);
    try {
      const [checked] = new Headers([[name, value]]);
      if (checked !== undefined) headers[checked[0]] = checked[1];
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
  { signal, owner }: { readonly signal: AbortSignal; readonly owner: RequestOwner | undefined },
): Promise<unknown> {
  try {
    const given = decide({ session: owner?.session, url: parts.url, signal });
    return isPromiseLike(given) ? await abortable(genuine(given), signal) : given;
  } catch (error) {
    throw failureOf(error, 'function "headers"', signal, parts);
  }
}

function badHeaders(label: string, problem: string): ToolkitError<"INVALID_CONFIG"> {
  const message = `${label} was not asked: its function "headers" returned a value that cannot be sent: ${problem}.`;
  return new ToolkitError("INVALID_CONFIG", message, { path: "headers" });
}

function refusalOf(response: HttpResponse, { headers }: EndpointRequest): HttpRefusal | undefined {
  const { status } = response;
  if (status !== 401 && status !== 403) return undefined;
  const challenge = response.header("www-authenticate");
  // A caller who is known and not allowed has nothing to gain from another token, unless it is the scope that is missing.
  if (status === 403 && !/\berror="?insufficient_scope\b/.test(challenge ?? "")) return undefined;
  return { status, challenge, authorization: headers.authorization };
}

function refusedAgain(label: string, status: number): ToolkitError<"UNAUTHORIZED"> {
  const message = `${label} refuses (${status}) the credentials it has just been given. Look whether they are meant for this server: its resource, audience and scope.`;
  return new ToolkitError("UNAUTHORIZED", message, { target: label });
}

import { randomBytes } from "node:crypto";
import { present } from "../../lib/value.ts";
import { type Authority, assertPage, assertPkce, authorityFetch } from "./authority.ts";
import { type Callback, type Loopback, listenOnLoopback } from "./loopback.ts";
import { type KnownClient, knownClient, registerClient, storedClient } from "./oauth-client.ts";
import type { OAuthClient, OpenPage } from "./oauth-options.ts";
import { PersonError } from "./token-failure.ts";
import { type Flow, includesScope, joinScopes, type TokenRequest, tokensOf } from "./token-flow.ts";
import type { StoredAuthorization, StoredClient } from "./token-store.ts";

/** The options of an authorization by a person. */
export interface AuthorizationCodeParts {
  readonly open: OpenPage | undefined;
  readonly scope: string | undefined;
  readonly client: OAuthClient | undefined;
  readonly clientMetadataUrl: string | undefined;
  readonly clientName: string;
  readonly redirectPort: number;
  readonly timeoutMs: number;
}

/**
 * A person authorizes in a browser, which is then sent back to this machine (OAuth 2.1 with PKCE). What was authorized is renewed
 * without the person.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization
 */
export function authorizationCodeFlow(parts: AuthorizationCodeParts): Flow {
  const { client, scope, open } = parts;
  return {
    clientId: client?.id,
    issuer: client?.issuer,
    isService: false,
    remedy: "a person has to, and oauth() has no `open` to ask one with",
    scope,
    renew: (request, more) => (more ? Promise.resolve(undefined) : refresh(parts, request)),
    ...(open === undefined ? {} : { ask: (request, signal) => ask({ ...parts, open }, request, signal) }),
  };
}

async function refresh(
  { client }: AuthorizationCodeParts,
  { server, authority, stored }: TokenRequest,
): Promise<StoredAuthorization | undefined> {
  const refreshToken = stored?.tokens?.refreshToken;
  const known =
    client === undefined ? stored?.client && storedClient(stored.client) : await knownClient(client, authority, server);
  if (stored === undefined || refreshToken === undefined || known === undefined) return undefined;
  const { refreshAuthorization } = await import("@modelcontextprotocol/sdk/client/auth.js");
  const given = await refreshAuthorization(authority.issuer, {
    ...tokenParameters(authority, known, authorityFetch(server.fetch, undefined)),
    refreshToken,
  });
  return { ...stored, tokens: tokensOf(given, stored.tokens?.scope) };
}

async function ask(
  parts: AuthorizationCodeParts & { readonly open: OpenPage },
  request: TokenRequest,
  signal: AbortSignal,
): Promise<StoredAuthorization> {
  const loopback = await listenNear(parts.redirectPort, request.stored?.client?.redirectUri);
  const limit = new AbortController();
  const end = () => limit.abort(signal.reason);
  const late = `no person authorized within ${parts.timeoutMs} ms (authorizationTimeoutMs)`;
  const timer = setTimeout(() => limit.abort(new PersonError(late)), parts.timeoutMs);
  signal.addEventListener("abort", end);
  try {
    signal.throwIfAborted();
    return await authorize(parts, request, loopback, limit.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    // A page that is still being opened is not needed any more.
    limit.abort(new Error("The authorization is over."));
    await loopback[Symbol.asyncDispose]();
  }
}

async function authorize(
  parts: AuthorizationCodeParts & { readonly open: OpenPage },
  { server, authority, stored, scope: wanted }: TokenRequest,
  loopback: Loopback,
  signal: AbortSignal,
): Promise<StoredAuthorization> {
  assertPkce(authority);
  const sdk = await import("@modelcontextprotocol/sdk/client/auth.js");
  const { redirectUri } = loopback;
  const fetch = authorityFetch(server.fetch, signal);
  const scope = joinScopes(wanted, offlineScope(authority));
  const request = { server, authority, stored, redirectUri, scope, fetch };
  const { known, own } =
    parts.client === undefined
      ? await ownClient(parts, request)
      : { known: await knownClient(parts.client, authority, server), own: undefined };
  const state = randomBytes(32).toString("base64url");
  const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(authority.issuer, {
    clientInformation: known.information,
    redirectUrl: redirectUri,
    state,
    ...present({ metadata: authority.metadata, resource: authority.resource, scope }),
  });
  assertPage(authorizationUrl);
  for (const secret of [state, codeVerifier]) server.conceal(secret);
  const callback = await sentBack(loopback.callback(state, signal), () =>
    parts.open(authorizationUrl, { label: server.label, signal }),
  );
  try {
    const authorizationCode = codeOf(callback, authority);
    server.conceal(authorizationCode);
    const given = await sdk.exchangeAuthorization(authority.issuer, {
      ...tokenParameters(authority, known, fetch),
      authorizationCode,
      codeVerifier,
      redirectUri,
    });
    const tokens = tokensOf(given, scope);
    await callback.answer("authorized");
    return { issuer: authority.issuer, ...present({ client: own }), tokens };
  } catch (error) {
    await callback.answer("failed");
    throw error;
  }
}

/** The callback of the person's browser, unless the page could not even be opened. */
async function sentBack(coming: Promise<Callback>, open: () => void | PromiseLike<void>): Promise<Callback> {
  const opening = new Promise<never>((_resolve, reject) => {
    const failed = (cause: unknown) => reject(new PersonError("its option `open` failed", { cause }));
    try {
      Promise.resolve(open()).catch(failed);
    } catch (error) {
      failed(error);
    }
  });
  return Promise.race([coming, opening]);
}

/** @throws PersonError where there is none; Error for an answer of another authorization server, or of none, where it has promised (RFC 9207) */
function codeOf({ parameters }: Callback, { issuer, metadata, namesItself }: Authority): string {
  const senders = parameters.getAll("iss");
  // Compared as it is: no other spelling of it counts.
  if (senders.some((sender) => sender !== (metadata?.issuer ?? issuer)))
    throw new Error("another authorization server answered");
  if (senders.length === 0 && namesItself)
    throw new Error(
      "an answer came without `iss`, which its authorization server promises: another one may have sent it",
    );
  const error = parameters.get("error");
  if (error === "access_denied") throw new PersonError("the person denied it (access_denied)");
  if (error !== null) {
    // A code is a word: anything else is a text that a stranger wants to be read.
    const answer = /^[a-z_]{1,40}$/.test(error) ? error : "with an error that OAuth does not have";
    throw new PersonError(`the authorization server answered ${answer}`);
  }
  const code = parameters.get("code");
  if (code === null) throw new Error("the authorization server sent the person back without a code");
  return code;
}

interface RegistrationRequest extends TokenRequest {
  readonly redirectUri: string;
  readonly fetch: typeof globalThis.fetch;
}

async function ownClient(
  parts: AuthorizationCodeParts,
  request: RegistrationRequest,
): Promise<{ readonly known: KnownClient; readonly own: StoredClient }> {
  const own = await chosenClient(parts, request);
  if (own.secret !== undefined) request.server.conceal(own.secret);
  return { known: storedClient(own), own };
}

/** The document that describes the client is preferred to a registration: it is the same for every authorization server. */
async function chosenClient(
  { clientMetadataUrl, clientName }: AuthorizationCodeParts,
  { authority, stored, redirectUri, scope, fetch }: RegistrationRequest,
): Promise<StoredClient> {
  const { metadata } = authority;
  if (clientMetadataUrl !== undefined && metadata?.client_id_metadata_document_supported === true) {
    return { id: clientMetadataUrl, authMethod: "none" };
  }
  const client = stored?.client;
  if (client !== undefined && canServe(client, redirectUri, scope)) return client;
  if (metadata !== undefined && metadata.registration_endpoint === undefined) {
    throw new Error("it registers no clients by itself: register one there and give oauth() its `client`");
  }
  return registerClient(authority, { name: clientName, redirectUri, scope }, fetch);
}

/** True where it can be used once more; else another one has to be registered. */
function canServe(client: StoredClient, redirectUri: string, scope: string | undefined): boolean {
  const expiresAt = client.secretExpiresAt ?? Number.POSITIVE_INFINITY;
  return client.redirectUri === redirectUri && expiresAt > Date.now() && includesScope(client.scope ?? scope, scope);
}

/** Listens where the client was registered to listen, if it can. */
async function listenNear(port: number, registered: string | undefined): Promise<Loopback> {
  if (port !== 0 || registered === undefined) return listenOnLoopback(port);
  return listenOnLoopback(Number(new URL(registered).port)).catch(() => listenOnLoopback(0));
}

/** Without it many servers give no refresh token. */
function offlineScope({ metadata }: Authority): string | undefined {
  const supported: unknown = metadata?.scopes_supported;
  return Array.isArray(supported) && supported.includes("offline_access") ? "offline_access" : undefined;
}

function tokenParameters(
  { metadata, resource }: Authority,
  { information, authenticate }: KnownClient,
  fetchFn: typeof globalThis.fetch,
) {
  return {
    clientInformation: information,
    ...present({ metadata, resource, addClientAuthentication: authenticate }),
    fetchFn,
  };
}

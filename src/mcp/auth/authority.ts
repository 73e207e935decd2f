import type { AuthorizationServerMetadata } from "@modelcontextprotocol/sdk/shared/auth.js";
import { ToolkitError } from "../../core/error.ts";
import type { ProtectedServer } from "../../core/http-auth.ts";
import { EgressError } from "../../lib/fetch/egress-policy.ts";
import { addressKind, parseIp } from "../../lib/fetch/ip-address.ts";
import { reasonOf } from "../../lib/fetch/send-failure.ts";
import { isRecord, present } from "../../lib/value.ts";
import { collectBytes } from "../../resource/collect-bytes.ts";
import { AuthorityUnavailableError } from "./token-failure.ts";

/** The authorization server of a server, and the resource that tokens are for. */
export interface Authority {
  /** The authorization server. */
  readonly issuer: string;
  /** Undefined for a server older than such metadata: its endpoints are at the usual places. */
  readonly metadata: AuthorizationServerMetadata | undefined;
  /** It promises to say who it is when it sends a person back (RFC 9207). */
  readonly namesItself: boolean;
  /** The name the server gives itself, for which tokens are asked, exactly as it is published. */
  readonly resource: string | undefined;
  /** The scopes the server says it has, separated by blanks. */
  readonly scope: string | undefined;
}

/** The challenge of a server that refused a request. */
export interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  /** The scopes that are needed, separated by blanks. */
  readonly scope?: string | undefined;
}

const requestMs = 30_000;
/** The most bytes of an answer: metadata, a registration, tokens. */
const maxAnswerBytes = 64 * 1024;

/**
 * A `fetch` for authorization servers: a failure that may pass is an AuthorityUnavailableError, so that it is taken for nothing else. An
 * answer is read whole, within 30 seconds and 64 KiB.
 *
 * @throws through the function it gives, AuthorityUnavailableError; EgressError; ToolkitError `LIMIT_EXCEEDED`; the signal's reason
 */
export function authorityFetch(
  fetch: typeof globalThis.fetch,
  signal: AbortSignal | undefined,
): typeof globalThis.fetch {
  return async (input, init) => {
    const limit = AbortSignal.timeout(requestMs);
    const { origin } = new URL(input instanceof Request ? input.url : input);
    const until = signal === undefined ? limit : AbortSignal.any([signal, limit]);
    let status: number;
    try {
      const response = await fetch(input, { ...init, signal: until });
      ({ status } = response);
      if (status < 500 && status !== 429) return await whole(response, origin, until);
      await response.body?.cancel().catch(() => {});
    } catch (cause) {
      signal?.throwIfAborted();
      if (ToolkitError.is(cause)) throw cause;
      throw (
        EgressError.in(cause) ??
        new AuthorityUnavailableError(`${origin} cannot be reached: ${reasonOf(cause)}`, { cause })
      );
    }
    throw new AuthorityUnavailableError(`${origin} answered ${status}`);
  };
}

/** The answer with its body read. @throws ToolkitError `LIMIT_EXCEEDED` */
async function whole(response: Response, origin: string, signal: AbortSignal): Promise<Response> {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  try {
    const bytes = await collectBytes(body, { what: origin, maxBytes: maxAnswerBytes, signal });
    return new Response(new Uint8Array(bytes), { status, statusText, headers });
  } catch (error) {
    if (!ToolkitError.is(error, "LIMIT_EXCEEDED")) throw error;
    const message = `${origin} answered more than ${maxAnswerBytes} bytes, the most that is read of an authorization server. Ask its operator.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxAnswerBytes", max: maxAnswerBytes });
  }
}

/** Parses the header `WWW-Authenticate`. */
export async function parseChallenge(header: string | undefined): Promise<Challenge> {
  if (header === undefined) return {};
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/sdk/client/auth.js");
  // The platform holds no other characters in a header, and none of them has a meaning here.
  const plain = header.replace(/[^\x20-\x7e]/g, "");
  return extractWWWAuthenticateParams(new Response(null, { headers: { "www-authenticate": plain } }));
}

/**
 * Finds the authorization server of a server: from its metadata, or it is the server itself, as the revision of March 2025 has it.
 *
 * @param pinned - the issuer that the client is registered with: taken where the server names several
 * @throws AuthorityUnavailableError; EgressError; Error for metadata that are for another server or of another issuer, or lead from https to
 *   http
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
 */
export async function discoverAuthority(
  { url, fetch }: Pick<ProtectedServer, "url" | "fetch">,
  { resourceMetadataUrl }: Challenge,
  pinned: string | undefined,
): Promise<Authority> {
  const sdk = await import("@modelcontextprotocol/sdk/client/auth.js");
  const fetchFn = authorityFetch(fetch, undefined);
  const described = await sdk
    .discoverOAuthProtectedResourceMetadata(url, present({ resourceMetadataUrl }), fetchFn)
    .catch((error) => {
      // It may be found later, or is somewhere it must not be.
      if (error instanceof AuthorityUnavailableError || error instanceof EgressError || ToolkitError.is(error))
        throw error;
      return undefined;
    });
  const listed = described?.authorization_servers ?? [];
  const own = listed.find((each) => pinned !== undefined && isSameIssuer(each, pinned));
  const issuer = own ?? listed[0] ?? String(new URL("/", url));
  const { metadata, namesItself } = await readMetadata(issuer, fetchFn);
  const { authorization_endpoint: authorize, token_endpoint: token, registration_endpoint: register } = metadata ?? {};
  for (const endpoint of [issuer, authorize, token, register]) if (endpoint !== undefined) assertSafe(url, endpoint);
  // Else one authorization server could have itself taken for another (RFC 8414, section 3.3).
  if (metadata !== undefined && !isSameIssuer(metadata.issuer, issuer))
    throw new Error(`the metadata of its authorization server ${new URL(issuer).origin} name another issuer`);
  return {
    issuer,
    metadata,
    namesItself,
    resource: described === undefined ? undefined : await resourceOf(url, described.resource),
    scope: described?.scopes_supported?.join(" "),
  };
}

async function readMetadata(
  issuer: string,
  fetch: typeof globalThis.fetch,
): Promise<Pick<Authority, "metadata" | "namesItself">> {
  const { discoverAuthorizationServerMetadata } = await import("@modelcontextprotocol/sdk/client/auth.js");
  let answer: unknown;
  // The SDK drops fields of OpenID metadata that it does not know.
  const fetchFn: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    if (response.ok) answer = await response.clone().json();
    return response;
  };
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn });
  const promise = "authorization_response_iss_parameter_supported";
  return { metadata, namesItself: isRecord(answer) && answer[promise] === true };
}

/** True for identical issuers. One that is an origin may end in a slash: its metadata are at the same place with it or without. */
export function isSameIssuer(left: string, right: string): boolean {
  return withoutRoot(left) === withoutRoot(right);
}

function withoutRoot(issuer: string): string {
  return issuer.replace(/^(https?:\/\/[^/?#]+)\/$/, "$1");
}

/** Tokens for one server must not be had by another that says they are for it. */
async function resourceOf(url: URL, claimed: string): Promise<string> {
  const { checkResourceAllowed } = await import("@modelcontextprotocol/sdk/shared/auth-utils.js");
  if (checkResourceAllowed({ requestedResource: url, configuredResource: claimed })) return claimed;
  throw new Error(`its metadata are for another server (${new URL(claimed).origin})`);
}

function assertSafe(server: URL, endpoint: string): void {
  const url = new URL(endpoint);
  if (server.protocol !== "https:" || isHttpsOrLoopback(url)) return;
  throw new Error(`its authorization server ${url.origin} does not use https, and secrets would be sent to it`);
}

function isHttpsOrLoopback({ protocol, hostname }: URL): boolean {
  if (protocol === "https:") return true;
  const address = parseIp(hostname);
  const isLoopback = address === undefined ? hostname === "localhost" : addressKind(address) === "loopback";
  return protocol === "http:" && isLoopback;
}

/**
 * The page that a person is sent to: https, or http on this machine. A program that opens URLs would start others for other schemes.
 *
 * @throws Error for any other
 */
export function assertPage(page: URL): void {
  const { protocol, username, password } = page;
  if (isHttpsOrLoopback(page) && username === "" && password === "") return;
  const what = username === "" && password === "" ? `begins with ${protocol}` : "holds a user name or a password";
  throw new Error(`the page of its authorization server ${what}: only an https URL, or one of this machine, is opened`);
}

/**
 * Without it whoever sees the code can use it. Only of a server older than metadata of the resource, of March 2025, it is taken for granted.
 *
 * @throws Error where the metadata do not promise PKCE with S256
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations
 */
export function assertPkce({ issuer, metadata, resource }: Authority): void {
  if (metadata === undefined && resource === undefined) return;
  if (metadata?.code_challenge_methods_supported?.includes("S256") === true) return;
  const { origin } = new URL(issuer);
  throw new Error(
    `the metadata of its authorization server ${origin} do not promise PKCE with S256 (code_challenge_methods_supported)`,
  );
}

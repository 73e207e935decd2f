import type { AuthorizationServerMetadata } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { ProtectedServer } from "../../core/http-auth.ts";
import { present } from "../../lib/value.ts";
import { reasonOf } from "../transport/http/http-error.ts";
import { AuthorityUnavailableError } from "./token-failure.ts";

/** The authorization server of a server, and the resource that tokens are for. */
export interface Authority {
  /** The authorization server. */
  readonly issuer: string;
  /** Undefined for a server older than such metadata: its endpoints are at the usual places. */
  readonly metadata: AuthorizationServerMetadata | undefined;
  /** The name the server gives itself, for which tokens are asked. */
  readonly resource: URL | undefined;
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

/** A `fetch` for authorization servers: a failure that may pass is an AuthorityUnavailableError, so that it is taken for nothing else. */
export function authorityFetch(
  fetch: typeof globalThis.fetch,
  signal: AbortSignal | undefined,
): typeof globalThis.fetch {
  return async (input, init) => {
    const limit = AbortSignal.timeout(requestMs);
    const { origin } = new URL(input instanceof Request ? input.url : input);
    let response: Response;
    try {
      response = await fetch(input, {
        ...init,
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
    } catch (cause) {
      signal?.throwIfAborted();
      throw new AuthorityUnavailableError(`${origin} cannot be reached: ${reasonOf(cause)}`, { cause });
    }
    if (response.status < 500 && response.status !== 429) return response;
    await response.body?.cancel().catch(() => {});
    throw new AuthorityUnavailableError(`${origin} answered ${response.status}`);
  };
}

/** Parses the header `WWW-Authenticate`. */
export async function parseChallenge(header: string | undefined): Promise<Challenge> {
  if (header === undefined) return {};
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/sdk/client/auth.js");
  return extractWWWAuthenticateParams(new Response(null, { headers: { "www-authenticate": header } }));
}

/**
 * Finds the authorization server of a server: from its metadata, or it is the server itself, as the revision of March 2025 has it.
 *
 * @throws AuthorityUnavailableError; Error for metadata that are for another server, or lead from https to http
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#authorization-server-discovery
 */
export async function discoverAuthority(
  { url, fetch }: Pick<ProtectedServer, "url" | "fetch">,
  { resourceMetadataUrl }: Challenge,
): Promise<Authority> {
  const { discoverAuthorizationServerMetadata, discoverOAuthProtectedResourceMetadata } = await import(
    "@modelcontextprotocol/sdk/client/auth.js"
  );
  const fetchFn = authorityFetch(fetch, undefined);
  const described = await discoverOAuthProtectedResourceMetadata(url, present({ resourceMetadataUrl }), fetchFn).catch(
    (error) => {
      // Later it may be found.
      if (error instanceof AuthorityUnavailableError) throw error;
      return undefined;
    },
  );
  const issuer = described?.authorization_servers?.[0] ?? String(new URL("/", url));
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn });
  for (const endpoint of [issuer, metadata?.authorization_endpoint, metadata?.token_endpoint]) {
    if (endpoint !== undefined) assertSafe(url, endpoint);
  }
  return {
    issuer,
    metadata,
    resource: described === undefined ? undefined : await resourceOf(url, described.resource),
    scope: described?.scopes_supported?.join(" "),
  };
}

/** Tokens for one server must not be had by another that says they are for it. */
async function resourceOf(url: URL, claimed: string): Promise<URL> {
  const { checkResourceAllowed } = await import("@modelcontextprotocol/sdk/shared/auth-utils.js");
  if (checkResourceAllowed({ requestedResource: url, configuredResource: claimed })) return new URL(claimed);
  throw new Error(`its metadata are for another server (${new URL(claimed).origin})`);
}

function assertSafe(server: URL, endpoint: string): void {
  const { protocol, hostname, origin } = new URL(endpoint);
  const local = ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
  if (server.protocol !== "https:" || protocol === "https:" || local) return;
  throw new Error(`its authorization server ${origin} does not use https, and secrets would be sent to it`);
}

import type { AddClientAuthentication } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientInformationMixed, OAuthClientMetadata } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { ProtectedServer } from "../../core/http-auth.ts";
import { present } from "../../lib/value.ts";
import { type Authority, authorityFetch, isSameIssuer } from "./authority.ts";
import type { OAuthClient } from "./oauth-options.ts";
import { type Flow, tokensOf } from "./token-flow.ts";
import type { StoredClient } from "./token-store.ts";

/** Tokens of the service itself, without a person (client credentials). @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4 */
export function clientCredentialsFlow(client: OAuthClient, scope: string | undefined): Flow {
  return {
    clientId: client.id,
    issuer: client.issuer,
    isService: true,
    remedy: "its authorization server no longer accepts these client credentials: check the client there",
    scope,
    async renew({ server, authority, scope: wanted }) {
      const { fetchToken } = await import("@modelcontextprotocol/sdk/client/auth.js");
      const { issuer, metadata, resource } = authority;
      const { information, authenticate } = await knownClient(client, authority, server);
      const provider = {
        redirectUrl: undefined,
        clientMetadata: { redirect_uris: [] },
        clientInformation: () => information,
        prepareTokenRequest: () =>
          new URLSearchParams({ grant_type: "client_credentials", ...present({ scope: wanted }) }),
        ...present({ addClientAuthentication: authenticate }),
        tokens: () => undefined,
        saveTokens: () => {},
        redirectToAuthorization: () => {},
        saveCodeVerifier: () => {},
        codeVerifier: () => "",
      };
      const fetchFn = authorityFetch(server.fetch, undefined);
      const given = await fetchToken(provider, issuer, { fetchFn, ...present({ metadata, resource }) });
      return { issuer, tokens: tokensOf(given, wanted) };
    },
  };
}

/** A client as the token endpoint knows it. */
export interface KnownClient {
  readonly information: OAuthClientInformationMixed;
  /** The proof of the client, where that is not a secret. */
  readonly authenticate: AddClientAuthentication | undefined;
}

/**
 * A client the service was given. Its secrets are concealed each time it is used.
 *
 * @throws Error for another authorization server than the client is registered with
 */
export async function knownClient(
  { id, issuer, secret, privateKey, algorithm = "RS256" }: OAuthClient,
  authority: Authority,
  { conceal }: Pick<ProtectedServer, "conceal">,
): Promise<KnownClient> {
  if (!isSameIssuer(issuer, authority.issuer)) {
    const { origin } = new URL(authority.issuer);
    throw new Error(
      `its authorization server is ${origin} now, and the client is registered with ${issuer}: nothing was sent. Give the client of that server, with its issuer`,
    );
  }
  for (const secretText of [secret, privateKey]) if (typeof secretText === "string") conceal(secretText);
  const information = present({ client_id: id, client_secret: secret });
  if (privateKey === undefined) return { information, authenticate: undefined };
  const { createPrivateKeyJwtAuth } = await import("@modelcontextprotocol/sdk/client/auth-extensions.js");
  const key = typeof privateKey === "string" ? privateKey : { ...privateKey };
  const authenticate = createPrivateKeyJwtAuth({
    issuer: id,
    subject: id,
    audience: issuer,
    privateKey: key,
    alg: algorithm,
  });
  return { information, authenticate };
}

/** A client that the service registered itself. */
export function storedClient({ id, secret, authMethod }: StoredClient): KnownClient {
  const information = {
    ...present({ client_id: id, client_secret: secret }),
    ...(authMethod === undefined ? {} : { token_endpoint_auth_method: authMethod, redirect_uris: [] }),
  };
  return { information, authenticate: undefined };
}

/**
 * Registers with an authorization server.
 *
 * @throws whatever the SDK throws
 * @see https://www.rfc-editor.org/rfc/rfc7591
 */
export async function registerClient(
  { issuer, metadata }: Authority,
  {
    name,
    redirectUri,
    scope,
  }: { readonly name: string; readonly redirectUri: string; readonly scope: string | undefined },
  fetch: typeof globalThis.fetch,
): Promise<StoredClient> {
  const sdk = await import("@modelcontextprotocol/sdk/client/auth.js");
  const methods = metadata?.token_endpoint_auth_methods_supported;
  const clientMetadata: OAuthClientMetadata & { readonly application_type: string } = {
    client_name: name,
    application_type: "native",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: methods === undefined || methods.includes("none") ? "none" : methods[0],
  };
  const registered = await sdk.registerClient(issuer, {
    clientMetadata,
    fetchFn: fetch,
    ...present({ metadata, scope }),
  });
  const { client_id: id, client_secret: secret, client_secret_expires_at: expiresAt } = registered;
  const { token_endpoint_auth_method: authMethod } = registered;
  // 0 says that it never expires.
  const secretExpiresAt = expiresAt === undefined || expiresAt === 0 ? undefined : expiresAt * 1_000;
  return present({ id, redirectUri, scope, secret, authMethod, secretExpiresAt });
}

import type { HttpAuth } from "../../core/http-auth.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import { authorizationCodeFlow } from "./authorization-code.ts";
import { clientCredentialsFlow } from "./oauth-client.ts";
import { OAuthCredentials } from "./oauth-credentials.ts";
import type { ClientCredentialsOptions, OAuthClient, OAuthOptions, TokenOptions } from "./oauth-options.ts";
import type { Flow } from "./token-flow.ts";
import { memoryTokenStore } from "./token-store.ts";

/**
 * Credentials that a person gives in a browser (authorization code with PKCE), as MCP specifies it: the authorization server is discovered
 * from the server, the service registers itself, tokens are renewed before they expire, or when they are refused, once for all requests
 * that need it. Network errors never delete tokens.
 *
 * While a person is waited for, a connector stays `connecting`: no limit of time runs, no attempt is lost, and `lastError` says what
 * to do. Once it is connected no call waits for that: one that needs a person fails with `UNAUTHORIZED`, and may be made again afterwards.
 *
 * @throws ToolkitError `INVALID_CONFIG`
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization
 */
export function oauth(options: OAuthOptions = {}): HttpAuth {
  assertOptionNames(options, oauthNames, "of oauth");
  const { redirectPort = 0, authorizationTimeoutMs = 300_000, clientName = "Toolweave" } = options;
  const { open, client, clientMetadataUrl, scope } = options;
  check("open", open === undefined || typeof open === "function", "a function", open);
  check(
    "redirectPort",
    Number.isInteger(redirectPort) && redirectPort >= 0 && redirectPort < 65_536,
    "a port",
    redirectPort,
  );
  check("authorizationTimeoutMs", authorizationTimeoutMs > 0, "a number above 0", authorizationTimeoutMs);
  const isDocument = clientMetadataUrl === undefined || /^https:\/\/[^/?#@]+\/[^#]+$/.test(clientMetadataUrl);
  const wanted = "an https URL with a path, without a user and a fragment";
  check("clientMetadataUrl", isDocument, wanted, clientMetadataUrl);
  if (client !== undefined) checkClient(client);
  return authOf(
    authorizationCodeFlow({
      open,
      scope,
      client,
      clientMetadataUrl,
      clientName,
      redirectPort,
      timeoutMs: authorizationTimeoutMs,
    }),
    options,
  );
}

/**
 * Credentials of the service itself, without a person (client credentials): with a secret, or with a private key.
 *
 * @throws ToolkitError `INVALID_CONFIG`
 * @example
 * ```ts
 * toolkit.addConnector("https://example.com/mcp", {
 *   auth: clientCredentials({ client: { id: "my-service", secret: process.env.CLIENT_SECRET } }),
 * });
 * ```
 */
export function clientCredentials(options: ClientCredentialsOptions): HttpAuth {
  assertOptionNames(options, clientCredentialsNames, "of clientCredentials");
  checkClient(options.client);
  return authOf(clientCredentialsFlow(options.client, options.scope), options);
}

const tokenNames: OptionNames<TokenOptions> = { scope: true, store: true };
const clientCredentialsNames: OptionNames<ClientCredentialsOptions> = { client: true, ...tokenNames };
const oauthNames: OptionNames<OAuthOptions> = {
  open: true,
  client: true,
  clientMetadataUrl: true,
  clientName: true,
  redirectPort: true,
  authorizationTimeoutMs: true,
  ...tokenNames,
};
const clientNames: OptionNames<OAuthClient> = {
  id: true,
  issuer: true,
  secret: true,
  privateKey: true,
  algorithm: true,
};

function authOf(flow: Flow, { store = memoryTokenStore(), scope }: TokenOptions): HttpAuth {
  check("scope", scope === undefined || typeof scope === "string", "text", scope);
  check("store", typeof store.exclusively === "function", "a TokenStore", store);
  const origins = flow.issuer === undefined ? [] : [new URL(flow.issuer).origin];
  return { origins, open: (server) => new OAuthCredentials(server, flow, store) };
}

function checkClient(client: OAuthClient): void {
  check("client.id", typeof client?.id === "string" && client.id !== "", "text", client?.id);
  assertOptionNames(client, clientNames, "of a client", "client");
  const isIssuer = typeof client.issuer === "string" && /^https?:\/\/[^?#@]+$/.test(client.issuer);
  const wanted = 'the URL of the authorization server it is registered with, such as "https://auth.example.com"';
  check("client.issuer", isIssuer && URL.canParse(client.issuer), wanted, client.issuer);
  const { secret } = client;
  // Never shown: what is wrong with it may be that it is somewhere else.
  check("client.secret", secret === undefined || (typeof secret === "string" && secret !== ""), "text", typeof secret);
}

function check(path: string, fits: boolean, wanted: string, given: unknown): void {
  if (!fits) throw invalidOption(path, wanted, given);
}

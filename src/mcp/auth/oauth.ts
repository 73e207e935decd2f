import { messageOf, ToolkitError } from "../../core/error.ts";
import type { HttpAuth } from "../../core/http-auth.ts";
import { authorizationCodeFlow, type OpenPage } from "./authorization-code.ts";
import type { OAuthClient } from "./client.ts";
import { clientCredentialsFlow } from "./client-credentials.ts";
import { OAuthCredentials } from "./credentials.ts";
import type { Flow } from "./flow.ts";
import { memoryTokenStore } from "./memory-store.ts";
import type { TokenStore } from "./store.ts";

interface CommonOptions {
  /** What to ask for, separated by blanks. Default: what the server says it needs. */
  readonly scope?: string | undefined;
  /** Where tokens are kept. Default: in memory, so that they end with the process. */
  readonly store?: TokenStore | undefined;
}

/** How a person authorizes a service. */
export interface OAuthOptions extends CommonOptions {
  /**
   * Shows a person the page to authorize at: opens a browser, prints the URL, sends it to somebody. The browser has to be on this
   * machine, for it is sent back to 127.0.0.1. Missing, what is in the store is used and renewed, and nobody is asked.
   */
  readonly open?: OpenPage | undefined;
  /** A client registered beforehand. Default: the service registers itself where the authorization server lets it. */
  readonly client?: OAuthClient | undefined;
  /** Where the service describes itself as a client, an https URL: used where the authorization server reads such documents. */
  readonly clientMetadataUrl?: string | undefined;
  /** What the person is told the service is called, where it registers itself. Default: `Toolweave`. */
  readonly clientName?: string | undefined;
  /** Where the browser is sent back to: `http://127.0.0.1:<port>/callback`. Default: 0, any that is free. */
  readonly redirectPort?: number | undefined;
  /** How long a person has, in milliseconds; then the attempt fails, and the next one asks again. Default: 300,000. */
  readonly authorizationTimeoutMs?: number | undefined;
}

/** How a service authorizes itself. */
export interface ClientCredentialsOptions extends CommonOptions {
  readonly client: OAuthClient;
}

/**
 * Credentials that a person gives in a browser (authorization code with PKCE), as the MCP specification has it: where to authorize is
 * found out from the server, the service registers itself, tokens are renewed before they expire, or when they are refused, once for
 * all requests that need it. Errors of the network never cost what was authorized.
 *
 * While a person is waited for, a connector stays `connecting`: no limit of time runs, no attempt is lost, and `lastError` says what
 * to do. Once it is connected nobody waits: a call that needs a person fails with `UNAUTHORIZED`, and may be made again afterwards.
 *
 * @throws ToolkitError `INVALID_CONFIG`
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization
 */
export function oauth(options: OAuthOptions = {}): HttpAuth {
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
  const isDocument = clientMetadataUrl === undefined || /^https:\/\/[^/]+\/./.test(clientMetadataUrl);
  check("clientMetadataUrl", isDocument, "an https URL with a path", clientMetadataUrl);
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
  checkClient(options.client);
  return authOf(clientCredentialsFlow(options.client, options.scope), options);
}

function authOf(flow: Flow, { store = memoryTokenStore(), scope }: CommonOptions): HttpAuth {
  check("scope", scope === undefined || typeof scope === "string", "text", scope);
  check("store", typeof store.exclusively === "function", "a TokenStore", store);
  return { open: (server) => new OAuthCredentials(server, flow, store) };
}

function checkClient(client: OAuthClient): void {
  check("client.id", typeof client?.id === "string" && client.id !== "", "text", client?.id);
  const { secret } = client;
  // Never shown: what is wrong with it may be that it is somewhere else.
  check("client.secret", secret === undefined || (typeof secret === "string" && secret !== ""), "text", typeof secret);
}

function check(path: string, fits: boolean, wanted: string, given: unknown): void {
  if (fits) return;
  const message = `The option ${path} must be ${wanted}, and is ${messageOf(given)}.`;
  throw new ToolkitError("INVALID_CONFIG", message, { path });
}

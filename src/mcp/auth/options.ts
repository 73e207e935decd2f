import type { TokenStore } from "./store.ts";

/** A client that was registered with the authorization server beforehand. */
export interface OAuthClient {
  readonly id: string;
  /** Undefined for a public client, or for one with a private key. */
  readonly secret?: string | undefined;
  /** A private key to sign with instead of a secret (`private_key_jwt`): PKCS#8 in PEM form, or a JWK. */
  readonly privateKey?: string | Readonly<Record<string, unknown>> | undefined;
  /** Of the private key. Default: `RS256`. */
  readonly algorithm?: string | undefined;
}

/** Shows a person a page to authorize a server at. */
export type OpenPage = (
  url: URL,
  options: {
    /** What is authorized, without secrets. */
    readonly label: string;
    /** Aborts when it is too late, or over. */
    readonly signal: AbortSignal;
  },
) => void | PromiseLike<void>;

/** What every flow can be told. */
export interface TokenOptions {
  /** What to ask for, separated by blanks. Default: what the server says it needs. */
  readonly scope?: string | undefined;
  /** Where tokens are kept. Default: in memory, so that they end with the process. */
  readonly store?: TokenStore | undefined;
}

/** How a person authorizes a service. */
export interface OAuthOptions extends TokenOptions {
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
export interface ClientCredentialsOptions extends TokenOptions {
  readonly client: OAuthClient;
}

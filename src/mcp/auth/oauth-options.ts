import type { TokenStore } from "./token-store.ts";

/** A client that was registered with the authorization server beforehand. */
export interface OAuthClient {
  readonly id: string;
  /**
   * The authorization server it is registered with, as its metadata name it (`issuer`), such as `https://auth.example.com`. Secret, key and
   * assertions go to that one alone: a server that names another gets nothing.
   */
  readonly issuer: string;
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
    /** The server to authorize, without secrets. */
    readonly label: string;
    /** Aborts when it is too late, or over. */
    readonly signal: AbortSignal;
  },
) => void | PromiseLike<void>;

/** The options of every flow. */
export interface TokenOptions {
  /** The scopes to ask for, separated by blanks. Default: those that the server says it needs. */
  readonly scope?: string | undefined;
  /** Where tokens are kept. Default: in memory, so that they end with the process. */
  readonly store?: TokenStore | undefined;
}

/** The options of an authorization by a person. */
export interface OAuthOptions extends TokenOptions {
  /**
   * Shows a person the page to authorize at: opens a browser, prints the URL, sends it in a message. The browser has to be on this
   * machine, for it is sent back to 127.0.0.1. Missing, the tokens in the store are used and renewed, and no person is asked.
   */
  readonly open?: OpenPage | undefined;
  /** A client registered beforehand. Default: the service registers itself where the authorization server lets it. */
  readonly client?: OAuthClient | undefined;
  /** Where the service describes itself as a client, an https URL: used where the authorization server reads such documents. */
  readonly clientMetadataUrl?: string | undefined;
  /** The name of the service that the person is shown, where it registers itself. Default: `Toolweave`. */
  readonly clientName?: string | undefined;
  /** Where the browser is sent back to: `http://127.0.0.1:<port>/callback`. Default: 0, any that is free. */
  readonly redirectPort?: number | undefined;
  /** The time a person has, in milliseconds; then the attempt fails, and the next one asks again. Default: 300,000. */
  readonly authorizationTimeoutMs?: number | undefined;
}

/** The options of a service that authorizes itself. */
export interface ClientCredentialsOptions extends TokenOptions {
  readonly client: OAuthClient;
}

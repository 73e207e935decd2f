/** The client as which an authorization server knows us. */
export interface StoredClient {
  readonly id: string;
  readonly secret?: string | undefined;
  /** How it proves at the token endpoint who it is, such as `client_secret_basic`; undefined where the server's metadata decide. */
  readonly authMethod?: string | undefined;
  /** Where a person is sent back to, as it was registered. */
  readonly redirectUri?: string | undefined;
  /** What it was registered for, separated by blanks; undefined for anything. */
  readonly scope?: string | undefined;
  /** In milliseconds since the epoch; undefined where the secret does not expire. */
  readonly secretExpiresAt?: number | undefined;
}

/** The tokens of one server. */
export interface StoredTokens {
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** Of the access token, in milliseconds since the epoch; undefined where the server does not say. */
  readonly expiresAt?: number | undefined;
  /** What was granted, separated by blanks. */
  readonly scope?: string | undefined;
}

/** What is kept for one server. Plain JSON, and secret. */
export interface StoredAuthorization {
  /** The authorization server it comes from: nothing of it is sent to another. */
  readonly issuer: string;
  /** Missing where the service itself says who it is each time. */
  readonly client?: StoredClient | undefined;
  readonly tokens?: StoredTokens | undefined;
}

/**
 * Where authorizations are kept. Connectors and processes may share one: whatever they read and write for a key goes through
 * `exclusively`, so that a refresh token that may be used once is used once.
 */
export interface TokenStore {
  /** What is kept under a key; undefined for nothing. @throws ToolkitError `STORE_FAILED` */
  read(key: string): Promise<StoredAuthorization | undefined>;
  /** Keeps it in place of what was there; undefined removes it. Durable when it resolves. @throws ToolkitError `STORE_FAILED` */
  write(key: string, authorization: StoredAuthorization | undefined): Promise<void>;
  /** Runs while nobody else who shares the store runs for this key. @throws whatever `run` throws; ToolkitError `STORE_FAILED` */
  exclusively<T>(key: string, run: () => Promise<T>): Promise<T>;
}

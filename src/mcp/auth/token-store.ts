/** Keeps tokens as long as the process lives: after a restart a person has to authorize again. */
export function memoryTokenStore(): TokenStore {
  const kept = new Map<string, StoredAuthorization>();
  const mutex = new KeyedMutex();
  return {
    read: async (key) => kept.get(key),
    write: async (key, authorization) => {
      if (authorization === undefined) kept.delete(key);
      else kept.set(key, authorization);
    },
    exclusively: (key, run) => mutex.run(key, run),
  };
}

/** The client as it is registered at an authorization server. */
export interface StoredClient {
  readonly id: string;
  readonly secret?: string | undefined;
  /** The proof of the client at the token endpoint, such as `client_secret_basic`; undefined where the server's metadata decide. */
  readonly authMethod?: string | undefined;
  /** Where a person is sent back to, as it was registered. */
  readonly redirectUri?: string | undefined;
  /** The scopes it was registered for, separated by blanks; undefined for any. */
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
  /** The scopes that were granted, separated by blanks. */
  readonly scope?: string | undefined;
}

/** The authorization of one server. Plain JSON, and secret. */
export interface StoredAuthorization {
  /** The authorization server it comes from: nothing of it is sent to another. */
  readonly issuer: string;
  /** Missing where the service itself says who it is each time. */
  readonly client?: StoredClient | undefined;
  readonly tokens?: StoredTokens | undefined;
}

/**
 * A store of authorizations. Connectors and processes may share one: whatever they read and write for a key goes through
 * `exclusively`, so that a refresh token that may be used once is used once.
 */
export interface TokenStore {
  /** The authorization under a key; undefined for none. @throws ToolkitError `STORE_FAILED` */
  read(key: string): Promise<StoredAuthorization | undefined>;
  /** Keeps it in place of what was there; undefined removes it. Durable when it resolves. @throws ToolkitError `STORE_FAILED` */
  write(key: string, authorization: StoredAuthorization | undefined): Promise<void>;
  /** Something that the operator should know and that fails nothing, such as a file that others may read. Missing, there is nothing. */
  warning?(): Promise<string | undefined>;
  /** Runs while no other owner of the store runs for this key. @throws whatever `run` throws; ToolkitError `STORE_FAILED` */
  exclusively<T>(key: string, run: () => Promise<T>): Promise<T>;
}

/** Runs tasks one after the other, by key. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs a task when those before it under this key are over, however they ended. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(task, task);
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}

import type { Entry, Kind } from "./item.ts";

/** What a server says of itself. */
export interface ServerInfo {
  readonly name: string;
  readonly version?: string | undefined;
  readonly title?: string | undefined;
  /** How to use it, for a model. */
  readonly instructions?: string | undefined;
  readonly protocolVersion?: string | undefined;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/**
 * The life of a connection: `idle` until it is started, `connecting`, `connected`, `waiting` for its next attempt, `stopped` for
 * good.
 */
export type ConnectionState = "idle" | "connecting" | "connected" | "waiting" | "stopped";

/** What an operator sees of a connector. All fields are live. */
export interface Connection {
  /** Provisional until the first handshake where none was given; then fixed for good. */
  readonly namespace: string;
  /** What it connects to, without secrets: a URL, a command line or the connector's label. */
  readonly label: string;
  /** How the last connection was made, such as `stdio` or `streamable-http`; undefined before the first. */
  readonly transport: string | undefined;
  readonly state: ConnectionState;
  /** When it came into its state, in milliseconds since the epoch. */
  readonly since: number;
  /** What the server said of itself at the last handshake; undefined before the first. */
  readonly server: ServerInfo | undefined;
  /** Of the last handshake. */
  readonly protocolVersion: string | undefined;
  /** How many of each kind are known. */
  readonly counts: Readonly<Record<Kind, number>>;
  /** Why the last attempt or connection ended. */
  readonly lastError: Error | undefined;
  /** Attempts to connect since the last handshake, or since `reconnect`. */
  readonly attempts: number;
  /** When the next attempt begins, in milliseconds since the epoch; undefined where none is planned. */
  readonly nextAttemptAt: number | undefined;
  /** Of the last request that was answered, in milliseconds. */
  readonly latencyMs: number | undefined;
  /** Calls, reads and renders that wait for an answer. */
  readonly callsInFlight: number;
  /** Of its child process, while that runs, in the handshake too. */
  readonly processId: number | undefined;
  /** The last of what its child process wrote to stderr: that which runs, in the handshake too, else the last there was. */
  readonly stderr: string | undefined;
  /** What is not as it should be and harms nothing else: a schema that cannot be compiled, a list cut at its limit. */
  readonly warnings: readonly string[];
  /** What it offers now, or offered last. */
  list<K extends Kind>(kind: K): readonly Entry<K>[];
  /**
   * Resolves when it is connected and listed; starts it where it is idle.
   *
   * @throws ToolkitError `UNAVAILABLE` when it stopped for good, `CLOSED` when it was closed; the signal's reason when it aborts
   */
  ready(options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;
  /**
   * Drops the connection, or the wait for it, and tries at once.
   *
   * @throws ToolkitError `CLOSED` when it has stopped for good
   */
  reconnect(): void;
  /** Removes it from its toolkit and ends all it started. */
  close(): Promise<void>;
}

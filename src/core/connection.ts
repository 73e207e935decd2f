import type { Entry, Kind } from "./item.ts";

/** The description that a server gives of itself. */
export interface ServerInfo {
  readonly name: string;
  readonly version?: string | undefined;
  readonly title?: string | undefined;
  /** For people: what it is for. */
  readonly description?: string | undefined;
  /** Instructions for a model that uses it. */
  readonly instructions?: string | undefined;
  readonly protocolVersion?: string | undefined;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/**
 * The life of a connection: `idle` until it is started, `connecting`, `connected`, `waiting` for its next attempt, `stopped` for
 * good.
 */
export type ConnectionState = "idle" | "connecting" | "connected" | "waiting" | "stopped";

/** A connector and its state, for operators. All fields are live. */
export interface Connection {
  /** Provisional until the first handshake where none was given; then fixed for good. */
  readonly namespace: string;
  /** Its target, without secrets: a URL, a command line or the connector's label. */
  readonly label: string;
  /** As it was added: of an untrusted server only what its `allow` names may be used. */
  readonly trust: "standard" | "untrusted";
  /** Transport of the last connection, such as `stdio` or `streamable-http`; undefined before the first. */
  readonly transport: string | undefined;
  readonly state: ConnectionState;
  /** Time of the last change of state, in milliseconds since the epoch. */
  readonly since: number;
  /** Description of the server at the last handshake; undefined before the first. */
  readonly server: ServerInfo | undefined;
  /** Protocol version of the last handshake. */
  readonly protocolVersion: string | undefined;
  /** Number of known items of each kind. While a kind is listed for the first time after the tools, `warnings` says so. */
  readonly counts: Readonly<Record<Kind, number>>;
  /** The reason the last attempt or connection ended. */
  readonly lastError: Error | undefined;
  /** Attempts to connect since the last handshake, or since `reconnect`. */
  readonly attempts: number;
  /** Time of the next attempt, in milliseconds since the epoch; undefined where none is planned. */
  readonly nextAttemptAt: number | undefined;
  /** Latency of the last request that was answered, in milliseconds. */
  readonly latencyMs: number | undefined;
  /** Number of calls, reads and renders that wait for an answer. */
  readonly callsInFlight: number;
  /** Id of its child process, while that runs, during the handshake too. */
  readonly processId: number | undefined;
  /** The end of the stderr of its child process: of the one that runs, during the handshake too, else of the last one. */
  readonly stderr: string | undefined;
  /** Problems that affect nothing else, such as a schema that cannot be compiled or a list cut at its limit. */
  readonly warnings: readonly string[];
  /** Its items: those it has, or had last. It waits for nothing: `ready` before it, or ask `list` of the toolkit. */
  list<K extends Kind>(kind: K): readonly Entry<K>[];
  /**
   * Resolves when it is connected and all of its lists are read, or could not be; starts it where it is idle.
   *
   * @throws ToolkitError `UNAVAILABLE` when it stopped for good, `CLOSED` when it was closed; the signal's reason when it aborts
   */
  ready(options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;
  /**
   * Drops the connection, or the wait for the next attempt, and connects at once.
   *
   * @throws ToolkitError `CLOSED` when it has stopped for good
   */
  reconnect(): void;
  /** Removes it from its toolkit and ends all it started. */
  close(): Promise<void>;
}

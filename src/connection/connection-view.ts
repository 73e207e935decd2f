import type { Namespace } from "../catalog/namespace.ts";
import type { ConnectionState, ServerInfo } from "../core/connection.ts";
import type { Connector, ConnectorSession, ServerProcess } from "../core/connector.ts";
import type { ToolkitError } from "../core/error.ts";
import { type Entry, type Kind, kinds, type ListFailure } from "../core/item.ts";
import { operatorError } from "../core/server-output.ts";
import type { Clock } from "../lib/clock.ts";
import { beginningOf, type InspectOptions, inspect, shownAs } from "../lib/console-text.ts";
import { visible, visibleLines } from "../lib/visible-text.ts";
import { unavailable, unlisted } from "./connection-error.ts";
import type { ConnectionLog } from "./connection-log.ts";
import type { ConnectionRequests } from "./connection-requests.ts";
import type { RemoteGeneration } from "./generation.ts";
import type { ListedKinds } from "./listed-kinds.ts";
import type { RemoteCatalog } from "./remote-catalog.ts";
import type { Supervisor } from "./supervisor.ts";

/** The parts of a connection whose state is shown. */
export interface ConnectionParts {
  readonly supervisor: Supervisor<RemoteGeneration>;
  readonly namespace: Namespace;
  readonly catalog: RemoteCatalog;
  readonly log: ConnectionLog;
  readonly requests: ConnectionRequests;
  readonly listed: ListedKinds;
}

/** The fields of a connection, all of them live. */
export abstract class ConnectionView {
  readonly connector: Connector;
  /** The latest session, also when it has ended. */
  protected latestSession: ConnectorSession | undefined;
  /** Description of the latest server. */
  protected latestServer: ServerInfo | undefined;
  /** The latest child process, where the connector reports it before the handshake. */
  protected latestProcess: ServerProcess | undefined;
  /** The time since when it is not connected, or was added. */
  protected downSince: number;
  readonly #clock: Clock;

  constructor(connector: Connector, clock: Clock) {
    this.connector = connector;
    this.#clock = clock;
    this.downSince = Math.floor(clock.now());
  }

  abstract readonly trust: "standard" | "untrusted";
  protected abstract get parts(): ConnectionParts;

  get namespace(): string {
    return this.parts.namespace.name;
  }

  get label(): string {
    return visible(this.connector.label);
  }

  get transport(): string | undefined {
    return this.latestSession?.transport;
  }

  get state(): ConnectionState {
    return this.parts.supervisor.state;
  }

  get since(): number {
    return Math.round(this.parts.supervisor.since);
  }

  get server(): ServerInfo | undefined {
    return this.latestServer;
  }

  get protocolVersion(): string | undefined {
    return this.server?.protocolVersion;
  }

  get counts(): Readonly<Record<Kind, number>> {
    const count = (kind: Kind) => this.parts.namespace.count(kind);
    return { tool: count("tool"), prompt: count("prompt"), resource: count("resource"), template: count("template") };
  }

  get lastError(): Error | undefined {
    const error = this.parts.supervisor.lastError;
    return error === undefined ? undefined : operatorError(error);
  }

  get attempts(): number {
    return this.parts.supervisor.attempts;
  }

  get nextAttemptAt(): number | undefined {
    const { nextAttemptAt } = this.parts.supervisor;
    return nextAttemptAt === undefined ? undefined : Math.round(nextAttemptAt);
  }

  get latencyMs(): number | undefined {
    return this.parts.requests.latencyMs;
  }

  get callsInFlight(): number {
    return this.parts.requests.size;
  }

  get processId(): number | undefined {
    return (this.session ?? this.latestProcess)?.processId;
  }

  get stderr(): string | undefined {
    const text = (this.latestProcess ?? this.latestSession)?.stderr?.();
    return text === undefined ? undefined : visibleLines(text);
  }

  get warnings(): readonly string[] {
    const unread = this.state === "connected" ? this.#unlisted(kinds) : [];
    return [...this.parts.log.warnings, ...this.parts.catalog.warnings, ...unread.map(({ message }) => message)];
  }

  /** The error that says why it is not connected. */
  unavailable(): ToolkitError<"UNAVAILABLE"> {
    const { namespace, label, nextAttemptAt } = this;
    // Not `lastError`, which quotes what the server printed: a caller gets this.
    const cause = this.parts.supervisor.lastError;
    const now = this.#clock.now();
    const retryInMs = nextAttemptAt === undefined ? undefined : Math.max(0, Math.round(nextAttemptAt - now));
    return unavailable({ namespace, label, cause, retryInMs });
  }

  /** The reasons why what is known of some kinds may be old or missing. */
  protected failures(of: readonly Kind[]): readonly ListFailure[] {
    const { namespace, state, since } = this;
    // One that was given up has a reason, one that was removed has none.
    if (state === "idle" || (state === "stopped" && this.lastError === undefined)) return [];
    if (state !== "connected") return [{ namespace, error: this.unavailable(), since: this.downSince }];
    return [...this.parts.catalog.failures(of), ...this.#unlisted(of).map((error) => ({ namespace, error, since }))];
  }

  #unlisted(of: readonly Kind[]): readonly ToolkitError<"UNAVAILABLE">[] {
    const missing = this.parts.listed.missing(of);
    return missing.length === 0 ? [] : [unlisted(this, missing)];
  }

  /** The current session, where it is connected. */
  get session(): ConnectorSession | undefined {
    return this.parts.requests.session;
  }

  list<K extends Kind>(kind: K): readonly Entry<K>[] {
    return this.parts.namespace.entries(kind);
  }

  /** The fields as plain data, for logs and the console; times as ISO 8601. */
  toJSON(): Readonly<Record<string, unknown>> {
    const { namespace, label, trust, transport, state, server, protocolVersion, counts, lastError, attempts } = this;
    const { nextAttemptAt, latencyMs, callsInFlight, processId, warnings } = this;
    return {
      namespace,
      label,
      trust,
      transport,
      state,
      since: new Date(this.since).toISOString(),
      server: server === undefined ? undefined : [server.name, server.version].filter(Boolean).join(" "),
      protocolVersion,
      counts,
      lastError: lastError === undefined ? undefined : visible(lastError.message),
      attempts,
      nextAttemptAt: nextAttemptAt === undefined ? undefined : new Date(nextAttemptAt).toISOString(),
      latencyMs: latencyMs === undefined ? undefined : Math.round(latencyMs * 100) / 100,
      callsInFlight,
      processId,
      warnings,
    };
  }

  /** For the console: as `toJSON`, without what is not known or empty. */
  [inspect](depth: number, options: InspectOptions): string {
    const { attempts, callsInFlight, warnings, ...fields } = this.toJSON();
    const isEmpty = Array.isArray(warnings) && warnings.length === 0;
    const rest = { attempts: attempts || undefined, callsInFlight: callsInFlight || undefined };
    return shownAs("Connection", { ...fields, ...rest, warnings: isEmpty ? undefined : warnings }, depth, options);
  }

  /** `console.table` shows the enumerable fields of an object itself: these and no others, live, for an operator. */
  protected showInTables(): void {
    for (const name of Object.keys(this)) Object.defineProperty(this, name, { enumerable: false });
    const columns: Readonly<Record<string, () => unknown>> = {
      namespace: () => this.parts.namespace.name,
      state: () => this.parts.supervisor.state,
      label: () => visible(this.connector.label),
      tools: () => this.counts.tool,
      error: () =>
        this.state === "connected" ? "" : beginningOf(visible(this.parts.supervisor.lastError?.message ?? ""), 80),
    };
    for (const [name, get] of Object.entries(columns)) Object.defineProperty(this, name, { get, enumerable: true });
  }
}

import type { EventStreamOptions } from "../lib/event-stream.ts";
import type { AgentStep } from "./agent-event.ts";
import type { ApprovalStatus } from "./approval.ts";
import type { Connection, ServerInfo } from "./connection.ts";
import { ToolkitError } from "./error.ts";
import { assertOptionNames, shown } from "./options.ts";
import type { ContractChange } from "./pin.ts";
import type { Named } from "./rule-names.ts";

/** The changes of one namespace. Items are named by ref. */
export interface ListChange {
  readonly namespace: string;
  /** The connection the namespace belongs to; undefined for builtins and local sources. */
  readonly connection?: Connection | undefined;
  /** The owner of the items in the namespace `user`; undefined for those of no principal. */
  readonly principal?: string | undefined;
  /** Set for the first list of a kind that came after the tools of its server: lists and lookups of the kind waited for it. */
  readonly first?: true | undefined;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Still there under the same ref, with another fingerprint. */
  readonly changed: readonly string[];
}

/** The fields of each event, by type. */
export interface EventMap {
  /** The first attempt takes long: emitted after 5 s, and each time it has taken twice as long. */
  connectorConnecting: {
    readonly namespace: string;
    readonly connection: Connection;
    /** Time since the attempt began. */
    readonly elapsedMs: number;
    /** A likely cause of the wait, for people; undefined where none is known. */
    readonly hint?: string | undefined;
  };
  toolListChanged: ListChange;
  promptListChanged: ListChange;
  /** Resources and resource templates. */
  resourceListChanged: ListChange;
  /** The content of a resource changed. */
  resourceUpdated: {
    readonly namespace: string;
    readonly uri: string;
    readonly connection?: Connection | undefined;
    /** The owner of the resource in the namespace `user`; undefined for one of no principal. */
    readonly principal?: string | undefined;
  };
  connectorConnected: { readonly namespace: string; readonly connection: Connection; readonly server: ServerInfo };
  connectorDisconnected: {
    readonly namespace: string;
    readonly connection: Connection;
    readonly error?: Error | undefined;
    /** Attempts since the last handshake. */
    readonly attempts: number;
    /** Undefined when no attempt follows. */
    readonly retryInMs?: number | undefined;
  };
  connectorRemoved: { readonly namespace: string; readonly connection: Connection; readonly error?: Error | undefined };
  /** The server says something else of its items, or of itself, than was accepted; emitted once for each reading of its lists. */
  contractChanged: {
    readonly namespace: string;
    readonly connection: Connection;
    readonly changes: readonly ContractChange[];
    /** So many more changes are not listed. */
    readonly omitted: number;
    /** Items that changed are refused until they are accepted. */
    readonly quarantined: boolean;
  };
  /** An unscoped name that several namespaces have was resolved by order; emitted once a name. */
  ambiguousName: {
    readonly name: string;
    readonly chosen: string;
    readonly candidates: readonly string[];
    /** To whom it is ambiguous, where that is because of an item of theirs. */
    readonly principal?: string | undefined;
  };
  /** Only in `events()`: so many were lost here, because the reader was too slow. */
  eventsLost: { readonly count: number };
  /** A call waits for an approval, or for work elsewhere. Its arguments are on the approval. */
  approvalRequested: {
    readonly id: string;
    readonly ref: string;
    readonly kind: "approval" | "completion";
    readonly reason: string;
    /** The principal of the caller. */
    readonly principal?: string | undefined;
  };
  /** It was decided: `running` where it was approved, and `succeeded` or `failed` where work elsewhere came to that. */
  approvalResolved: {
    readonly id: string;
    readonly ref: string;
    readonly status: Exclude<ApprovalStatus, "pending">;
    readonly by?: string | undefined;
    readonly reason?: string | undefined;
    /** The principal of the caller. */
    readonly principal?: string | undefined;
  };
  callStarted: {
    readonly callId: string;
    readonly ref: string;
    /** The principal of the caller. */
    readonly principal?: string | undefined;
    /** The labels of the tool. */
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
  /** A model has answered in the run of an agent. */
  agentStep: AgentStep & {
    readonly run: string;
    readonly ref: string;
    readonly depth: number;
    /** The principal of the caller. */
    readonly principal?: string | undefined;
  };
  callFinished: {
    readonly callId: string;
    readonly ref: string;
    /** The principal of the caller. */
    readonly principal?: string | undefined;
    /** The labels of the tool. */
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly durationMs: number;
    readonly error?: ToolkitError | Error | undefined;
  };
}

/** The name of a type of event. */
export type ToolkitEventType = keyof EventMap;

const eventTypes: { readonly [T in ToolkitEventType]: true } = {
  toolListChanged: true,
  promptListChanged: true,
  resourceListChanged: true,
  resourceUpdated: true,
  connectorConnecting: true,
  connectorConnected: true,
  connectorDisconnected: true,
  connectorRemoved: true,
  contractChanged: true,
  ambiguousName: true,
  eventsLost: true,
  approvalRequested: true,
  approvalResolved: true,
  agentStep: true,
  callStarted: true,
  callFinished: true,
};

/** @throws ToolkitError `INVALID_INPUT` for an unknown type of event, or a listener that is no function */
export function assertListener(type: unknown, listener: unknown): void {
  const types = ["*", ...Object.keys(eventTypes)];
  const problem = !types.includes(type as string)
    ? { pointer: "/type", message: `the type must be one of ${types.join(", ")}, and is ${shown(type)}` }
    : typeof listener !== "function"
      ? { pointer: "/listener", message: "the listener must be a function" }
      : undefined;
  if (problem === undefined) return;
  throw new ToolkitError("INVALID_INPUT", `The listener was not added: ${problem.message}.`, { issues: [problem] });
}

/** An event of the toolkit, emitted after the change it reports. */
export type ToolkitEvent<T extends ToolkitEventType = ToolkitEventType> = {
  [P in T]: { readonly type: P } & EventMap[P];
}[T];

/** A listener for events of a type, or for all with `*`. An error it throws is logged and affects nothing else. */
export type EventListener<T extends ToolkitEventType | "*"> = (
  event: T extends ToolkitEventType ? ToolkitEvent<T> : ToolkitEvent,
) => void;

/** The types of events that say which items changed. */
export type ListEventType = Extract<ToolkitEventType, `${string}ListChanged`>;

/** The entries of a change, of which the event has the refs. */
export interface ChangedEntries {
  readonly added: readonly Named[];
  readonly removed: readonly Named[];
  readonly changed: readonly Named[];
}

const changedEntries = new WeakMap<ToolkitEvent, ChangedEntries>();

/** The event of a change, which keeps its entries for those in the library that must know more than refs. */
export function listChangedEvent(
  type: ListEventType,
  of: Pick<ListChange, "namespace" | "connection" | "principal" | "first">,
  entries: ChangedEntries,
): ToolkitEvent {
  const refs = (list: readonly Named[]) => list.map(({ ref }) => ref);
  const { added, removed, changed } = entries;
  const event: ToolkitEvent = { type, ...of, added: refs(added), removed: refs(removed), changed: refs(changed) };
  changedEntries.set(event, entries);
  return event;
}

/** The entries of an event's change; undefined where only refs are known. */
export function changedEntriesOf(event: ToolkitEvent): ChangedEntries | undefined {
  return changedEntries.get(event);
}

/** @throws ToolkitError `INVALID_INPUT` for a number of events that cannot wait, `INVALID_CONFIG` for an option there is not */
export function assertEventOptions(options: EventStreamOptions): void {
  assertOptionNames(options, { limit: true, signal: true }, "of events");
  const { limit } = options;
  if (limit === undefined || limit === Number.POSITIVE_INFINITY || (Number.isInteger(limit) && limit > 0)) return;
  const message = `the limit must be a whole number from 1, and is ${shown(limit)}`;
  throw new ToolkitError("INVALID_INPUT", `The events cannot be read: ${message}.`, {
    issues: [{ pointer: "/limit", message }],
  });
}

import { randomUUID } from "node:crypto";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { shown } from "../../core/options.ts";
import type { Session } from "../../core/session.ts";
import type { RecordKey, Store, StoredRecord } from "../../core/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { isRecord, present } from "../../lib/value.ts";
import { visible } from "../../lib/visible-text.ts";
import type { ConversationLimits } from "../agent-options.ts";
import { isExpired, sweepExpired } from "../expired-records.ts";
import { resultOwner } from "../results/result-owner.ts";
import type { Conversation } from "../run/run-state.ts";
import { parseConversation } from "./conversation-messages.ts";

/** A conversation that a run continues, as it was when the run began: plain JSON, for a run that is suspended. */
export interface Thread {
  readonly id: string;
  readonly owner: string;
  readonly key: string;
  /** The version that the run expects; 0 for a new one. */
  readonly version: number;
  /** Answered so far. Missing in a record of an early version. */
  readonly turns?: number | undefined;
  /** Another one for a conversation that is begun again under an id that was deleted. */
  readonly incarnation: string;
}

/** A conversation, and its place. */
export interface OpenConversation {
  readonly conversation: Conversation;
  readonly thread: Thread;
}

/** A kept conversation in a list. */
export interface ConversationSummary {
  readonly id: string;
  /** Of its last turn, in milliseconds since the epoch. */
  readonly updatedAt: number;
  /** In bytes. */
  readonly size: number;
  /** The suspended run that continues it, if any. */
  readonly waitsFor?: string | undefined;
}

const collection = "conversation";
/** The conversations of one owner, in bytes. */
const maxOwnerBytes = 256 * 2 ** 20;
const emptyConversation: Conversation = { messages: [], toolCalls: 0 };

/** The conversations in which a run of this process is, by store. */
const busy = new WeakMap<Store, Set<string>>();

/** @throws ToolkitError `INVALID_INPUT` for an id that is none */
function keyOf(id: string, session: Session | undefined): RecordKey {
  if (typeof id !== "string" || id === "" || id.length > 256) {
    const message = `must be an id of 1 to 256 characters, and is ${shown(id)}`;
    const issues = [{ pointer: "/conversation", message }];
    throw new ToolkitError("INVALID_INPUT", `The option conversation ${message}.`, { issues });
  }
  const { principal, session: anonymous } = resultOwner(session);
  if (principal !== undefined) return { collection, owner: principal, key: id };
  return { collection, owner: "", key: anonymous === undefined ? `/${id}` : `s${encodeURIComponent(anonymous)}/${id}` };
}

function nameOf({ owner, key }: RecordKey): string {
  return JSON.stringify([owner, key]);
}

/** A conversation without a turn. */
function begun(id: string, { owner, key }: RecordKey): OpenConversation {
  const thread = { id, owner, key, version: 0, turns: 0, incarnation: randomUUID() };
  return { conversation: emptyConversation, thread };
}

async function deleteVersion(id: string, record: StoredRecord, store: Store): Promise<void> {
  try {
    await store.delete(record, { expectedVersion: record.version });
  } catch (error) {
    throw ToolkitError.is(error, "CONFLICT") ? changed(id, error.details.version) : error;
  }
}

/** The things that kept conversations need. */
export interface ConversationsHost {
  readonly clock: Clock;
  readonly limits: ConversationLimits;
  /** True for a suspended run that still exists. */
  isWaiting(run: string): Promise<boolean>;
}

/** A store, and the session whose conversations of it are meant. */
export interface ConversationPlace {
  readonly store: Store;
  readonly session: Session | undefined;
}

/** A conversation of a store, and the suspended run that continues it. */
export interface FoundConversation {
  readonly conversation: Conversation;
  readonly waitsFor: string | undefined;
}

/** The conversations that are kept by id, by owner, in stores. */
export class KeptConversations {
  readonly #host: ConversationsHost;

  constructor(host: ConversationsHost) {
    this.#host = host;
  }

  /**
   * Opens a conversation for one run, and holds it in this process until that ends.
   *
   * @throws ToolkitError `CONFLICT` while another run of this process continues it, or a suspended one waits in it; `LIMIT_EXCEEDED` for one
   *   with too many turns; `STORE_FAILED`
   */
  async open<T>(
    id: string,
    { store, session }: ConversationPlace,
    run: (opened: OpenConversation) => Promise<T>,
  ): Promise<T> {
    const place = keyOf(id, session);
    const held = busy.get(store) ?? new Set();
    busy.set(store, held);
    const name = nameOf(place);
    if (held.has(name)) throw conflict(id, "another run continues it now. Wait for its end, then send this turn again");
    held.add(name);
    try {
      return await run(await this.#opened(id, place, store));
    } finally {
      held.delete(name);
    }
  }

  /**
   * Stores a conversation after a turn, or with the run that waits in it.
   *
   * @throws ToolkitError `CONFLICT` where it has changed since it was opened: nothing is written then; `STORE_FAILED`, `LIMIT_EXCEEDED`
   */
  async save(
    { messages, toolCalls }: Conversation,
    thread: Thread,
    { store, waitsFor }: { readonly store: Store; readonly waitsFor?: string | undefined },
  ): Promise<Thread> {
    const { id, owner, key, version: expectedVersion, incarnation } = thread;
    const { clock, limits } = this.#host;
    const { keepMs, limit: items, maxBytes: itemBytes } = limits;
    const place = { collection, owner, key } as const;
    if (expectedVersion > 0) {
      const there = await store.get(place, { bytes: false });
      if (there !== undefined && fieldsOf(there).incarnation !== incarnation) throw changed(id, there.version);
    }
    const turns = (thread.turns ?? 0) + (waitsFor === undefined ? 1 : 0);
    const expiresAt = Number.isFinite(keepMs) ? Math.floor(clock.now() + keepMs) : undefined;
    const value = present({ id, toolCalls, turns, incarnation, waitsFor, expiresAt });
    const quota = { items, itemBytes, bytes: Math.max(maxOwnerBytes, itemBytes) };
    try {
      if (expiresAt !== undefined) await this.#sweep(store);
      const draft = { ...place, value, bytes: Buffer.from(JSON.stringify(messages)) };
      const { version } = await store.put(draft, { expectedVersion, quota });
      return { ...thread, version, turns };
    } catch (error) {
      if (ToolkitError.is(error, "CONFLICT")) throw changed(id, error.details.version);
      throw error;
    }
  }

  /** A conversation in one of several stores. @throws ToolkitError `INVALID_INPUT`, `STORE_FAILED` */
  async find(
    id: string,
    session: Session | undefined,
    stores: readonly Store[],
  ): Promise<FoundConversation | undefined> {
    const place = keyOf(id, session);
    for (const store of stores) {
      const record = await store.get(place);
      if (record === undefined || (await this.#isOver(record))) continue;
      return { conversation: conversationOf(record), waitsFor: fieldsOf(record).waitsFor };
    }
    return undefined;
  }

  /** The conversations of a session, the last changed first. */
  async list(session: Session | undefined, stores: readonly Store[]): Promise<readonly ConversationSummary[]> {
    const { owner, key } = keyOf("-", session);
    const prefix = owner === "" ? key.slice(0, -1) : "";
    const lists = await Promise.all(stores.map((store) => store.list({ collection, owner })));
    const records: StoredRecord[] = [];
    for (const record of lists.flatMap((list) => list.records))
      if (record.key.startsWith(prefix) && !(await this.#isOver(record))) records.push(record);
    records.sort((one, other) => other.updatedAt - one.updatedAt);
    return records.map(({ key: name, updatedAt, size = 0, value }) => ({
      id: name.slice(prefix.length),
      updatedAt,
      size,
      ...present({ waitsFor: waitingIn(value) }),
    }));
  }

  /** Deletes a conversation. @returns false where there is none */
  async delete(id: string, session: Session | undefined, stores: readonly Store[]): Promise<boolean> {
    const place = keyOf(id, session);
    for (const store of stores) if ((await store.delete(place)) !== undefined) return true;
    return false;
  }

  async #opened(id: string, place: RecordKey, store: Store): Promise<OpenConversation> {
    const record = await store.get(place);
    const { owner, key } = place;
    if (record === undefined) return begun(id, place);
    const { waitsFor, incarnation, turns } = fieldsOf(record);
    const { version } = record;
    if (waitsFor !== undefined && (await this.#host.isWaiting(waitsFor)))
      throw conflict(id, `its run ${waitsFor} waits. Resume that run, or forget it`, version);
    if (isExpired(record, this.#host.clock)) {
      // Now, so that no sweep of another process takes the record from under the turn.
      await deleteVersion(id, record, store);
      return begun(id, place);
    }
    const { maxTurns } = this.#host.limits;
    if (turns >= maxTurns) throw tooManyTurns(id, turns + 1, maxTurns);
    return { conversation: conversationOf(record), thread: { id, owner, key, version, turns, incarnation } };
  }

  /** A conversation whose time is over is kept while a run waits in it. */
  async #isOver(record: StoredRecord): Promise<boolean> {
    return isExpired(record, this.#host.clock) && !(await this.#isHeld(record));
  }

  async #isHeld(record: StoredRecord): Promise<boolean> {
    const { waitsFor } = fieldsOf(record);
    return waitsFor !== undefined && this.#host.isWaiting(waitsFor);
  }

  /** A failure of it fails no turn. */
  async #sweep(store: Store): Promise<void> {
    const { clock, limits } = this.#host;
    const isHeld = async (record: StoredRecord) =>
      busy.get(store)?.has(nameOf(record)) === true || this.#isHeld(record);
    await sweepExpired(store, collection, { clock, keepMs: limits.keepMs }, isHeld).catch(() => undefined);
  }
}

/** The fields of the value of a record. */
interface ConversationFields {
  readonly waitsFor: string | undefined;
  readonly incarnation: string;
  readonly turns: number;
}

function fieldsOf({ value }: StoredRecord): ConversationFields {
  const { incarnation, turns } = isRecord(value) ? value : {};
  return {
    waitsFor: waitingIn(value),
    incarnation: String(incarnation),
    turns: typeof turns === "number" ? turns : 0,
  };
}

function waitingIn(value: unknown): string | undefined {
  return isRecord(value) && typeof value.waitsFor === "string" ? value.waitsFor : undefined;
}

/** @throws ToolkitError `STORE_FAILED` for a record that was edited by hand */
function conversationOf({ key, value, bytes }: StoredRecord): Conversation {
  try {
    const messages = JSON.parse(Buffer.from(bytes ?? []).toString()) as LanguageModelV4Prompt;
    return parseConversation({ messages, toolCalls: isRecord(value) ? value.toolCalls : undefined });
  } catch (cause) {
    const message = `The conversation "${visible(key)}" cannot be read: its record was changed outside of the agent.`;
    throw new ToolkitError("STORE_FAILED", message, { operation: "get" }, { cause });
  }
}

function tooManyTurns(id: string, actual: number, max: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `The conversation "${visible(id)}" has ${max} turns, the most it may have (conversations.maxTurns). Begin another one.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxTurns", max, actual });
}

function changed(id: string, version: number | undefined): ToolkitError<"CONFLICT"> {
  return conflict(id, "it has changed since this run began, so this turn is not kept. Send it again", version);
}

function conflict(id: string, why: string, version?: number): ToolkitError<"CONFLICT"> {
  const message = `The conversation "${visible(id)}" cannot be continued: ${why}.`;
  return new ToolkitError("CONFLICT", message, { key: id, owners: [], version });
}

import { randomUUID } from "node:crypto";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { shown } from "../../core/options.ts";
import type { Session } from "../../core/session.ts";
import type { RecordKey, Store, StoredRecord } from "../../core/store.ts";
import { isRecord, present } from "../../lib/value.ts";
import { visible } from "../../lib/visible-text.ts";
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
const quota = { items: 10_000, itemBytes: 16 * 2 ** 20, bytes: 256 * 2 ** 20 };
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

/** Where conversations of runs are kept. */
export interface ConversationPlace {
  readonly store: Store;
  readonly session: Session | undefined;
  /** True for a suspended run that still exists. */
  isWaiting(run: string): Promise<boolean>;
}

/**
 * Opens a conversation for one run, and holds it in this process until that ends.
 *
 * @throws ToolkitError `CONFLICT` while another run of this process continues it, or a suspended one waits in it; `STORE_FAILED`
 */
export async function withConversation<T>(
  id: string,
  { store, session, isWaiting }: ConversationPlace,
  run: (opened: OpenConversation) => Promise<T>,
): Promise<T> {
  const place = keyOf(id, session);
  const held = busy.get(store) ?? new Set();
  busy.set(store, held);
  const name = JSON.stringify([place.owner, place.key]);
  if (held.has(name)) throw conflict(id, "another run continues it now. Wait for its end, then send this turn again");
  held.add(name);
  try {
    return await run(await opened(id, place, { store, isWaiting }));
  } finally {
    held.delete(name);
  }
}

async function opened(
  id: string,
  place: RecordKey,
  { store, isWaiting }: Pick<ConversationPlace, "store" | "isWaiting">,
): Promise<OpenConversation> {
  const record = await store.get(place);
  const { owner, key } = place;
  if (record === undefined) {
    const thread = { id, owner, key, version: 0, incarnation: randomUUID() };
    return { conversation: emptyConversation, thread };
  }
  const { waitsFor, incarnation } = fieldsOf(record);
  if (waitsFor !== undefined && (await isWaiting(waitsFor)))
    throw conflict(id, `its run ${waitsFor} waits. Resume that run, or forget it`, record.version);
  return { conversation: conversationOf(record), thread: { id, owner, key, version: record.version, incarnation } };
}

/**
 * Stores a conversation after a turn, or with the run that waits in it.
 *
 * @throws ToolkitError `CONFLICT` where it has changed since it was opened: nothing is written then; `STORE_FAILED`, `LIMIT_EXCEEDED`
 */
export async function saveConversation(
  { messages, toolCalls }: Conversation,
  thread: Thread,
  { store, waitsFor }: { readonly store: Store; readonly waitsFor?: string | undefined },
): Promise<Thread> {
  const { id, owner, key, version: expectedVersion, incarnation } = thread;
  const place = { collection, owner, key } as const;
  if (expectedVersion > 0) {
    const there = await store.get(place, { bytes: false });
    if (there !== undefined && fieldsOf(there).incarnation !== incarnation) throw changed(id, there.version);
  }
  const bytes = Buffer.from(JSON.stringify(messages));
  const draft = { ...place, value: present({ id, toolCalls, incarnation, waitsFor }), bytes };
  try {
    const { version } = await store.put(draft, { expectedVersion, quota });
    return { ...thread, version };
  } catch (error) {
    if (ToolkitError.is(error, "CONFLICT")) throw changed(id, error.details.version);
    throw error;
  }
}

/** A conversation in one of several stores. @throws ToolkitError `INVALID_INPUT`, `STORE_FAILED` */
export async function findConversation(
  id: string,
  session: Session | undefined,
  stores: readonly Store[],
): Promise<Conversation | undefined> {
  const place = keyOf(id, session);
  for (const store of stores) {
    const record = await store.get(place);
    if (record !== undefined) return conversationOf(record);
  }
  return undefined;
}

/** The conversations of a session, the last changed first. */
export async function listConversations(
  session: Session | undefined,
  stores: readonly Store[],
): Promise<readonly ConversationSummary[]> {
  const { owner, key } = keyOf("-", session);
  const prefix = owner === "" ? key.slice(0, -1) : "";
  const lists = await Promise.all(stores.map((store) => store.list({ collection, owner })));
  const records = lists.flatMap((list) => list.records).filter((record) => record.key.startsWith(prefix));
  records.sort((one, other) => other.updatedAt - one.updatedAt);
  return records.map(({ key: name, updatedAt, size = 0, value }) => ({
    id: name.slice(prefix.length),
    updatedAt,
    size,
    ...present({ waitsFor: waitingIn(value) }),
  }));
}

/** Deletes a conversation. @returns false where there is none */
export async function deleteConversation(
  id: string,
  session: Session | undefined,
  stores: readonly Store[],
): Promise<boolean> {
  const place = keyOf(id, session);
  for (const store of stores) if ((await store.delete(place)) !== undefined) return true;
  return false;
}

function fieldsOf({ value }: StoredRecord): { readonly waitsFor: string | undefined; readonly incarnation: string } {
  const { incarnation } = isRecord(value) ? value : {};
  return { waitsFor: waitingIn(value), incarnation: String(incarnation) };
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

function changed(id: string, version: number | undefined): ToolkitError<"CONFLICT"> {
  return conflict(id, "it has changed since this run began, so this turn is not kept. Send it again", version);
}

function conflict(id: string, why: string, version?: number): ToolkitError<"CONFLICT"> {
  const message = `The conversation "${visible(id)}" cannot be continued: ${why}.`;
  return new ToolkitError("CONFLICT", message, { key: id, owners: [], version });
}

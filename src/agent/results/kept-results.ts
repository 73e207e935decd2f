import { callStateOf } from "../../call/call-port.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import type { ResourceTemplate } from "../../core/item.ts";
import type { Content, ReadOptions } from "../../core/resource.ts";
import type { Logger, Session } from "../../core/session.ts";
import type { RecordKey, Store } from "../../core/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { isRecord, present } from "../../lib/value.ts";
import { contentFromJson } from "../../resource/from-json.ts";
import { wholeHandle } from "../../resource/handle.ts";
import { memoryStore } from "../../store/memory-store.ts";
import type { KnownRetention, ParsedAgentOptions } from "../agent-options.ts";
import { isExpired, sweepExpired } from "../expired-records.ts";
import { type ResultOwner, resultOwner } from "./result-owner.ts";

/** A store of results. */
export interface ResultStoreOptions extends KnownRetention {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger | undefined;
}

/** So many results of one owner are kept. */
const maxResults = 10_000;
const collection = "result";

const ownStores = new WeakMap<object, Store>();

/** The store of results of an agent, for runs outside of the toolkits that it serves. It ends with the agent. */
export function ownStoreOf(agent: object, clock: Clock): Store {
  const store = ownStores.get(agent) ?? memoryStore({ clock });
  ownStores.set(agent, store);
  return store;
}

/** The results of tools that were too long for a conversation, by owner and for a time, in a store. */
export class KeptResults {
  readonly #options: ResultStoreOptions;

  constructor(options: ResultStoreOptions) {
    this.#options = options;
  }

  /** Stores a result. A failure is logged: the run that has the result goes on. */
  async put(uri: string, content: Content, owner: ResultOwner): Promise<void> {
    const { store, clock, keepMs, maxBytes, logger } = this.#options;
    const bytes = Buffer.from(JSON.stringify(content.toJSON()));
    const expiresAt = clock.now() + keepMs;
    const draft = { ...keyOf(uri, owner), value: present({ expiresAt, session: owner.session }), bytes };
    const quota = { items: maxResults, bytes: maxBytes };
    try {
      await sweepExpired(store, collection, { clock, keepMs });
      await store.put(draft, { quota }).catch(async (error: unknown) => {
        if (!ToolkitError.is(error, "LIMIT_EXCEEDED") || bytes.length > maxBytes) throw error;
        await this.#makeRoom(draft.owner, bytes.length);
        return store.put(draft, { quota });
      });
    } catch (error) {
      logger?.warn(`The result ${uri} is kept for its run alone: ${messageOf(error)}`, { error });
    }
  }

  /**
   * A result of an owner; undefined for one of another owner, and one that is not there.
   *
   * @throws ToolkitError `NOT_FOUND` for one that has expired; `STORE_FAILED`
   */
  async get(uri: string, owner: ResultOwner): Promise<Content | undefined> {
    const record = await this.#options.store.get(keyOf(uri, owner));
    if (record?.bytes === undefined) return undefined;
    if (!isRecord(record.value) || record.value.session !== owner.session) return undefined;
    if (isExpired(record, this.#options.clock)) throw expired(uri, this.#options.keepMs);
    return contentFromJson(JSON.parse(Buffer.from(record.bytes).toString()));
  }

  /** Deletes the oldest results of an owner. */
  async #makeRoom(owner: string, needed: number): Promise<void> {
    const { store, maxBytes } = this.#options;
    const { records } = await store.list({ collection, owner });
    let left = records.reduce((sum, { size = 0 }) => sum + size, 0);
    let count = records.length;
    // Each record has a value beside its bytes.
    const most = maxBytes - needed - (count + 1) * 200;
    for (const record of [...records].sort((one, other) => one.updatedAt - other.updatedAt)) {
      if (left <= most && count < maxResults) return;
      await store.delete(record);
      left -= record.size ?? 0;
      count -= 1;
    }
  }
}

/** Where results are looked for. */
export interface ResultPlaces {
  readonly session: Session | undefined;
  readonly stores: readonly Store[];
  readonly options: ParsedAgentOptions;
}

/** The long results of an agent as resources of a toolkit that it serves: each is read by its owner alone. */
export function resultTemplate(store: Store, options: ParsedAgentOptions): ResourceTemplate {
  return {
    kind: "template",
    name: "results",
    uriTemplate: "result:{run}/{number}",
    description: "A result of a tool that was too long for the conversation of an agent, whole.",
    resource(uri) {
      const read = (context: ReadOptions) =>
        findResult(uri, { session: callStateOf(context)?.givenSession, stores: [store], options });
      return wholeHandle({ name: "result", uri, read });
    },
  };
}

/** @throws ToolkitError `NOT_FOUND`, also for the result of another owner; `STORE_FAILED` */
export async function findResult(uri: string, { session, stores, options }: ResultPlaces): Promise<Content> {
  const { clock, results } = options;
  for (const store of stores) {
    const kept = new KeptResults({ store, clock, logger: undefined, ...results });
    const content = await kept.get(uri, resultOwner(session));
    if (content !== undefined) return content;
  }
  throw noResult(uri);
}

function keyOf(key: string, { principal = "" }: ResultOwner): RecordKey {
  return { collection, owner: principal, key };
}

function expired(uri: string, keepMs: number): ToolkitError<"NOT_FOUND"> {
  const message = `${uri} cannot be read: it has expired. Results are kept for ${keepMs} ms, the option results.keepMs of the agent.`;
  return new ToolkitError("NOT_FOUND", message, { key: uri, suggestions: [] });
}

/** The error for a result that is not there; said of the result of another owner in the same words. */
export function noResult(uri: string, suggestions: readonly string[] = []): ToolkitError<"NOT_FOUND"> {
  const hint = suggestions.length === 0 ? "" : ` There are ${suggestions.join(", ")}.`;
  const message = `${uri} cannot be read: there is no such result, or it is too long ago and was forgotten.${hint}`;
  return new ToolkitError("NOT_FOUND", message, { key: uri, suggestions });
}

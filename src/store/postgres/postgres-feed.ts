import { randomUUID } from "node:crypto";
import { ToolkitError } from "../../core/error.ts";
import type { RecordKey, StoreEvent } from "../../core/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { runDetached } from "../../lib/promise.ts";
import { isCollection } from "../record.ts";
import { Watchers } from "../watchers.ts";
import type { Connections } from "./connections.ts";
import { Listener } from "./listener.ts";
import { OwnWrites } from "./own-writes.ts";
import type { PostgresBus } from "./postgres-bus.ts";
import type { Failed } from "./postgres-failure.ts";

/** The parts of a feed. */
export interface PostgresFeedOptions {
  readonly connections: Connections;
  readonly channel: string;
  readonly clock: Clock;
  readonly failed: Failed;
  /** Uses the same connection. */
  readonly bus: PostgresBus;
  /** Done before it listens, each time. */
  prepare(): Promise<void>;
}

/** The changes of the tables, by this process and others, for watchers. */
export class PostgresFeed {
  readonly #failed: Failed;
  readonly #listener: Listener;
  readonly #watchers = new Watchers();
  readonly #own = new OwnWrites();
  readonly #writer = randomUUID();
  /** The event emitted when it went down, until it is up again. */
  #down: StoreEvent | undefined;

  constructor({ connections, channel, clock, failed, bus, prepare }: PostgresFeedOptions) {
    this.#failed = failed;
    this.#listener = new Listener({
      connections,
      channel,
      clock,
      prepare: () => {
        this.#own.forget();
        return prepare();
      },
      attach: (session) => bus.attach(session),
      onNotice: (text, from) => (from === bus.notifications ? bus.receive(text) : this.#hear(text)),
      onDown: (error) => {
        bus.detach();
        this.#tellDown(error);
      },
      onUp: (again) => {
        this.#tellUp(again);
        if (again) bus.missed();
      },
      isWanted: () => this.#watchers.size > 0 || bus.isUsed,
    });
  }

  /** A watcher that comes while it is down gets the event at once. */
  watch(listener: (event: StoreEvent) => void): () => void {
    const stop = this.#watchers.add(listener);
    const down = this.#down;
    if (down === undefined) return stop;
    let isStopped = false;
    queueMicrotask(() => {
      if (!isStopped && this.#down === down) runDetached(() => listener(down), ignore);
    });
    return () => {
      isStopped = true;
      stop();
    };
  }

  /** Resolves when changes of others are received. Where they are not, it tries to listen now. @throws the reason it cannot */
  up(): Promise<void> {
    return this.#listener.up();
  }

  async close(): Promise<void> {
    await this.#listener.close();
    this.#watchers.clear();
  }

  /**
   * Makes a change, and reports it.
   *
   * @param run - gets the notice that goes to all with the change; gives the version, undefined where nothing was changed
   */
  async change<R extends { readonly version: number | undefined }>(
    { collection, owner, key }: RecordKey,
    deleted: boolean,
    run: (notice: string) => Promise<R>,
  ): Promise<R> {
    const named = { collection, owner, key };
    const write = this.#own.begin();
    try {
      const result = await run(noticeText({ ...named, deleted, writer: this.#writer, write }));
      const { version } = result;
      if (version === undefined) this.#own.failed(write);
      else if (this.#own.done(write, named, version)) this.#tellChange(named, version, deleted, "here");
      return result;
    } catch (error) {
      this.#own.failed(write);
      throw error;
    }
  }

  #hear(text: string | undefined): void {
    const notice = parseNotice(text);
    if (notice === undefined) {
      this.#watchers.tell({ type: "gap" });
      return;
    }
    const { collection, owner, key, version, deleted, writer, write } = notice;
    const named = { collection, owner, key };
    const isOwn = writer === this.#writer;
    const isNews = isOwn ? this.#own.heard(write, named, version) : this.#own.heardElsewhere(named, version);
    if (isNews) this.#tellChange(named, version, deleted, isOwn ? "here" : "elsewhere");
  }

  #tellChange(named: RecordKey, version: number, deleted: boolean, origin: "here" | "elsewhere"): void {
    this.#watchers.tell({ type: "changed", ...named, version, ...(deleted ? { deleted } : {}), origin });
  }

  #tellDown(thrown: unknown): void {
    const error = this.#failed("listen", thrown);
    // A missing table is no outage of the storage: the next operation reports it.
    if (!ToolkitError.is(error, "STORE_FAILED")) return;
    this.#down = Object.freeze({ type: "failed", error });
    this.#watchers.tell(this.#down);
  }

  #tellUp(again: boolean): void {
    this.#down = undefined;
    if (!again) return;
    this.#watchers.tell({ type: "recovered" });
    this.#watchers.tell({ type: "gap" });
  }
}

function ignore(): void {
  // As for all watchers: the error would be lost.
}

/** The notification of a change to other processes: names alone, as PostgreSQL carries less than 8,000 bytes. */
export interface Notice extends RecordKey {
  readonly version: number;
  readonly deleted: boolean;
  /** Which store it was, and its how manieth write. */
  readonly writer: string;
  readonly write: number;
}

/** The notice but for its version, which PostgreSQL puts in front. Nothing is escaped, so that it is never much longer than the names. */
export function noticeText({ collection, owner, key, deleted, writer, write }: Omit<Notice, "version">): string {
  return `${deleted ? "deleted" : "put"} ${writer} ${write} ${collection} ${owner.length} ${owner}${key}`;
}

const form = /^(\d+) (put|deleted) (\S+) (\d+) ([a-z]+) (\d+) (.+)$/s;

/** Undefined for a payload that is none, such as that of another program on the channel. */
export function parseNotice(text: string | undefined): Notice | undefined {
  const [found, version, what, writer = "", write, collection, ownerLength, names = ""] = form.exec(text ?? "") ?? [];
  if (found === undefined || !isCollection(collection)) return undefined;
  const owner = names.slice(0, Number(ownerLength));
  const key = names.slice(owner.length);
  const named = { collection, owner, key };
  return { ...named, version: Number(version), deleted: what === "deleted", writer, write: Number(write) };
}

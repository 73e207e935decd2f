import { createHash } from "node:crypto";
import type { BusEvent, BusSubscription } from "../../core/message-bus.ts";
import { assertChannel, ChannelListeners, maxMessageLength, messageText } from "../bus-rules.ts";
import type { Connections, PostgresSession } from "./connections.ts";
import { quoted, type Statements } from "./statements.ts";

/** The parts of a bus. */
export interface PostgresBusOptions {
  readonly connections: Connections;
  readonly statements: Statements;
  readonly schema: string;
}

interface OutgoingMessage extends PromiseWithResolvers<boolean> {
  readonly text: string;
}

/** The ids of messages that were received last: a notification that comes again is not followed again. */
const maxRemembered = 10_000;

/**
 * Messages through a table. A notification of PostgreSQL carries less than 8,000 bytes, and any user of the database may send one: so it
 * holds the id of a row alone, which only those who may write to the schema can have put there. A process that is subscribed to a channel
 * holds an advisory lock for it in the connection that listens: it is gone with the process, however that ends.
 */
export class PostgresBus {
  /** The channel of PostgreSQL. That of the records has other notices, which an earlier version of this package reads too. */
  readonly notifications: string;
  readonly #options: PostgresBusOptions;
  readonly #listeners = new ChannelListeners();
  /** Those of each channel that wait while others are sent. */
  readonly #outgoing = new Map<string, OutgoingMessage[]>();
  readonly #incoming: { readonly id: string; readonly channel: string }[] = [];
  readonly #received = new Set<string>();
  #reading: Promise<void> | undefined;
  #session: PostgresSession | undefined;
  /** The channels whose lock the session has. */
  #held = new Set<string>();
  #holding: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: PostgresBusOptions) {
    this.#options = options;
    this.notifications = `toolweave bus ${createHash("sha256").update(options.schema).digest("base64url").slice(0, 22)}`;
  }

  /** True while a channel has a listener. */
  get isUsed(): boolean {
    return this.#listeners.channels.length > 0;
  }

  /** The connection listens, and nothing is subscribed in it yet. */
  attach(session: PostgresSession): Promise<void> {
    this.#session = session;
    this.#held = new Set();
    return this.#hold();
  }

  /** The connection is lost, and with it all locks. */
  detach(): void {
    this.#session = undefined;
  }

  missed(): void {
    this.#listeners.missed();
  }

  /** A notification came, from a process that shares the schema or from any other user of the database. */
  receive(text: string | undefined): void {
    const [found, id = "", channel = ""] = /^(\d{1,18}) (\S+)$/.exec(text ?? "") ?? [];
    if (found === undefined || !this.#listeners.has(channel) || this.#received.has(id)) return;
    this.#incoming.push({ id, channel });
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
  }

  /** @param up - resolves once the connection listens */
  subscribe(channel: string, listener: (event: BusEvent) => void, up: () => Promise<void>): BusSubscription {
    assertChannel(channel);
    const remove = this.#listeners.add(channel, listener);
    const ready = up().then(() => this.#hold());
    // Its owner may not ask; a failure is followed by a gap.
    ready.catch(() => undefined);
    return { ready, end: () => void (remove() && this.#release(channel)) };
  }

  publish(channel: string, message: unknown): Promise<boolean> {
    assertChannel(channel);
    const sent: OutgoingMessage = { ...Promise.withResolvers<boolean>(), text: messageText(message) };
    const waiting = this.#outgoing.get(channel);
    if (waiting !== undefined) waiting.push(sent);
    else {
      this.#outgoing.set(channel, [sent]);
      void this.#send(channel);
    }
    return sent.promise;
  }

  /** The connection that listens is closed before. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    await this.#reading;
  }

  /** One statement after the other, so that messages keep their order; those that come meanwhile are sent together. */
  async #send(channel: string): Promise<void> {
    const { connections, statements, schema } = this.#options;
    for (;;) {
      const batch = nextBatch(this.#outgoing.get(channel) ?? []);
      if (batch.length === 0) break;
      const body = `[${batch.map(({ text }) => text).join(",")}]`;
      try {
        const values = [schema, this.notifications, channel, body];
        const [row] = await connections.run(({ query }) => query(statements.publish, values));
        for (const { resolve } of batch) resolve(row?.is_sent === "t");
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#outgoing.delete(channel);
  }

  /** Takes the locks that are missing. */
  #hold(): Promise<void> {
    this.#holding = this.#holding.catch(() => undefined).then(() => this.#take());
    return this.#holding;
  }

  async #take(): Promise<void> {
    const session = this.#session;
    const held = this.#held;
    const missing = this.#listeners.channels.filter((channel) => !held.has(channel));
    if (session === undefined || missing.length === 0) return;
    const { statements, schema } = this.#options;
    await session.query(`LISTEN ${quoted(this.notifications)}`);
    for (const channel of missing) {
      await session.query(statements.hold, [schema, channel]);
      held.add(channel);
    }
  }

  #release(channel: string): void {
    const free = async () => {
      if (this.#isClosed || this.#listeners.has(channel) || !this.#held.delete(channel)) return;
      const { statements, schema } = this.#options;
      await this.#session?.query(statements.release, [schema, channel]);
    };
    // Where it fails the connection is lost, and with it the lock.
    this.#holding = this.#holding.then(free, free).catch(() => undefined);
  }

  /** Reads the messages of notifications, in their order. */
  async #read(): Promise<void> {
    const { connections, statements } = this.#options;
    while (this.#incoming.length > 0 && !this.#isClosed) {
      const batch = this.#incoming.splice(0, 100);
      try {
        const ids = batch.map(({ id }) => id);
        const rows = await connections.run(({ query }) => query(statements.messages, [ids]));
        const found = new Map(rows.map(({ id, channel, body }) => [`${id} ${channel}`, body]));
        for (const { id, channel } of batch) this.#deliver(id, channel, found.get(`${id} ${channel}`));
      } catch {
        this.missed();
      }
    }
  }

  #deliver(id: string, channel: string, body: string | null | undefined): void {
    if (body === null || body === undefined || this.#received.has(id)) return;
    this.#received.add(id);
    const [oldest] = this.#received;
    if (this.#received.size > maxRemembered && oldest !== undefined) this.#received.delete(oldest);
    this.#listeners.receive(channel, body);
  }
}

/** Takes the first of those that wait, and as many after it as fit. */
function nextBatch(waiting: OutgoingMessage[]): readonly OutgoingMessage[] {
  let length = 0;
  const end = waiting.findIndex(({ text }, index) => {
    length += text.length;
    return index > 0 && length > maxMessageLength;
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}

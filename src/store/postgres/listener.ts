import { backoffDelay } from "../../lib/backoff.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Connections, PostgresSession } from "./connections.ts";
import type { PostgresClient } from "./pool.ts";
import { quoted } from "./statements.ts";

/** The parts of a listener. */
export interface ListenerOptions {
  readonly connections: Connections;
  readonly channel: string;
  readonly clock: Clock;
  /** Done before it listens, each time. */
  prepare(): Promise<void>;
  /** Done in the connection, each time it listens, before it is up. */
  attach(session: PostgresSession): Promise<void>;
  /** Something was sent on the channel, or on another to which `attach` listens. */
  onNotice(text: string | undefined, channel: string | undefined): void;
  /** The connection is lost, or cannot be made. Called once until it is up again. */
  onDown(error: unknown): void;
  /** It listens. `again` where it was down before: something may have been missed. */
  onUp(again: boolean): void;
  /** Whether it goes on trying by itself after the first attempt failed. */
  isWanted(): boolean;
}

const backoff = { baseMs: 100, maxMs: 5_000, random: Math.random };

/** The interval of heartbeats, and the longest wait for the answer of one. */
const heartbeatMs = 5_000;
const patienceMs = 5_000;

/** Sent by each listener when it first listens: that notices arrive is tried, not hoped. */
const greeting = "hello";
const unreached =
  "LISTEN receives no notification, as behind a pooler in transaction mode: connect to the server itself, or pool by session.";

/** Listens on a connection of its own for as long as it lives: after a break it connects again, later and later. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #listen: string;
  #client: PostgresClient | undefined;
  #attempt: Promise<void> | undefined;
  #timer: Timer | undefined;
  #failures = 0;
  #isDown = false;
  #wasUp = false;
  #greeted = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#listen = `LISTEN ${quoted(options.channel)}`;
  }

  /** Resolves when it listens. Where it does not, it tries now. @throws whatever keeps it from that */
  up(): Promise<void> {
    if (this.#client !== undefined || this.#isClosed) return Promise.resolve();
    this.#timer?.cancel();
    this.#attempt ??= this.#try().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#attempt?.catch(() => undefined);
    this.#leave();
  }

  async #try(): Promise<void> {
    try {
      await this.#options.prepare();
      await this.#connect();
    } catch (error) {
      this.#leave();
      this.#fail(error);
      throw error;
    }
    if (this.#isClosed) return this.#leave();
    const again = this.#isDown;
    this.#isDown = false;
    this.#wasUp = true;
    this.#failures = 0;
    this.#options.onUp(again);
    this.#beat();
  }

  async #connect(): Promise<void> {
    const { connections, onNotice } = this.#options;
    const client = await connections.take();
    this.#client = client;
    client.on("notification", ({ payload, channel }) => {
      if (payload === greeting) this.#greeted.resolve();
      else onNotice(payload, channel);
    });
    client.on("error", (error) => this.#break(client, error));
    client.on("end", () => this.#break(client, new Error("The connection that listens has ended.")));
    await connections.session(client).query(this.#listen);
    if (!this.#wasUp) await this.#greet();
    await this.#options.attach(connections.session(client, patienceMs));
    if (this.#client !== client) throw new Error("The connection that listens has ended.");
  }

  /** A pooler that hands each transaction another connection takes LISTEN, and nothing ever comes. Better said at once. */
  async #greet(): Promise<void> {
    const { connections, channel, clock } = this.#options;
    const timer = clock.setTimer(() => this.#greeted.reject(new Error(unreached)), patienceMs);
    try {
      const sent = connections.run(({ query }) => query("SELECT pg_notify($1, $2)", [channel, greeting]));
      await Promise.all([sent, this.#greeted.promise]);
    } finally {
      timer.cancel();
      this.#greeted = Promise.withResolvers<void>();
    }
  }

  /** A connection whose other end is gone without a word is found out by asking. To listen twice is to listen. */
  #beat(): void {
    const client = this.#client;
    if (client === undefined) return;
    this.#timer = this.#options.clock.setTimer(() => {
      this.#options.connections
        .session(client, patienceMs)
        .query(this.#listen)
        .then(
          () => this.#client === client && this.#beat(),
          (error) => this.#break(client, error),
        );
    }, heartbeatMs);
  }

  #break(client: PostgresClient, error: unknown): void {
    if (this.#client !== client) return;
    this.#leave();
    // While it is being connected, that attempt reports.
    if (this.#attempt === undefined) this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.#failures += 1;
    const isNews = !this.#isDown;
    this.#isDown = true;
    if (isNews) this.#options.onDown(error);
    if (!this.#wasUp && !this.#options.isWanted()) return;
    const delayMs = backoffDelay(this.#failures, backoff);
    this.#timer = this.#options.clock.setTimer(() => this.up().catch(() => undefined), delayMs);
  }

  #leave(): void {
    this.#timer?.cancel();
    const client = this.#client;
    this.#client = undefined;
    client?.release(true);
  }
}

import { setImmediate } from "node:timers/promises";
import type { Connector, ConnectorHost, ConnectorSession, ServerProcess } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import { type Kind, kinds } from "../core/item.ts";
import type { LogEntry } from "../core/session.ts";
import type { SourceChange } from "../core/source.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { Coalescer } from "../lib/coalesce.ts";
import { abortable } from "../lib/promise.ts";
import { Health } from "./health.ts";
import { NotificationThrottle } from "./notification-throttle.ts";
import { type RemoteLists, readLists } from "./remote-lists.ts";
import type { Generation } from "./supervisor.ts";

/** Whoever waits for something of a session. */
export interface Watcher {
  /** The session has ended, with why where that is known: there will be no answer. */
  cut(why: Error | undefined): void;
}

/** What a generation tells, and what it goes by. */
export interface GenerationHost {
  readonly clock: Clock;
  /** How often lists are read again that the server does not announce, or that could not be read, in milliseconds. */
  readonly pollMs: number;
  /** How long it may take to read lists again, in milliseconds. */
  readonly listTimeoutMs: number;
  /** How long the far side may be silent though it is asked, in milliseconds; undefined where the session is to say. */
  readonly healthCheckMs: number | undefined;
  /** Lists were read again. */
  listed(lists: RemoteLists): void;
  /** The content of a resource changed. */
  updated(uri: string): void;
  /** Changes of resources may have gone unheard. */
  missed(): void;
  /** A ping was answered, after so many milliseconds. */
  pinged(latencyMs: number): void;
  log(entry: LogEntry): void;
  /** The attempt to connect waits for a person, or does no longer. */
  waits(reason: Error | undefined): void;
  /** The attempt to connect has started a child process. */
  started(process: ServerProcess): void;
  /** Where what the server asks goes; missing, it is told that nobody can be asked. */
  readonly elicit: ConnectorHost["elicit"];
  readonly sample: ConnectorHost["sample"];
  onError(error: unknown): void;
}

const burstMs = 20;
// Of a server that announces without end.
const maxGapMs = 5_000;
const defaultSilenceMs = 5_000;

/**
 * Connects, and lists everything.
 *
 * @throws whatever the connector throws, why the session ended while it was listed, or the signal's reason; the session is ended then
 */
export async function openGeneration(
  connector: Connector,
  signal: AbortSignal,
  host: GenerationHost,
): Promise<RemoteGeneration> {
  const announced = new Announcements(host);
  const session = await connector.connect({ signal, host: announced });
  const reading = new AbortController();
  try {
    assertSession(session, connector.label);
    const ended = session.closed.then((error) => {
      throw error ?? new Error("The connection was closed before it was listed.");
    });
    const lists = readLists(session, kinds, { label: connector.label, signal: reading.signal });
    return new RemoteGeneration(session, await abortable(Promise.race([lists, ended]), signal), announced, host);
  } catch (error) {
    announced.end();
    reading.abort(error);
    const dispose = async () => session?.[Symbol.asyncDispose]?.();
    await dispose().catch((failure) => host.onError(failure));
    throw error;
  }
}

/**
 * One generation of a connection: its session, what that listed first, and what it announces from then on. After its end it tells
 * nothing.
 */
export class RemoteGeneration implements Generation {
  readonly session: ConnectorSession;
  /** What was listed at the handshake. */
  readonly lists: RemoteLists;
  /** Resolves, with why if it was not asked for, when it has ended: the session says so, or it is silent for too long. */
  readonly closed: Promise<Error | undefined>;
  readonly #announced: Announcements;
  readonly #host: GenerationHost;
  readonly #relist: Coalescer<Kind>;
  readonly #failed = new Set<Kind>();
  readonly #health: Health;
  readonly #watchers = new Set<Watcher>();
  readonly #ended = new AbortController();
  #poll: Timer | undefined;

  constructor(session: ConnectorSession, lists: RemoteLists, announced: Announcements, host: GenerationHost) {
    this.session = session;
    this.lists = lists;
    this.#announced = announced;
    this.#host = host;
    const { clock, pollMs, onError } = host;
    const maxDelayMs = Math.min(maxGapMs, pollMs);
    const joined = { delayMs: burstMs, maxDelayMs, clock, onError };
    this.#relist = new Coalescer((changed) => this.#readAgain(changed), joined);
    const silent = Promise.withResolvers<Error>();
    this.closed = Promise.race([session.closed, silent.promise]);
    this.#health = new Health({
      session,
      clock,
      silenceMs: host.healthCheckMs ?? session.silenceMs ?? defaultSilenceMs,
      answered: (latencyMs) => host.pinged(latencyMs),
      failed: (error) => {
        silent.resolve(error);
        this.#cut(error);
      },
    });
    this.#note(lists);
  }

  /** It is the current one: from now on it is heard, and polled where it says nothing by itself. */
  begin(): void {
    this.#announced.begin((kind) => this.#relist.request(kind));
    this.#health.begin();
    this.#schedulePoll();
  }

  /** Tells when the session has ended, unless it is told to forget it: for requests the session leaves without an answer. */
  watch(watcher: Watcher): void {
    this.#watchers.add(watcher);
  }

  forget(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#announced.end();
    this.#relist.stop();
    this.#poll?.cancel();
    this.#health.end();
    this.#ended.abort(new Error("The connection has ended."));
    try {
      await this.session[Symbol.asyncDispose]();
    } finally {
      // The session's own errors know more: they go first.
      if (this.#watchers.size > 0) await setImmediate();
      this.#cut(undefined);
    }
  }

  #cut(why: Error | undefined): void {
    for (const watcher of this.#watchers) watcher.cut(why);
  }

  async #readAgain(changed: ReadonlySet<Kind>): Promise<void> {
    const { clock, listTimeoutMs, listed } = this.#host;
    const limit = new AbortController();
    const expire = () => limit.abort(new Error(`no answer within ${listTimeoutMs} ms`));
    const timer = clock.setTimer(expire, listTimeoutMs);
    try {
      const reading = readLists(this.session, changed, { label: this.session.server.name, signal: limit.signal });
      const lists = await abortable(reading, this.#ended.signal);
      this.#note(lists);
      listed(lists);
    } catch (error) {
      if (!this.#ended.signal.aborted) throw error;
      limit.abort(error);
    } finally {
      timer.cancel();
    }
  }

  #note(lists: RemoteLists): void {
    for (const [kind, list] of lists) {
      if (list instanceof Error) this.#failed.add(kind);
      else this.#failed.delete(kind);
    }
  }

  #schedulePoll(): void {
    const { clock, pollMs } = this.#host;
    if (pollMs === Number.POSITIVE_INFINITY) return;
    this.#poll = clock.setTimer(() => {
      const { list, announces } = this.session;
      for (const kind of kinds) {
        if (list[kind] === undefined) continue;
        if (!announces.has(kind) || this.#failed.has(kind)) this.#relist.request(kind);
      }
      this.#schedulePoll();
    }, pollMs);
  }
}

/** What a session says unasked: kept until it is the current one, handed on while it is, ignored afterwards. */
class Announcements implements ConnectorHost {
  /** Said while its lists were being read, which may be older: by URI or kind, so that what is said twice is there once. */
  readonly #early = new Map<string, SourceChange>();
  readonly #host: GenerationHost;
  readonly #flow: NotificationThrottle;
  #relist: ((kind: Kind) => void) | undefined;
  #ended = false;
  readonly elicit?: NonNullable<ConnectorHost["elicit"]>;
  readonly sample?: NonNullable<ConnectorHost["sample"]>;

  constructor(host: GenerationHost) {
    this.#host = host;
    this.#flow = new NotificationThrottle(host);
    if (host.elicit !== undefined) this.elicit = host.elicit;
    if (host.sample !== undefined) this.sample = host.sample;
  }

  begin(relist: (kind: Kind) => void): void {
    if (this.#ended) return;
    this.#relist = relist;
    for (const change of this.#early.values()) this.changed(change);
    this.#early.clear();
  }

  end(): void {
    this.#ended = true;
    this.#flow.end();
    this.#early.clear();
  }

  changed(change: SourceChange): void {
    const { kind, uri, gap = false } = change;
    if (this.#ended) return;
    if (this.#relist === undefined) this.#early.set(uri ?? kind, change);
    else if (uri === undefined) this.#relist(kind);
    else this.#flow.updated(uri);
    if (gap && kind === "resource" && this.#relist !== undefined) this.#host.missed();
  }

  log(entry: LogEntry): void {
    if (!this.#ended) this.#flow.log(entry);
  }

  waits(reason: Error | undefined): boolean {
    const connecting = !this.#ended && this.#relist === undefined;
    if (connecting) this.#host.waits(reason);
    return connecting;
  }

  started(process: ServerProcess): void {
    if (!this.#ended) this.#host.started(process);
  }
}

/** Whoever wrote the connector: without these nothing of it can be used. */
const neededParts: readonly (readonly [name: string, is: (session: ConnectorSession) => boolean])[] = [
  ["server.name", ({ server }) => typeof server?.name === "string"],
  ["closed", ({ closed }) => typeof closed?.then === "function"],
  ["list", ({ list }) => typeof list === "object" && list !== null],
  ["announces", ({ announces }) => typeof announces?.has === "function"],
];

function assertSession(session: ConnectorSession | undefined, label: string): void {
  const [missing] = neededParts.find(([, is]) => session === undefined || !is(session)) ?? [];
  if (missing === undefined) return;
  throw new ToolkitError("REMOTE_ERROR", `${label} gave no session: "${missing}" is missing.`, { server: label });
}

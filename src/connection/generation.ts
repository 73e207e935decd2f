import type { Connector, ConnectorSession } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import { type Kind, kinds } from "../core/item.ts";
import type { Timer } from "../lib/clock.ts";
import { Coalescer } from "../lib/coalesce.ts";
import { abortable } from "../lib/promise.ts";
import { Announcements, type AnnouncementsHost, type PauseAttempt } from "./announcements.ts";
import type { SupervisionOptions } from "./connect-options.ts";
import { Health } from "./health.ts";
import type { AttemptSigns } from "./hedge.ts";
import type { ListedKinds } from "./listed-kinds.ts";
import type { RemoteCatalog, RemoteLists } from "./remote-catalog.ts";
import type { Generation } from "./supervisor.ts";

/** The parts of a connection that its generations work with. */
export interface GenerationHost extends AnnouncementsHost {
  readonly options: SupervisionOptions;
  readonly catalog: RemoteCatalog;
  readonly listed: ListedKinds;
  /** True where a connection is of use only with all of its lists. */
  needsAllLists(): boolean;
  /** Undefined where no other connection is starting; else resolves when each has its tools, or soon. */
  starting(): Promise<unknown> | undefined;
}

const burstMs = 20;
/** The longest gap between two readings of the lists of a server that announces changes without end. */
const maxGapMs = 5_000;
const defaultSilenceMs = 5_000;

/**
 * Connects, and reads the tools; where all lists are needed together, all of them.
 *
 * @throws whatever the connector throws, why the session ended while its lists were read, or the signal's reason; the session is ended
 *   then
 */
export async function openGeneration(
  connector: Connector,
  host: GenerationHost,
  {
    signal,
    pause,
    signs,
  }: { readonly signal: AbortSignal; readonly pause: PauseAttempt; readonly signs: AttemptSigns },
): Promise<RemoteGeneration> {
  const announcements = new Announcements(host, (reason) => {
    signs.pause(reason !== undefined);
    pause(reason);
  });
  const session = await connector.connect({ signal, host: announcements });
  signs.received = () => session?.received?.() ?? 0;
  const reading = new AbortController();
  try {
    assertSession(session, connector.label);
    const ended = session.closed.then((error) => {
      throw error ?? new Error("The connection was closed before it was listed.");
    });
    const { instructions = null } = session.server;
    announcements.reading();
    const wanted = host.needsAllLists() ? kinds : kinds.filter((kind) => kind === "tool" || !session.list[kind]);
    const lists = host.catalog.read(session, wanted, reading.signal).then(async (read) => {
      await host.catalog.prepare(read, instructions, signal);
      return read;
    });
    return new RemoteGeneration(session, await abortable(Promise.race([lists, ended]), signal), announcements, host);
  } catch (error) {
    announcements.end();
    reading.abort(error);
    const dispose = async () => session?.[Symbol.asyncDispose]?.();
    await dispose().catch((failure) => host.log.failed(failure));
    throw error;
  }
}

/** One generation of a connection: its session, kept up to date with until it ends, after which it changes nothing. */
export class RemoteGeneration implements Generation {
  readonly session: ConnectorSession;
  /** The lists that were read when it connected. */
  readonly lists: RemoteLists;
  /** Resolves when the session has ended, or was silent for too long, with the reason unless it was disposed of. */
  readonly closed: Promise<Error | undefined>;
  /** The end of the attempts that it was faster than. */
  others: Promise<unknown> | undefined;
  readonly #announcements: Announcements;
  readonly #host: GenerationHost;
  readonly #relist: Coalescer<Kind>;
  readonly #health: Health;
  readonly #ended = new AbortController();
  /** The kinds that it still has to list, and of each what is known of its list: a change before it is asked for is in it, a later one may not be. */
  readonly #unread: Map<Kind, "waiting" | "asked" | "changed">;
  #poll: Timer | undefined;

  constructor(session: ConnectorSession, lists: RemoteLists, announcements: Announcements, host: GenerationHost) {
    this.session = session;
    this.lists = lists;
    this.#unread = new Map(kinds.filter((kind) => !lists.has(kind)).map((kind) => [kind, "waiting"]));
    this.#announcements = announcements;
    this.#host = host;
    const { clock, options, log, requests } = host;
    this.#relist = new Coalescer((changed) => this.#read(changed), {
      delayMs: burstMs,
      maxDelayMs: Math.min(maxGapMs, options.pollMs),
      clock,
      onError: (error) => log.failed(error),
    });
    const silent = Promise.withResolvers<Error>();
    this.closed = Promise.race([session.closed, silent.promise]);
    this.#health = new Health({
      session,
      clock,
      silenceMs: options.healthCheckMs ?? session.silenceMs ?? defaultSilenceMs,
      answered: (latencyMs) => {
        requests.latencyMs = latencyMs;
      },
      failed: (error) => {
        silent.resolve(error);
        requests.fail(session, error);
      },
    });
  }

  /** The kinds that it still has to list. */
  get unread(): Iterable<Kind> {
    return this.#unread.keys();
  }

  /** It is the current one: its notifications count, it is watched, the lists that are left are read, and those it does not announce changes of polled. */
  begin(): void {
    this.#announcements.begin((kind) => this.#changed(kind));
    this.#health.begin();
    this.#schedulePoll();
    void this.#readRest();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#announcements.end();
    this.#relist.stop();
    this.#poll?.cancel();
    this.#health.end();
    this.#ended.abort(new Error("The connection has ended."));
    try {
      await this.session[Symbol.asyncDispose]();
    } finally {
      await this.#host.requests.failUnanswered(this.session);
      await this.others;
    }
  }

  #changed(kind: Kind): void {
    const state = this.#unread.get(kind);
    if (state === undefined) this.#relist.request(kind);
    else if (state === "asked") this.#unread.set(kind, "changed");
  }

  /** Reads the lists that are left, when the connections that start with it have their tools, or as soon as one of its lists is waited for. */
  async #readRest(): Promise<void> {
    const { listed, starting } = this.#host;
    if (this.#unread.size === 0) return;
    await Promise.race([starting(), listed.asked]);
    if (this.#ended.signal.aborted) return;
    // Each settles for itself: one that fails or hangs delays no other.
    for (const kind of [...this.#unread.keys()]) void this.#readFirst(kind);
  }

  /** Lists a kind for the first time in this generation. It never rejects. */
  async #readFirst(kind: Kind): Promise<void> {
    this.#unread.set(kind, "asked");
    try {
      await this.#read(new Set([kind]));
    } catch (error) {
      this.#host.log.failed(error);
    }
    // Of one that has ended nothing counts any more.
    if (this.#ended.signal.aborted) return;
    const hasChanged = this.#unread.get(kind) === "changed";
    this.#unread.delete(kind);
    this.#host.listed.add([kind]);
    if (hasChanged) this.#relist.request(kind);
  }

  /** Reads the lists of some kinds, and applies them. What is read when the generation ends is not applied. */
  async #read(wanted: ReadonlySet<Kind>): Promise<void> {
    const { clock, catalog, options } = this.#host;
    const { connectTimeoutMs } = options;
    const limit = new AbortController();
    const expire = () => limit.abort(new Error(`no answer within ${connectTimeoutMs} ms`));
    const timer = clock.setTimer(expire, connectTimeoutMs);
    try {
      const reading = catalog.read(this.session, wanted, limit.signal).then(async (read) => {
        await catalog.prepare(read, undefined, limit.signal);
        return read;
      });
      const lists = await abortable(reading, this.#ended.signal);
      this.#ended.signal.throwIfAborted();
      catalog.see(lists);
      catalog.apply(lists);
    } catch (error) {
      if (!this.#ended.signal.aborted) throw error;
      limit.abort(error);
    } finally {
      timer.cancel();
    }
  }

  #schedulePoll(): void {
    const { clock, catalog, options } = this.#host;
    if (options.pollMs === Number.POSITIVE_INFINITY) return;
    this.#poll = clock.setTimer(() => {
      const { list, announces } = this.session;
      for (const kind of kinds) {
        if (list[kind] === undefined || this.#unread.has(kind)) continue;
        if ((!announces.has(kind) && !catalog.isFresh(kind)) || catalog.isUnread(kind)) this.#relist.request(kind);
      }
      this.#schedulePoll();
    }, options.pollMs);
  }
}

/** The parts of a session without which nothing of it can be used. Connectors are written by users. */
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

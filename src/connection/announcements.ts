import { callStateOf } from "../call/call-port.ts";
import type { ConnectorHost, ConnectorMemory, ServerProcess } from "../core/connector.ts";
import type { CallContext, Kind } from "../core/item.ts";
import type { LogEntry } from "../core/session.ts";
import type { SourceChange } from "../core/source.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { SupervisionOptions } from "./connect-options.ts";
import type { ConnectionLog } from "./connection-log.ts";
import type { ConnectionRequests } from "./connection-requests.ts";
import type { ServerRequests } from "./server-requests.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** The parts of a connection that the announcements of a session go to. */
export interface AnnouncementsHost {
  readonly clock: Clock;
  readonly options: Pick<SupervisionOptions, "interaction">;
  readonly log: ConnectionLog;
  readonly requests: ConnectionRequests;
  readonly serverRequests: ServerRequests;
  readonly subscriptions: Subscriptions;
  readonly memory: ConnectorMemory;
  /** The attempt to connect has started a child process. */
  started(process: ServerProcess): void;
}

/** Stops the time limit of the attempt to connect while a person has to act, until it is called with undefined. */
export type PauseAttempt = (reason: Error | undefined) => void;

const windowMs = 1_000;
/** Log messages, and updated resources, that are passed on in each window as they come. */
const maxPerWindow = 100;

/**
 * The notifications of one session: kept until the session is the current one, passed on while it is, ignored afterwards.
 *
 * They are throttled. Of log messages beyond the limit the number is logged; updates of resources beyond it are passed on at the end of
 * the second, each resource once.
 */
export class Announcements implements ConnectorHost {
  readonly #host: AnnouncementsHost;
  readonly #pause: PauseAttempt;
  /** Those that came while the lists were read, which may be older: by URI or kind, so that each is there once. */
  readonly #early = new Map<string, SourceChange>();
  readonly #logs: RateWindow;
  readonly #updates: RateWindow;
  readonly #delayed = new Set<string>();
  #dropped = 0;
  #relist: ((kind: Kind) => void) | undefined;
  #ended = false;
  readonly memory: ConnectorMemory;
  readonly elicit?: NonNullable<ConnectorHost["elicit"]>;
  readonly sample?: NonNullable<ConnectorHost["sample"]>;
  readonly listRoots?: NonNullable<ConnectorHost["listRoots"]>;

  constructor(host: AnnouncementsHost, pause: PauseAttempt) {
    const { clock, options, serverRequests } = host;
    this.#host = host;
    this.#pause = pause;
    this.memory = host.memory;
    this.#logs = new RateWindow({ clock, windowMs, max: maxPerWindow, over: () => this.#logDropped() });
    this.#updates = new RateWindow({ clock, windowMs, max: maxPerWindow, over: () => this.#passDelayed() });
    if (options.interaction.maxElicitations > 0)
      this.elicit = (request, asked) => serverRequests.elicit(request, asked);
    if (options.interaction.maxSamplings > 0) this.sample = (request, asked) => serverRequests.sample(request, asked);
    if (options.interaction.maxCallerRoots > 0) this.listRoots = (asked) => serverRequests.listRoots(asked);
  }

  /** The lists are asked for from now on: a change that was announced before is in them. */
  reading(): void {
    for (const [key, { uri, gap }] of this.#early) if (uri === undefined && gap !== true) this.#early.delete(key);
  }

  /** The session is the current one. */
  begin(relist: (kind: Kind) => void): void {
    if (this.#ended) return;
    this.#relist = relist;
    for (const change of this.#early.values()) this.changed(change);
    this.#early.clear();
  }

  end(): void {
    this.#ended = true;
    this.#early.clear();
    this.#logs.stop();
    this.#updates.stop();
    this.#delayed.clear();
    if (this.#dropped > 0) this.#logDropped();
  }

  changed(change: SourceChange): void {
    const { kind, uri, gap = false } = change;
    if (this.#ended) return;
    if (this.#relist === undefined) {
      this.#early.set(uri ?? kind, change);
      return;
    }
    if (uri === undefined) this.#relist(kind);
    else if (this.#updates.admit()) this.#host.subscriptions.updated(uri);
    else this.#delayed.add(uri);
    if (gap && kind === "resource") this.#host.subscriptions.missed();
  }

  log(entry: LogEntry, context?: CallContext): void {
    if (this.#ended) return;
    if (this.#logs.admit()) this.#pass(entry, context);
    else this.#dropped += 1;
  }

  waits(reason: Error | undefined): boolean {
    const connecting = !this.#ended && this.#relist === undefined;
    if (connecting) this.#pause(reason);
    return connecting;
  }

  started(process: ServerProcess): void {
    if (!this.#ended) this.#host.started(process);
  }

  #logDropped(): void {
    const data = `${this.#dropped} log messages were left out: more than ${maxPerWindow} came within a second.`;
    this.#dropped = 0;
    this.#pass({ level: "warning", logger: undefined, data });
  }

  /** To all who are calling, where the server does not say whose call it is about. */
  #pass(entry: LogEntry, context?: CallContext): void {
    const { log, requests } = this.#host;
    const call = callStateOf(context);
    const own = call?.loggingSession === undefined ? [] : [call.loggingSession];
    log.server(entry, call === undefined ? requests.loggingSessions : own);
  }

  #passDelayed(): void {
    const uris = [...this.#delayed];
    this.#delayed.clear();
    for (const uri of uris) this.#host.subscriptions.updated(uri);
  }
}

/** Options of a rate window. */
export interface RateWindowOptions {
  readonly clock: Clock;
  readonly windowMs: number;
  /** The most events in each window. */
  readonly max: number;
  /** Called at the end of a window in which an event was not admitted. */
  over(): void;
}

/** Admits a number of events in each window of time. It has a timer only while there are events that were not admitted. */
export class RateWindow {
  readonly #options: RateWindowOptions;
  #since = Number.NEGATIVE_INFINITY;
  #count = 0;
  #timer: Timer | undefined;

  constructor(options: RateWindowOptions) {
    this.#options = options;
  }

  /** True where an event is admitted. */
  admit(): boolean {
    const { clock, windowMs, max } = this.#options;
    const now = clock.now();
    if (this.#timer === undefined && now - this.#since >= windowMs) {
      this.#since = now;
      this.#count = 0;
    }
    if (this.#count < max) {
      this.#count += 1;
      return true;
    }
    this.#timer ??= clock.setTimer(() => this.#over(), Math.max(0, this.#since + windowMs - now));
    return false;
  }

  /** Ends the window; `over` is not called any more. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #over(): void {
    this.#timer = undefined;
    this.#since = Number.NEGATIVE_INFINITY;
    this.#options.over();
  }
}

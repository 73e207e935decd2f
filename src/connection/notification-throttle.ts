import type { LogEntry } from "../core/session.ts";
import type { Clock } from "../lib/clock.ts";
import { RateWindow } from "../lib/rate-window.ts";

/** Where what a server says goes. */
export interface NotificationThrottleHost {
  readonly clock: Clock;
  log(entry: LogEntry): void;
  /** The content of a resource changed. */
  updated(uri: string): void;
}

/** So much of either goes on in a second as it comes. */
const windowMs = 1_000;
const maxLogs = 100;
const maxUpdates = 100;

/**
 * What a server says of itself, bounded, so that one that talks without end buries nothing. Of log messages beyond that it is told how
 * many there were; changes of resources are told a second later, each resource once.
 */
export class NotificationThrottle {
  readonly #host: NotificationThrottleHost;
  readonly #logs: RateWindow;
  readonly #updates: RateWindow;
  readonly #waiting = new Set<string>();
  #dropped = 0;

  constructor(host: NotificationThrottleHost) {
    const { clock } = host;
    this.#host = host;
    this.#logs = new RateWindow({ clock, windowMs, max: maxLogs, over: () => this.#tellDropped() });
    this.#updates = new RateWindow({ clock, windowMs, max: maxUpdates, over: () => this.#tellWaiting() });
  }

  log(entry: LogEntry): void {
    if (this.#logs.admit()) this.#host.log(entry);
    else this.#dropped += 1;
  }

  updated(uri: string): void {
    if (this.#updates.admit()) this.#host.updated(uri);
    else this.#waiting.add(uri);
  }

  /** The server says nothing any more. */
  end(): void {
    this.#logs.stop();
    this.#updates.stop();
    this.#waiting.clear();
    if (this.#dropped > 0) this.#tellDropped();
  }

  #tellDropped(): void {
    const data = `${this.#dropped} log messages were left out: more than ${maxLogs} came within a second.`;
    this.#dropped = 0;
    this.#host.log({ level: "warning", logger: undefined, data });
  }

  #tellWaiting(): void {
    const uris = [...this.#waiting];
    this.#waiting.clear();
    for (const uri of uris) this.#host.updated(uri);
  }
}

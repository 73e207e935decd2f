import type { Clock, Timer } from "../lib/clock.ts";
import type { Job } from "./job.ts";

/** When something is due for each of many ids, with one timer for the earliest. */
export class DueTimes {
  readonly #clock: Clock;
  readonly #onDue: (id: string) => void;
  readonly #times = new Map<string, number>();
  #timer: Timer | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #keepsAlive = false;

  /** @param onDue - called with each id whose time has come; it is forgotten by then */
  constructor(clock: Clock, onDue: (id: string) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  set(id: string, time: number): void {
    this.#times.set(id, time);
    if (time >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = time;
    this.#timer = this.#clock.setTimer(() => this.#wake(), Math.max(0, Math.ceil(time - this.#clock.now())));
    this.#timer.keepAlive(this.#keepsAlive);
  }

  delete(id: string): void {
    this.#times.delete(id);
    if (this.#times.size === 0) this.clear();
  }

  clear(): void {
    this.#times.clear();
    this.#timer?.cancel();
    this.#wakeAt = Number.POSITIVE_INFINITY;
  }

  /** Whether the process stays alive until the earliest. It does not at first. */
  keepAlive(keep: boolean): void {
    this.#keepsAlive = keep;
    this.#timer?.keepAlive(keep);
  }

  #wake(): void {
    const now = this.#clock.now();
    const times = [...this.#times];
    this.clear();
    for (const [id, time] of times) if (time > now) this.set(id, time);
    for (const [id, time] of times) if (time <= now) this.#onDue(id);
  }
}

/** A lease that is seen for the first time is over by the clock alone once it is over by so many times its length. */
const overForSure = 10;

/**
 * Says when the lease of another holder is over: when this process saw no change of the job for as long as the lease lasts. So the clocks of
 * two processes need not agree, and to set one does no harm.
 */
export class ObservedLeases {
  readonly #clock: Clock;
  /** The latest version of each job that is known, and since when. */
  readonly #seen = new Map<string, { readonly version: number; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  changed(id: string, version: number): void {
    if (version > (this.#seen.get(id)?.version ?? 0)) this.#seen.set(id, { version, at: this.#clock.now() });
  }

  forget(id: string): void {
    this.#seen.delete(id);
  }

  /** The store was away: meanwhile no holder could extend its lease, and no change was seen. All leases begin anew. */
  missed(): void {
    for (const [id, { version }] of this.#seen) this.#seen.set(id, { version, at: this.#clock.now() });
  }

  /** In milliseconds since the epoch; 0 without a lease, and once its holder has let go. */
  endOf({ id, version, lease }: Job): number {
    const isFirst = !this.#seen.has(id);
    this.changed(id, version);
    if (lease === undefined || lease.until === 0) return 0;
    const { lastsMs, until } = lease;
    const now = this.#clock.now();
    if (isFirst && until + overForSure * lastsMs <= now) this.#seen.set(id, { version, at: now - lastsMs });
    return (this.#seen.get(id)?.at ?? now) + lastsMs;
  }
}

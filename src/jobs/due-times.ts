import type { Clock, Timer } from "../lib/clock.ts";

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

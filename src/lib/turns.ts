import { setImmediate } from "node:timers/promises";

/** Longest time that the event loop is kept from other work, in milliseconds. */
const turnMs = 10;

/** The turns in which much work is done, so that other work runs in between. */
export class Turns {
  #endsAt = performance.now() + turnMs;

  /** True once the turn is over: `next` is to be awaited before more is done. A turn that goes on costs no promise. */
  get isOver(): boolean {
    return performance.now() > this.#endsAt;
  }

  /** Lets other work run. */
  async next(): Promise<void> {
    await setImmediate();
    this.#endsAt = performance.now() + turnMs;
  }
}

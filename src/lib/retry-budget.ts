import type { Clock } from "./clock.ts";

/** Each call pays in for so much of a retry: retries add at most that share to the load. */
const share = 0.1;
/** So many retries are free, so that what is seldom called can be repeated; they come back at one a second. */
const reserve = 10;
/** No more is saved up: what was paid in long ago is no excuse for a storm now. */
const most = 100;

/**
 * The retry budget that all calls share: a token bucket into which each first attempt pays and from which each further one
 * takes. Where everything fails at once, retries add a tenth to the load and not several times as much.
 *
 * @see https://finagle.github.io/blog/2016/02/08/retry-budgets a share of the calls, and a reserve for those who call seldom
 * @see https://github.com/grpc/proposal/blob/master/A6-client-retries.md throttling of retries, by a token bucket too
 */
export class RetryBudget {
  readonly #clock: Clock;
  #balance = reserve;
  #refilledAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#refilledAt = clock.now();
  }

  /** A call is made for the first time. */
  deposit(): void {
    this.#balance = Math.min(most, this.#balance + share);
  }

  /** Takes what one more attempt costs; false where there is not enough left. */
  withdraw(): boolean {
    const now = this.#clock.now();
    const refilled = this.#balance + (now - this.#refilledAt) / 1_000;
    this.#refilledAt = now;
    this.#balance = Math.max(this.#balance, Math.min(reserve, refilled));
    // Ten tenths are a little less than one.
    if (this.#balance < 1 - 1e-9) return false;
    this.#balance -= 1;
    return true;
  }
}

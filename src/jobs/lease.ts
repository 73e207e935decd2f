import type { Clock, Timer } from "../lib/clock.ts";

/**
 * Who works on a record that several processes share, and until when nobody else may. It is a part of the record's value, and the record's
 * version is its fencing token: whoever lost the lease has an old version, and nothing that is put with that is taken.
 */
export interface Lease {
  /** Names the one who works, and nobody else. */
  readonly holder: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** How a lease is kept. */
export interface LeaseOptions {
  readonly clock: Clock;
  /** How long it lasts without being renewed, in milliseconds. */
  readonly leaseMs: number;
  /**
   * Writes the longer lease down, expecting the version that was written last. Resolves to whether it did: false where somebody else has
   * changed the record.
   */
  renew(lease: Lease): Promise<boolean>;
  /** It is another's by now, or may be: whatever is done under it does not count any more. */
  lost(): void;
}

/** A lease that is renewed, well before it ends, until it is stopped or lost. */
export class KeptLease {
  readonly #options: LeaseOptions;
  #lease: Lease;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #isOver = false;

  /** @param lease - as it was written down */
  constructor(lease: Lease, options: LeaseOptions) {
    this.#lease = lease;
    this.#options = options;
    this.#schedule();
  }

  /** Renews it no more. Resolves when nothing of it is being written: the version that was written last stays the last. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#timer?.cancel();
    await this.#renewing;
  }

  #schedule(): void {
    const { clock, leaseMs } = this.#options;
    this.#timer = clock.setTimer(() => {
      this.#renewing = this.#renew();
    }, leaseMs / 3);
  }

  async #renew(): Promise<void> {
    const { clock, leaseMs } = this.#options;
    const longer = { ...this.#lease, until: Math.ceil(clock.now() + leaseMs) };
    const outcome = await this.#options.renew(longer).catch(() => "failed" as const);
    if (outcome === true) this.#lease = longer;
    if (this.#isOver) return;
    // A store that fails is asked again for as long as nobody else may think that it is over.
    if (outcome === false || clock.now() >= this.#lease.until) {
      this.#isOver = true;
      this.#options.lost();
    } else this.#schedule();
  }
}

/** A lease that begins now. */
export function newLease(holder: string, { clock, leaseMs }: Pick<LeaseOptions, "clock" | "leaseMs">): Lease {
  return { holder, until: Math.ceil(clock.now() + leaseMs) };
}

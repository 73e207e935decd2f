/** Each bucket is so much wider than the one before: how exact a quantile is. */
const growth = 1.04;
const smallestMs = 0.01;

/** Durations, of which only how many were about so long is kept: they take no more memory the longer it runs. */
export class Quantiles {
  readonly #counts: number[] = [];
  #count = 0;
  #worstMs = 0;

  add(durationMs: number): void {
    const at = Math.max(0, Math.ceil(Math.log(durationMs / smallestMs) / Math.log(growth)));
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count++;
    this.#worstMs = Math.max(this.#worstMs, durationMs);
  }

  get count(): number {
    return this.#count;
  }

  get worstMs(): number {
    return this.#worstMs;
  }

  /** So long or shorter are so many of them; `part` is from 0 to 1. */
  at(part: number): number {
    let left = this.#count * part;
    for (const [at, count] of this.#counts.entries()) {
      left -= count ?? 0;
      if (left <= 0) return Math.min(smallestMs * growth ** at, this.#worstMs);
    }
    return this.#worstMs;
  }
}

import { Quantiles } from "./quantiles.ts";

/** The times to notice a kind of trouble, and to be well again after its end. */
interface Recovery {
  readonly noticed: Quantiles;
  readonly healed: Quantiles;
}

/** All recoveries, by trouble. */
export class Recoveries {
  readonly #byTrouble = new Map<string, Recovery>();
  readonly noticed = new Quantiles();
  readonly healed = new Quantiles();
  /** The trouble that took longest to heal. */
  worst = "none";

  noticedAfter(trouble: string, durationMs: number): void {
    this.noticed.add(durationMs);
    this.#of(trouble).noticed.add(durationMs);
  }

  healedAfter(trouble: string, durationMs: number): void {
    if (durationMs > this.healed.worstMs) this.worst = trouble;
    this.healed.add(durationMs);
    this.#of(trouble).healed.add(durationMs);
  }

  /** Trouble, times, median and worst to notice, median and worst to heal. */
  get rows(): readonly (readonly string[])[] {
    return [...this.#byTrouble]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([trouble, { noticed, healed }]) => [trouble, String(healed.count), ...cells(noticed), ...cells(healed)]);
  }

  #of(trouble: string): Recovery {
    const known = this.#byTrouble.get(trouble) ?? { noticed: new Quantiles(), healed: new Quantiles() };
    this.#byTrouble.set(trouble, known);
    return known;
  }
}

function cells(quantiles: Quantiles): readonly [string, string] {
  if (quantiles.count === 0) return ["", ""];
  return [String(Math.round(quantiles.at(0.5))), String(Math.round(quantiles.worstMs))];
}

/** Chance that repeats itself: one seed gives the same numbers on every machine. */
export interface Chance {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(from: number, to: number): number;
  pick<T>(from: readonly [T, ...T[]]): T;
  /** One of several, the heavier the likelier. */
  weighted<T extends { readonly weight: number }>(from: readonly T[]): T;
}

/** Makes the chance of a seed: 32 bits of state (mulberry32), which is plenty to choose faults by. */
export function chance(seed: string): Chance {
  let state = hash(seed);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return {
    next,
    between,
    pick: (from) => from[between(0, from.length - 1)] ?? from[0],
    weighted(from) {
      let left = next() * from.reduce((sum, { weight }) => sum + weight, 0);
      const found = from.find(({ weight }) => {
        left -= weight;
        return left < 0;
      });
      const chosen = found ?? from.at(-1);
      if (chosen === undefined) throw new Error("There is nothing to choose from.");
      return chosen;
    },
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return value | 0;
}

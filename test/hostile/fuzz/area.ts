/** Numbers from 0 to below 1, the same from the same seed. */
export type Random = () => number;

/** One hostile input. Its run may reject with a ToolkitError, and must do nothing else. */
export interface HostileCase {
  readonly describe: string;
  run(): unknown;
}

/** Hostile inputs of one area: each is made from random numbers of its own, so that it can be made again without those before it. */
export interface HostileArea {
  readonly name: string;
  make(random: Random): HostileCase;
}

/** Random numbers from a seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A longer word is compared with none, and no longer name is suggested: time and messages must stay small. */
const maxLength = 256;

/** The most words that a message suggests. */
const maxSuggestions = 3;

/** The question that follows "There is no ...", about the names that may have been meant. Without any, what is said instead. */
export function didYouMean(names: readonly string[], otherwise = ""): string {
  const quoted = names.slice(0, maxSuggestions).map((name) => JSON.stringify(name));
  if (quoted.length === 0) return otherwise;
  return `Did you mean ${[quoted.slice(0, -1).join(", "), ...quoted.slice(-1)].filter(Boolean).join(" or ")}?`;
}

/** The same question behind a sentence: a space goes before it. */
export function orDidYouMean(names: readonly string[]): string {
  return names.length === 0 ? "" : ` ${didYouMean(names)}`;
}

/** The words nearest to a word, best first: those within a third of its length by edit distance, and those that contain it. */
export function nearest(word: string, candidates: Iterable<string>, limit = maxSuggestions): string[] {
  if (word.length > maxLength || limit < 1) return [];
  const comparison = new Comparison(word.toLowerCase());
  const best: { readonly candidate: string; readonly score: number }[] = [];
  // A name that is surely worse than enough others is not measured: among thousands of names that is nearly all of them.
  let worst = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    if (candidate.length > maxLength) continue;
    const score = comparison.score(candidate.toLowerCase(), worst);
    if (score === Number.POSITIVE_INFINITY || score > worst) continue;
    best.push({ candidate, score });
    best.sort((a, b) => a.score - b.score || (a.candidate < b.candidate ? -1 : 1));
    if (best.length > limit) best.pop();
    if (best.length === limit) worst = best[limit - 1]?.score ?? worst;
  }
  return best.map(({ candidate }) => candidate);
}

/** One word, made ready to be compared with many. */
class Comparison {
  readonly #wanted: string;
  readonly #allowed: number;
  /** The count of each character; characters that share a slot count together, which only makes words seem nearer. */
  readonly #counts = new Int16Array(128);
  #row: Uint16Array;
  #last: Uint16Array;
  #beforeLast: Uint16Array;

  constructor(wanted: string) {
    this.#wanted = wanted;
    this.#allowed = Math.max(1, Math.floor(wanted.length / 3));
    for (let i = 0; i < wanted.length; i++) this.#count(wanted, i, 1);
    this.#row = new Uint16Array(wanted.length + 1);
    this.#last = new Uint16Array(wanted.length + 1);
    this.#beforeLast = new Uint16Array(wanted.length + 1);
  }

  /** The distance of another word, with its namespace or without; infinite where it is too far, or worse than a score. */
  score(other: string, worst: number): number {
    const wanted = this.#wanted;
    const contained = wanted.length >= 3 && other.includes(wanted) ? 0.75 : Number.POSITIVE_INFINITY;
    const whole = Math.min(contained, this.#distance(other, Math.min(contained, worst)));
    const dot = other.indexOf(".");
    if (dot < 0) return whole;
    return Math.min(whole, this.#distance(other.slice(dot + 1), Math.min(whole, worst) - 0.5) + 0.5);
  }

  /** Infinite above the bound. */
  #distance(other: string, worst: number): number {
    const bound = Math.min(this.#allowed, Math.floor(worst));
    const within = bound >= 0 && Math.abs(this.#wanted.length - other.length) <= bound && this.#atLeast(other) <= bound;
    const distance = within ? this.#alignment(other, bound) : Number.POSITIVE_INFINITY;
    return distance > bound ? Number.POSITIVE_INFINITY : distance;
  }

  /** A lower bound of the distance, from the character counts of both. */
  #atLeast(other: string): number {
    let shared = 0;
    for (let i = 0; i < other.length; i++) if (this.#count(other, i, -1) >= 0) shared += 1;
    for (let i = 0; i < other.length; i++) this.#count(other, i, 1);
    return Math.max(this.#wanted.length, other.length) - shared;
  }

  #count(text: string, index: number, change: number): number {
    const place = text.charCodeAt(index) & 127;
    const count = (this.#counts[place] ?? 0) + change;
    this.#counts[place] = count;
    return count;
  }

  /** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. Given up above the bound. */
  #alignment(other: string, bound: number): number {
    const wanted = this.#wanted;
    let nearestLast = 0;
    for (let j = 0; j <= wanted.length; j++) this.#last[j] = j;
    for (let i = 1; i <= other.length; i++) {
      const nearestHere = this.#nextRow(other, i);
      // A swap reaches two rows back.
      if (nearestHere > bound && nearestLast > bound) return Number.POSITIVE_INFINITY;
      nearestLast = nearestHere;
      [this.#beforeLast, this.#last, this.#row] = [this.#last, this.#row, this.#beforeLast];
    }
    return this.#last[wanted.length] ?? Number.POSITIVE_INFINITY;
  }

  /** Fills the row of a character of the other word, and gives its least distance. */
  #nextRow(other: string, i: number): number {
    const wanted = this.#wanted;
    const row = this.#row;
    const last = this.#last;
    const beforeLast = this.#beforeLast;
    const character = other.charCodeAt(i - 1);
    const before = other.charCodeAt(i - 2);
    row[0] = i;
    let left = i;
    let least = i;
    for (let j = 1; j <= wanted.length; j++) {
      const here = wanted.charCodeAt(j - 1);
      let cost = Math.min((last[j] ?? 0) + 1, left + 1, (last[j - 1] ?? 0) + (here === character ? 0 : 1));
      if (i > 1 && j > 1 && here === before && wanted.charCodeAt(j - 2) === character) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row[j] = cost;
      left = cost;
      if (cost < least) least = cost;
    }
    return least;
  }
}

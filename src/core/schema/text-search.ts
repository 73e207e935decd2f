import { setImmediate as turn } from "node:timers/promises";
import { type LinearSearch, type TextMatch, toLinearSearch } from "./linear-pattern.ts";
import { UnsupportedPattern } from "./linear-syntax.ts";

/** A larger program is refused: it would take too long for each character. */
const maxSize = 1_000;
/** Steps of one search in a part of a text: some 40 ms at most, for which nothing else runs. */
const maxSteps = 1_000_000;
/** The shortest part, in characters. Where a line is cut the next part overlaps it by half of this, and a longer match ends there. */
const leastPart = 2_000;
/** Time of one search, in milliseconds. Each match may take the steps of a whole part. */
const maxSearchMs = 1_000;

/** The matches of a pattern in a text. */
export interface FoundMatches {
  readonly matches: readonly TextMatch[];
  /** Where the search stopped; undefined at the end of the text. */
  readonly next: number | undefined;
}

/** Options of a search. */
export interface SearchOptions {
  /** Where to begin, in characters. */
  readonly offset: number;
  /** So many matches at most. */
  readonly limit: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Compiles a pattern that a stranger wrote, such as a model, to search texts with.
 *
 * @throws UnsupportedPattern for one that cannot be searched for in linear time, or within the bounds
 */
export function toTextSearch(pattern: string, ignoreCase: boolean): LinearSearch {
  const search = toLinearSearch(pattern, ignoreCase);
  if (search.size > maxSize) throw new UnsupportedPattern(pattern, "it repeats too much");
  return search;
}

/**
 * Finds the matches of a pattern that are not empty, part after part: between two, other work of the process goes on. A part ends at the end of
 * a line where there is one; else the next one overlaps it.
 */
export async function findMatches(
  text: string,
  { size, matches }: LinearSearch,
  { offset, limit, signal }: SearchOptions,
): Promise<FoundMatches> {
  const length = Math.max(leastPart, Math.floor(maxSteps / size));
  const endsAt = performance.now() + maxSearchMs;
  const found: TextMatch[] = [];
  const line = text.lastIndexOf("\n", Math.max(0, offset - 1)) + 1;
  // From the beginning of its line, where that is near: `^` means nothing else.
  for (let begin = offset - line < length / 2 ? Math.min(line, offset) : offset; begin < text.length; ) {
    const { end, next } = partOf(text, begin, length);
    for (const match of matches(text.slice(begin, end))) {
      if (performance.now() > endsAt) return { matches: found, next: Math.max(offset, begin + match.start) };
      const at = { start: begin + match.start, end: begin + match.end };
      // One that begins in the overlap is found, as far as it goes, in the next part.
      if (at.end === at.start || at.start >= next || at.start < offset) continue;
      found.push(at);
      if (found.length >= limit) return { matches: found, next: at.end < text.length ? at.end : undefined };
    }
    begin = Math.max(next, found.at(-1)?.end ?? 0);
    if (performance.now() > endsAt && begin < text.length) return { matches: found, next: begin };
    await turn();
    signal?.throwIfAborted();
  }
  return { matches: found, next: undefined };
}

function partOf(text: string, begin: number, length: number): { readonly end: number; readonly next: number } {
  const end = begin + length;
  if (end >= text.length) return { end: text.length, next: text.length };
  const line = text.lastIndexOf("\n", end - 1) + 1;
  return line > begin ? { end: line, next: line } : { end, next: end - leastPart / 2 };
}

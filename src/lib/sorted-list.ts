/** Items of a list are in chunks of this size: a change copies one chunk, and a position is found by the sizes of chunks. */
const chunkSize = 512;

/** Items with different refs, by ref in code-unit order. A change costs as little among a million as among a thousand. */
export class SortedList<T extends { readonly ref: string }> {
  readonly #chunks: T[][] = [];
  #size: number;

  /** @param sorted - items by ref, none of them twice */
  constructor(sorted: readonly T[] = []) {
    this.#size = sorted.length;
    for (let start = 0; start < sorted.length; start += chunkSize)
      this.#chunks.push(sorted.slice(start, start + chunkSize));
  }

  get size(): number {
    return this.#size;
  }

  /** The number of items before a ref, which the list need not have. */
  rank(ref: string): number {
    const chunk = this.#chunkOf(ref);
    let rank = positionIn(this.#chunks[chunk] ?? [], ref);
    for (let at = 0; at < chunk; at++) rank += this.#chunks[at]?.length ?? 0;
    return rank;
  }

  at(index: number): T | undefined {
    return this.slice(index, index + 1)[0];
  }

  /** The items from one position up to another, which is not included. */
  slice(start: number, end: number): T[] {
    const parts: T[][] = [];
    let before = 0;
    for (const chunk of this.#chunks) {
      if (before >= end) break;
      const to = before + chunk.length;
      if (to > start)
        parts.push(start <= before && to <= end ? chunk : chunk.slice(Math.max(0, start - before), end - before));
      before = to;
    }
    return joined(parts);
  }

  /** Adds an item, in the place of the one that has its ref. */
  put(item: T): void {
    const at = this.#chunkOf(item.ref);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([item]);
      this.#size += 1;
      return;
    }
    const position = positionIn(chunk, item.ref);
    if (chunk[position]?.ref === item.ref) {
      chunk[position] = item;
      return;
    }
    chunk.splice(position, 0, item);
    this.#size += 1;
    if (chunk.length > 2 * chunkSize) this.#chunks.splice(at + 1, 0, chunk.splice(chunkSize));
  }

  /** Removes the item of a ref, where there is one. */
  delete(ref: string): void {
    const at = this.#chunkOf(ref);
    const chunk = this.#chunks[at];
    const position = chunk === undefined ? 0 : positionIn(chunk, ref);
    if (chunk?.[position]?.ref !== ref) return;
    chunk.splice(position, 1);
    this.#size -= 1;
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** The chunk that has a ref or would get it: the last that begins with it or before it. */
  #chunkOf(ref: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle]?.[0]?.ref ?? "") <= ref) low = middle;
      else high = middle;
    }
    return low;
  }
}

/** The number of items of a sorted array before a ref. */
function positionIn(sorted: readonly { readonly ref: string }[], ref: string, from = 0): number {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle]?.ref ?? "") < ref) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The order of refs in code units. */
export function byRef(one: { readonly ref: string }, other: { readonly ref: string }): number {
  return one.ref < other.ref ? -1 : one.ref > other.ref ? 1 : 0;
}

/**
 * A part of several sorted lists as if they were one: the items from one position up to another, which is not included. No two lists have an
 * item of one ref. It costs what is asked for, and the logarithm of what is not.
 */
export function mergedSlice<T extends { readonly ref: string }>(
  lists: readonly SortedList<T>[],
  start: number,
  end: number,
): T[] {
  const filled = lists.filter(({ size }) => size > 0);
  const [only, ...others] = filled;
  if (only === undefined) return [];
  if (others.length === 0) return only.slice(start, end);
  const bounds = filled
    .map((list) => ({ list, first: list.at(0)?.ref ?? "", last: list.at(list.size - 1)?.ref ?? "" }))
    .sort((one, other) => (one.first < other.first ? -1 : 1));
  const areApart = bounds.every(({ first }, at) => at === 0 || (bounds[at - 1]?.last ?? "") < first);
  return areApart
    ? concatenatedSlice(
        bounds.map(({ list }) => list),
        start,
        end,
      )
    : interleavedSlice(filled, start, end);
}

/** As of namespaces of tools: all items of one list come before those of the next. */
function concatenatedSlice<T extends { readonly ref: string }>(
  lists: readonly SortedList<T>[],
  start: number,
  end: number,
): T[] {
  const parts: T[][] = [];
  let before = 0;
  for (const list of lists) {
    if (before >= end) break;
    if (before + list.size > start) parts.push(list.slice(Math.max(0, start - before), end - before));
    before += list.size;
  }
  return joined(parts);
}

function interleavedSlice<T extends { readonly ref: string }>(
  lists: readonly SortedList<T>[],
  start: number,
  end: number,
): T[] {
  const starts = splitAt(lists, start);
  const parts = splitAt(lists, end).map((to, at) => lists[at]?.slice(starts[at] ?? 0, to) ?? []);
  return parts.sort((one, other) => other.length - one.length).reduce(merged);
}

/** Two sorted arrays as one. The items of the smaller are looked for in the larger, whose parts between them are copied whole. */
function merged<T extends { readonly ref: string }>(larger: readonly T[], smaller: readonly T[]): T[] {
  const parts: T[][] = [];
  let done = 0;
  for (const item of smaller) {
    const position = positionIn(larger, item.ref, done);
    if (position > done) parts.push(larger.slice(done, position));
    parts.push([item]);
    done = position;
  }
  parts.push(larger.slice(done));
  return joined(parts);
}

/** Far faster than to push each item of many. */
function joined<T>(parts: readonly T[][]): T[] {
  return ([] as T[]).concat(...parts);
}

/** The number of items that each list has among the first so many of all. */
function splitAt<T extends { readonly ref: string }>(lists: readonly SortedList<T>[], count: number): number[] {
  const lows = lists.map(() => 0);
  const highs = lists.map(({ size }) => size);
  for (;;) {
    let widest = 0;
    for (const at of lists.keys()) if (width(at) > width(widest)) widest = at;
    if (width(widest) === 0) return lows;
    const middle = ((lows[widest] ?? 0) + (highs[widest] ?? 0)) >>> 1;
    const pivot = lists[widest]?.at(middle)?.ref ?? "";
    const ranks = lists.map((list, at) => (at === widest ? middle : list.rank(pivot)));
    const isAmong = ranks.reduce((sum, rank) => sum + rank, 0) < count;
    for (const [at, rank] of ranks.entries()) {
      if (isAmong) lows[at] = Math.max(lows[at] ?? 0, at === widest ? rank + 1 : rank);
      else highs[at] = Math.min(highs[at] ?? 0, rank);
    }
  }

  function width(at: number): number {
    return Math.max(0, (highs[at] ?? 0) - (lows[at] ?? 0));
  }
}

/** A longer word is compared with none: the time it takes must stay small. */
const maxLength = 256;

/** The words nearest to a word, best first: those within a third of its length by edit distance, and those that contain it. */
export function nearest(word: string, candidates: Iterable<string>, limit: number): string[] {
  if (word.length > maxLength) return [];
  const wanted = word.toLowerCase();
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  const scored: { readonly candidate: string; readonly score: number }[] = [];
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    const bare = other.slice(other.indexOf(".") + 1);
    const score = Math.min(
      distance(wanted, other, allowed),
      distance(wanted, bare, allowed) + 0.5,
      containment(wanted, other),
    );
    if (score < Number.POSITIVE_INFINITY) scored.push({ candidate, score });
  }
  scored.sort((a, b) => a.score - b.score || (a.candidate < b.candidate ? -1 : 1));
  return scored.slice(0, limit).map(({ candidate }) => candidate);
}

function containment(wanted: string, other: string): number {
  return wanted.length >= 3 && other.includes(wanted) ? 0.75 : Number.POSITIVE_INFINITY;
}

/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. Infinite above the bound. */
function distance(a: string, b: string, bound: number): number {
  if (Math.abs(a.length - b.length) > bound) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, substitution);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  const total = last[b.length] ?? Number.POSITIVE_INFINITY;
  return total > bound ? Number.POSITIVE_INFINITY : total;
}

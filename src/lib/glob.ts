/** Whether a text fits. */
export type Glob = (text: string) => boolean;

/** True for a pattern that may fit several texts. */
export function isGlob(pattern: string): boolean {
  return /[*?]/.test(pattern);
}

/**
 * A pattern in which `*` stands for any number of characters, `?` for one, and everything else for itself. Pieces between two `*` are
 * looked for from the left, each once; with `?` it takes time in proportion to pattern times text at most.
 */
export function glob(pattern: string): Glob {
  if (!isGlob(pattern)) return (text) => text === pattern;
  if (pattern.includes("?")) {
    const pieces = [...pattern].map((piece) => (piece === "*" ? anyNumber : piece === "?" ? anyOne : equals(piece)));
    return (text) => fitsInOrder(pieces, [...text]);
  }
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop() ?? "";
  const between = others.filter((piece) => piece !== "");
  return (text) => {
    if (!(text.startsWith(first) && text.endsWith(last))) return false;
    let at = first.length;
    for (const piece of between) {
      const found = text.indexOf(piece, at);
      if (found < 0) return false;
      at = found + piece.length;
    }
    return at + last.length <= text.length;
  };
}

/** Stands for any number of items. */
export const anyNumber = Symbol("any number");

/** Of a pattern: one item for which it is true, or any number of them. */
export type Piece<T> = ((item: T) => boolean) | typeof anyNumber;

/**
 * Whether a list of items fits a pattern, piece by piece, from its beginning to its end. It goes back to the last `anyNumber` alone: what an
 * earlier one might take, the last can take as well. So it takes time in proportion to pattern times items at most.
 */
export function fitsInOrder<T>(pattern: readonly Piece<T>[], items: readonly T[]): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let position = 0; position < items.length; ) {
    const piece = pattern[at];
    if (piece === anyNumber) {
      star = at++;
      resume = position;
    } else if (piece?.(items[position] as T) === true) {
      at += 1;
      position += 1;
    } else if (star >= 0) {
      at = star + 1;
      position = ++resume;
    } else return false;
  }
  while (pattern[at] === anyNumber) at += 1;
  return at === pattern.length;
}

function anyOne(): boolean {
  return true;
}

function equals(wanted: string): (item: string) => boolean {
  return (item) => item === wanted;
}

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
    const pieces = [...pattern];
    return (text) => fits(pieces, [...text]);
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

// Goes back to the last `*` alone: what an earlier one might take, the last can take as well.
function fits(pattern: readonly string[], text: readonly string[]): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let position = 0; position < text.length; ) {
    const piece = pattern[at];
    if (piece === "*") {
      star = at++;
      resume = position;
    } else if (piece === "?" || (piece !== undefined && piece === text[position])) {
      at += 1;
      position += 1;
    } else if (star >= 0) {
      at = star + 1;
      position = ++resume;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}

/** Whether a text fits. */
export type Glob = (text: string) => boolean;

/**
 * A pattern in which `*` stands for any number of characters, `?` for one, and everything else for itself. It takes time in proportion
 * to pattern times text at most, whatever the pattern.
 */
export function glob(pattern: string): Glob {
  if (!/[*?]/.test(pattern)) return (text) => text === pattern;
  const pieces = [...pattern];
  return (text) => fits(pieces, [...text]);
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

/** What looks like a blank and is none to YAML: web pages and word processors put it there. */
const odd = /[\u00a0\u2000-\u200b\u202f\u205f\u3000]/;
/** Where YAML needs a blank: before the first word of a line, and after a colon. In a text it does no harm. */
const misplaced = new RegExp(`(?<=^ *|:)${odd.source}`);

/** What to do about one. */
export const oddBlankHint = "Type it anew: it was copied from a web page or a word processor.";

export function hasOddBlank(yaml: string): boolean {
  return odd.test(yaml);
}

/** The first one that stands where YAML needs a blank, in the line of a place, and what to say of it. */
export function oddBlankAt(
  yaml: string,
  place: number,
): { readonly offset: number; readonly what: string } | undefined {
  const start = yaml.lastIndexOf("\n", place - 1) + 1;
  const [line = ""] = yaml.slice(start).split("\n", 1);
  const column = line.search(misplaced);
  if (column === -1) return undefined;
  const code = line.charCodeAt(column).toString(16).toUpperCase().padStart(4, "0");
  return { offset: start + column, what: `This blank is none to YAML: it is the character U+${code}.` };
}

/** A fenced code block of a page. */
export interface Fence {
  readonly language: string;
  readonly text: string;
  /** Of the opening fence, from 0. */
  readonly start: number;
  /** Of the closing fence, from 0. */
  readonly end: number;
}

/** A link or an image of a page. */
export interface Link {
  readonly target: string;
  /** From 1. */
  readonly line: number;
}

/** The fenced blocks of a page, in order. One that is never closed reaches to the end. */
export function fencesOf(page: string): readonly Fence[] {
  const lines = page.split("\n");
  const fences: Fence[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [, mark, language = ""] = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/.exec(lines[at] ?? "") ?? [];
    if (mark === undefined) continue;
    let end = at + 1;
    while (end < lines.length && !closes(lines[end] ?? "", mark)) end += 1;
    fences.push({ language, text: lines.slice(at + 1, end).join("\n"), start: at, end });
    at = end;
  }
  return fences;
}

/** The anchors GitHub gives the headings of a page, and those set by hand. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, text = ""] of proseOf(page).matchAll(/^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$/gm)) {
    const slug = text
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, "")
      .replace(/\s/g, "-");
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    anchors.add(before === 0 ? slug : `${slug}-${before}`);
  }
  for (const [, id = ""] of proseOf(page).matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

/** The links of a page that code does not hold. */
export function linksOf(page: string): readonly Link[] {
  const prose = proseOf(page).replace(/(`+)(?:(?!`).)+?\1/g, (code) => " ".repeat(code.length));
  const patterns = [
    /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g,
    /^ {0,3}\[[^\]]+\]:\s*(\S+)/gm,
    /(?:href|src)="([^"]+)"/g,
  ];
  return patterns.flatMap((pattern) =>
    [...prose.matchAll(pattern)].map((match) => ({
      target: match[1] ?? "",
      line: prose.slice(0, match.index).split("\n").length,
    })),
  );
}

/** The page with the lines of its code blocks emptied, so that lines keep their numbers. */
function proseOf(page: string): string {
  const lines = page.split("\n");
  for (const { start, end } of fencesOf(page)) lines.fill("", start, end + 1);
  return lines.join("\n");
}

function closes(line: string, mark: string): boolean {
  const text = line.trim();
  return text.length >= mark.length && text === mark.charAt(0).repeat(text.length);
}

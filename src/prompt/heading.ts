import { markedRegions, type RegionMarks } from "./template/template-source.ts";

const fence = /^ {0,3}(`{3,}|~{3,})/;

/**
 * The first `# heading` of a markdown text outside code and comments.
 *
 * @param options - `withTags`: also one with a `{{tag}}`, whose text is known only when rendered
 */
export function firstHeading(
  markdown: string,
  { withTags = false }: { readonly withTags?: boolean } = {},
): string | undefined {
  if (!markdown.includes("# ")) return undefined;
  let open: string | undefined;
  for (const line of withoutComments(markdown).split("\n")) {
    const mark = fence.exec(line)?.[1];
    if (mark !== undefined) {
      if (open === undefined) open = mark;
      else if (mark.startsWith(open)) open = undefined;
    }
    if (open !== undefined) continue;
    const title = headingOf(line);
    if (title !== undefined && (withTags || !title.includes("{{"))) return title;
  }
  return undefined;
}

/** The text of a `# heading`, without the marks that close it. No pattern: one that tries each blank as its end takes the cube of them. */
function headingOf(line: string): string | undefined {
  if (!line.startsWith("# ") || /[\u2028\u2029]/.test(line)) return undefined;
  const text = line.slice(2).trim();
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  const title = end > 0 && text[end - 1] === " " ? text.slice(0, end).trim() : text;
  return title === "" ? undefined : title;
}

const commentMarks: readonly RegionMarks<"comment">[] = [
  [/^\{\{~?!--/, /--~?\}\}/, "comment"],
  [/^\{\{~?!/, /\}\}/, "comment"],
  [/^<!--/, /-->/, "comment"],
];

/** The text without comments of Handlebars and HTML. */
function withoutComments(text: string): string {
  let kept = "";
  let end = 0;
  for (const comment of markedRegions(text, /\{\{~?!--|\{\{~?!|<!--/, commentMarks)) {
    kept += text.slice(end, comment.offset);
    end = comment.offset + comment.text.length;
  }
  return kept + text.slice(end);
}

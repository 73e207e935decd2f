const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^# +(.+?)(?: +#+)? *$/;

/**
 * The first `# heading` of a markdown text that stands outside code and comments. One that holds a `{{tag}}` is passed over: what
 * it says is known only when it is rendered.
 */
export function firstHeading(markdown: string): string | undefined {
  if (!markdown.includes("# ")) return undefined;
  const text = markdown.replace(/\{\{~?!--[\s\S]*?--~?\}\}|\{\{~?![\s\S]*?\}\}|<!--[\s\S]*?-->/g, "");
  let open: string | undefined;
  for (const line of text.split("\n")) {
    const mark = fence.exec(line)?.[1];
    if (mark !== undefined) {
      if (open === undefined) open = mark;
      else if (mark.startsWith(open)) open = undefined;
    }
    if (open !== undefined) continue;
    const title = heading.exec(line)?.[1];
    if (title !== undefined && !title.includes("{{")) return title.trim();
  }
  return undefined;
}

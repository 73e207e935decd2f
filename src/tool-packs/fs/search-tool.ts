import { z } from "zod";
import { ToolkitError } from "../../core/error.ts";
import type { Tool } from "../../core/item.ts";
import type { LinearSearch } from "../../core/schema/linear-pattern.ts";
import { UnsupportedPattern } from "../../core/schema/linear-syntax.ts";
import { findMatches, toTextSearch } from "../../core/schema/text-search.ts";
import { defineTool } from "../../core/tool.ts";
import type { ContainedFolder } from "../folder/contained-folder.ts";
import type { ReadLimits } from "../folder/folder-config.ts";
import { IgnoreRules } from "../folder/ignore-rules.ts";
import { childText } from "../folder/read-whole.ts";
import { maxDepth, walk } from "../folder/walk.ts";
import { fsGuidance, pathSchema } from "./read-tools.ts";

/** The longest excerpt of a line, in characters. */
const maxExcerpt = 300;

const matchSchema = z.object({ path: z.string(), line: z.int(), text: z.string() });

/** `search`. */
export function searchTool(folder: ContainedFolder, limits: ReadLimits): Tool {
  return defineTool({
    name: "search",
    description: "Finds text in files, line by line.",
    input: z.object({
      pattern: z.string().min(1).max(1_000),
      regex: z.boolean().default(false).describe("pattern is a regular expression without lookaround"),
      ignoreCase: z.boolean().default(false),
      path: pathSchema.default("."),
      include: z.string().max(500).optional().describe("Only files that fit, in the syntax of .gitignore: *.ts"),
      ignored: z.boolean().default(false),
      limit: z.int().min(1).max(500).default(50),
    }),
    output: z.object({
      matches: z.array(matchSchema),
      searched: z.int().describe("Files that were read"),
      skipped: z.int().describe("Files that are no text, too large, or not to be read"),
      complete: z.boolean(),
    }),
    annotations: { readOnlyHint: true, openWorldHint: false },
    options: { guidance: fsGuidance },
    run: async (input, { signal }) => {
      const search = toSearch(input.pattern, input);
      const wanted = input.include === undefined ? undefined : new IgnoreRules(input.include);
      const found: z.infer<typeof matchSchema>[] = [];
      const counts = { searched: 0, skipped: 0 };
      const endsAt = performance.now() + limits.searchMs;
      const { ignored, limit, path } = input;
      const entries = walk(folder, path, { depth: maxDepth, maxEntries: limits.maxEntries, ignored, signal });
      for (let step = await entries.next(); ; step = await entries.next()) {
        if (step.done === true) return { matches: found, ...counts, complete: step.value.complete };
        const { kind, parts } = step.value;
        if (kind !== "file" || wanted?.fits(parts) === false) continue;
        const text = await childText(step.value.folder, step.value.name, limits.maxFileBytes);
        counts[text === undefined ? "skipped" : "searched"] += 1;
        if (text === undefined) continue;
        const { matches, next } = await findMatches(text, search, { offset: 0, limit: limit - found.length, signal });
        const shown = [...(path === "." ? [] : [path.replace(/\/+$/, "")]), ...parts].join("/");
        found.push(...linesOf(text, matches).map((line) => ({ path: shown, ...line })));
        if (next === undefined && found.length < limit && performance.now() < endsAt) continue;
        await entries.return({ complete: false });
        return { matches: found, ...counts, complete: false };
      }
    },
  });
}

function toSearch(pattern: string, { regex, ignoreCase }: { readonly regex: boolean; readonly ignoreCase: boolean }) {
  if (!regex && !ignoreCase) return literalSearch(pattern);
  try {
    return toTextSearch(regex ? pattern : pattern.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), ignoreCase);
  } catch (error) {
    if (!(error instanceof UnsupportedPattern)) throw error;
    const message = `cannot be searched for: ${error.why}`;
    throw new ToolkitError("INVALID_INPUT", `The pattern ${message}.`, { issues: [{ pointer: "/pattern", message }] });
  }
}

function literalSearch(wanted: string): LinearSearch {
  return {
    size: 1,
    *matches(text) {
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
        yield { start: at, end: at + wanted.length };
    },
  };
}

/** The lines in which matches begin, each once. */
function linesOf(text: string, matches: readonly { readonly start: number }[]) {
  const lines: { readonly line: number; readonly text: string }[] = [];
  let line = 1;
  let begin = 0;
  for (const { start } of matches) {
    for (let next = text.indexOf("\n", begin); next >= 0 && next < start; next = text.indexOf("\n", begin)) {
      line += 1;
      begin = next + 1;
    }
    if (lines.at(-1)?.line === line) continue;
    const end = text.indexOf("\n", start);
    const from = Math.max(begin, start - maxExcerpt / 2);
    lines.push({
      line,
      text: text.slice(from, Math.min(end < 0 ? text.length : end, from + maxExcerpt)).toWellFormed(),
    });
  }
  return lines;
}

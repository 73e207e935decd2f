import { definitionOf } from "../core/entry.ts";
import type { ToolEntry } from "./toolset-types.ts";

/** How to use tools, for a system prompt: what they say themselves, each text once. */
export function guidanceOf(entries: Iterable<readonly [alias: string, entry: ToolEntry]>): string {
  return sections(entries, (entry) => definitionOf(entry).options?.guidance);
}

/** How to read the results of tools that were used. */
export function formatGuidanceOf(entries: Iterable<readonly [alias: string, entry: ToolEntry]>): string {
  return sections(entries, (entry) => definitionOf(entry).options?.formatGuidance);
}

/** Tools that say the same, as those of a pack do, say it together. */
function sections(
  entries: Iterable<readonly [alias: string, entry: ToolEntry]>,
  textOf: (entry: ToolEntry) => string | undefined,
): string {
  const byText = new Map<string, string[]>();
  for (const [alias, entry] of entries) {
    const text = textOf(entry)?.trim();
    if (text === undefined || text === "") continue;
    byText.set(text, [...(byText.get(text) ?? []), alias]);
  }
  return [...byText].map(([text, aliases]) => `## ${aliases.join(", ")}\n\n${text}`).join("\n\n");
}

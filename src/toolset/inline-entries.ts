import { readDefinition } from "../core/definition.ts";
import { makeEntry } from "../core/entry.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Tool } from "../core/item.ts";
import type { ToolEntry } from "./toolset-types.ts";

/** Tools that are called under the namespace `inline`. @throws ToolkitError as `toolkit.add` does */
export function inlineEntries(tools: readonly Tool[]): readonly ToolEntry[] {
  return tools.map((tool) => makeEntry<"tool">(readDefinition(tool, "local"), tool, inlineNamespace, false));
}

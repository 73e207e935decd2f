import type { Definition } from "../core/definition.ts";
import { definitionOf } from "../core/entry.ts";
import type { ToolDefinitionForModel, ToolEntry } from "./toolset-types.ts";

const known = new WeakMap<Definition, ToolDefinitionForModel>();

/** What a model is told of a tool. The same object for the same tool under the same alias, from toolset to toolset. */
export function definitionFor(alias: string, entry: ToolEntry): ToolDefinitionForModel {
  const definition = definitionOf(entry);
  const before = known.get(definition);
  if (before?.name === alias) return before;
  const { description, title, input = { type: "object" } } = definition;
  const inputSchema = input.type === "object" ? input : { ...input, type: "object" };
  const made = Object.freeze({ name: alias, description: description ?? title, inputSchema });
  known.set(definition, made);
  return made;
}

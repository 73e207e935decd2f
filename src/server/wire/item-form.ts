import { definitionOf } from "../../core/entry.ts";
import { extrasOf } from "../../core/extras.ts";
import type { Entry, PromptArgument } from "../../core/item.ts";
import { present } from "../../lib/value.ts";
import { withoutInvisible } from "../../lib/visible-text.ts";
import { promptArguments } from "../../prompt/prompt-arguments.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Entries of lists as MCP writes them. The fields that a server sent and that no item of ours has go along as they came. */

/** @param name - under which it is served */
export function toolForm(entry: Entry<"tool" | "prompt">, name: string): Fields {
  const { input, output, annotations } = definitionOf(entry);
  return shown({
    ...described(entry),
    name,
    inputSchema: input === undefined || input.type !== "object" ? { ...input, type: "object" } : input,
    // A prompt that is executed gives what its model says: the schema is that of its text.
    outputSchema: entry.kind === "tool" && output?.type === "object" ? output : undefined,
    annotations: entry.kind === "tool" ? annotations : undefined,
  });
}

export function promptForm(entry: Entry<"prompt">, name: string): Fields {
  return shown({ ...described(entry), name, arguments: argumentsOf(entry) });
}

/** @param uri - under which it is served */
export function resourceForm(entry: Entry<"resource">, uri: string): Fields {
  const { mediaType, size } = definitionOf(entry);
  return shown({ ...described(entry), name: entry.name, uri, mimeType: mediaType, size });
}

export function templateForm(entry: Entry<"template">, uriTemplate: string): Fields {
  const { mediaType } = definitionOf(entry);
  return shown({ ...described(entry), name: entry.name, uriTemplate, mimeType: mediaType });
}

function described(entry: Entry): Fields {
  const { title, description, meta } = definitionOf(entry);
  const extras = extrasOf(entry.item);
  // The title of a tool may have come from its annotations.
  return { ...extras, title: extras === undefined ? title : extras.title, description, _meta: meta };
}

function argumentsOf(entry: Entry<"prompt">): readonly PromptArgument[] | undefined {
  const { item } = entry;
  const listed = "arguments" in item && Array.isArray(item.arguments) ? item.arguments : undefined;
  const list: readonly PromptArgument[] = listed ?? promptArguments(definitionOf(entry).input);
  return list.length === 0 && listed === undefined ? undefined : list.map((argument) => present({ ...argument }));
}

/** Models read descriptors: text that does not show goes no further, as in a toolset. */
function shown(fields: Fields): Fields {
  return withoutInvisible(present(fields)) as Fields;
}

import { definitionOf } from "../../core/entry.ts";
import { extrasOf } from "../../core/extras.ts";
import type { Entry, Kind, PromptArgument } from "../../core/item.ts";
import { present } from "../../lib/value.ts";
import { withoutInvisible } from "../../lib/visible-text.ts";
import { promptArguments } from "../../prompt/prompt-arguments.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * An entry of a list as MCP writes it. The fields that a server sent and that no item of ours has go along as they came.
 *
 * @param kind - that of the list: a prompt may be served as a tool
 * @param name - the name or URI under which it is served
 */
export function formOf(kind: Kind, entry: Entry, name: string): Fields {
  if (kind === "tool") return toolForm(entry as Entry<"tool" | "prompt">, name);
  if (entry.kind === "prompt") return promptForm(entry, name);
  return entry.kind === "resource" ? resourceForm(entry, name) : templateForm(entry as Entry<"template">, name);
}

function toolForm(entry: Entry<"tool" | "prompt">, name: string): Fields {
  const { input, output, annotations } = definitionOf(entry);
  return shown({
    ...described(entry),
    name,
    inputSchema: input === undefined || input.type !== "object" ? { ...input, type: "object" } : input,
    // A prompt that is executed gives what its model says: the schema is that of its text.
    outputSchema: entry.kind === "tool" ? output : undefined,
    annotations: entry.kind === "tool" ? annotations : undefined,
  });
}

function promptForm(entry: Entry<"prompt">, name: string): Fields {
  return shown({ ...described(entry), name, arguments: argumentsOf(entry) });
}

function resourceForm(entry: Entry<"resource">, uri: string): Fields {
  const { mediaType, size } = definitionOf(entry);
  return shown({ ...described(entry), name: entry.name, uri, mimeType: mediaType, size });
}

function templateForm(entry: Entry<"template">, uriTemplate: string): Fields {
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
  return list.length === 0 ? undefined : list.map((argument) => present({ ...argument }));
}

/** Models read descriptors: text that does not show goes no further, as in a toolset. */
function shown(fields: Fields): Fields {
  return withoutInvisible(present(fields)) as Fields;
}

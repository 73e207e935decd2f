import type { DescriptorMap } from "../core/connector.ts";
import type { Kind, PromptArgument } from "../core/item.ts";
import { isRecord } from "../lib/value.ts";
import { parseText } from "./rpc/rpc-message.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Reads one entry of a list. A field that cannot be read is left out with a warning; undefined means that nothing of use is left. */
export type DescriptorReader<K extends Kind> = (
  entry: Fields,
  warn: (text: string) => void,
) => DescriptorMap[K] | undefined;

/** The list method of each kind, and the reader and the identity of its entries. */
export const lists: {
  readonly [K in Kind]: {
    readonly method: string;
    /** The field of the result. */
    readonly field: string;
    /** The field of an entry that identifies it. */
    readonly key: string;
    readonly read: DescriptorReader<K>;
  };
} = {
  tool: { method: "tools/list", field: "tools", key: "name", read: readTool },
  prompt: { method: "prompts/list", field: "prompts", key: "name", read: readPrompt },
  resource: { method: "resources/list", field: "resources", key: "uri", read: readResource },
  template: { method: "resources/templates/list", field: "resourceTemplates", key: "uriTemplate", read: readTemplate },
};

function readTool(entry: Fields, warn: (text: string) => void): DescriptorMap["tool"] | undefined {
  const { inputSchema, outputSchema, annotations, execution } = entry;
  const name = parseText(entry.name);
  if (name === undefined) return undefined;
  if (inputSchema !== undefined && !isRecord(inputSchema))
    warn(`the input schema of ${name} is no object and is left out`);
  if (outputSchema !== undefined && !isRecord(outputSchema))
    warn(`the output schema of ${name} is no object and is left out`);
  const hints = isRecord(annotations) ? annotations : undefined;
  const tool: Writable<"tool"> = described(entry, name);
  const title = tool.title ?? parseText(hints?.title);
  if (title !== undefined) tool.title = title;
  if (isRecord(inputSchema)) tool.input = inputSchema;
  if (isRecord(outputSchema)) tool.output = outputSchema;
  if (hints !== undefined) tool.annotations = hints;
  if (isRecord(execution) && execution.taskSupport === "required")
    tool.uncallable = "it can only run as a task, and MCP tasks are not supported yet";
  return tool;
}

function readPrompt(entry: Fields): DescriptorMap["prompt"] | undefined {
  const name = parseText(entry.name);
  if (name === undefined) return undefined;
  const prompt: Writable<"prompt"> = described(entry, name);
  if (Array.isArray(entry.arguments))
    prompt.arguments = entry.arguments.map(readArgument).filter((argument) => argument !== undefined);
  return prompt;
}

function readArgument(entry: unknown): PromptArgument | undefined {
  if (!isRecord(entry)) return undefined;
  const name = parseText(entry.name);
  if (name === undefined) return undefined;
  const argument: { -readonly [F in keyof PromptArgument]: PromptArgument[F] } = { name };
  const title = parseText(entry.title);
  const description = parseText(entry.description);
  if (title !== undefined) argument.title = title;
  if (description !== undefined) argument.description = description;
  if (typeof entry.required === "boolean") argument.required = entry.required;
  return argument;
}

function readResource(entry: Fields): DescriptorMap["resource"] | undefined {
  const uri = parseText(entry.uri);
  if (uri === undefined) return undefined;
  const resource: Writable<"resource"> = Object.assign(described(entry, parseText(entry.name) ?? uri), { uri });
  const mediaType = parseText(entry.mimeType);
  if (mediaType !== undefined) resource.mediaType = mediaType;
  if (typeof entry.size === "number") resource.size = entry.size;
  return resource;
}

function readTemplate(entry: Fields): DescriptorMap["template"] | undefined {
  const uriTemplate = parseText(entry.uriTemplate);
  if (uriTemplate === undefined) return undefined;
  const name = parseText(entry.name) ?? uriTemplate;
  const template: Writable<"template"> = Object.assign(described(entry, name), { uriTemplate });
  const mediaType = parseText(entry.mimeType);
  if (mediaType !== undefined) template.mediaType = mediaType;
  return template;
}

/** A descriptor as it is written. Its fields are set one by one: a server lists hundreds of items, and an object for each field costs more. */
type Writable<K extends Kind> = { -readonly [F in keyof DescriptorMap[K]]: DescriptorMap[K][F] };

/** Fields that descriptors have under a name of their own, by kind as far as that matters. A title may stand in the annotations of a tool. */
const readFields: ReadonlySet<string> = new Set([
  ...[
    "name",
    "description",
    "_meta",
    "inputSchema",
    "outputSchema",
    "arguments",
    "uri",
    "uriTemplate",
    "mimeType",
    "size",
  ],
]);

const noExtras: Fields = Object.freeze({});

function extrasOf(entry: Fields): Fields {
  let extras: Record<string, unknown> | undefined;
  for (const name of Object.keys(entry)) {
    if (readFields.has(name)) continue;
    extras ??= {};
    // A member may have the name of the prototype.
    Object.defineProperty(extras, name, { value: entry[name], enumerable: true, configurable: true, writable: true });
  }
  return extras ?? noExtras;
}

/** The fields of every kind. */
interface Described {
  name: string;
  extras: Fields;
  title?: string;
  description?: string;
  meta?: Fields;
}

function described(entry: Fields, name: string): Described {
  const shown: Described = { name, extras: extrasOf(entry) };
  const title = parseText(entry.title);
  if (title !== undefined) shown.title = title;
  if (typeof entry.description === "string") shown.description = entry.description;
  if (isRecord(entry._meta)) shown.meta = entry._meta;
  return shown;
}

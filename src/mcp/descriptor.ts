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
  const needsTask = isRecord(execution) && execution.taskSupport === "required";
  return {
    ...described(entry, name),
    ...defined("title", parseText(entry.title) ?? parseText(hints?.title)),
    ...defined("input", isRecord(inputSchema) ? inputSchema : undefined),
    ...defined("output", isRecord(outputSchema) ? outputSchema : undefined),
    ...defined("annotations", hints),
    ...defined("uncallable", needsTask ? "it can only run as a task, and MCP tasks are not supported yet" : undefined),
  };
}

function readPrompt(entry: Fields): DescriptorMap["prompt"] | undefined {
  const name = parseText(entry.name);
  if (name === undefined) return undefined;
  const list = Array.isArray(entry.arguments) ? entry.arguments.map(readArgument) : undefined;
  return {
    ...described(entry, name),
    ...defined(
      "arguments",
      list?.filter((argument) => argument !== undefined),
    ),
  };
}

function readArgument(entry: unknown): PromptArgument | undefined {
  if (!isRecord(entry)) return undefined;
  const name = parseText(entry.name);
  if (name === undefined) return undefined;
  return {
    name,
    ...defined("title", parseText(entry.title)),
    ...defined("description", parseText(entry.description)),
    ...defined("required", typeof entry.required === "boolean" ? entry.required : undefined),
  };
}

function readResource(entry: Fields): DescriptorMap["resource"] | undefined {
  const uri = parseText(entry.uri);
  if (uri === undefined) return undefined;
  return {
    ...described(entry, parseText(entry.name) ?? uri),
    uri,
    ...defined("mediaType", parseText(entry.mimeType)),
    ...defined("size", typeof entry.size === "number" ? entry.size : undefined),
  };
}

function readTemplate(entry: Fields): DescriptorMap["template"] | undefined {
  const uriTemplate = parseText(entry.uriTemplate);
  if (uriTemplate === undefined) return undefined;
  return {
    ...described(entry, parseText(entry.name) ?? uriTemplate),
    uriTemplate,
    ...defined("mediaType", parseText(entry.mimeType)),
  };
}

/** Fields that descriptors have under a name of their own, by kind as far as that matters. A title may stand in the annotations of a tool. */
const readFields: ReadonlySet<string> = new Set([
  ...["name", "description", "_meta", "inputSchema", "outputSchema", "arguments", "uri", "uriTemplate", "mimeType", "size"],
]);

const noExtras: Fields = Object.freeze({});

function extrasOf(entry: Fields): Fields {
  const extras = Object.entries(entry).filter(([name]) => !readFields.has(name));
  return extras.length === 0 ? noExtras : Object.fromEntries(extras);
}

function described(entry: Fields, name: string) {
  return {
    name,
    extras: extrasOf(entry),
    ...defined("title", parseText(entry.title)),
    ...defined("description", typeof entry.description === "string" ? entry.description : undefined),
    ...defined("meta", isRecord(entry._meta) ? entry._meta : undefined),
  };
}

function defined<N extends string, T>(name: N, value: T | undefined): { readonly [P in N]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [P in N]?: T };
}

import type { JsonSchema } from "../core/schema/types.ts";
import type { ToolAnswer, ToolDefinitionForModel } from "../toolset/toolset-types.ts";
import { type AnswerPart, answerParts, textOfParts } from "./answer-content.ts";
import { anthropicProjection } from "./projection/plain-schema.ts";
import { argumentsOf, cachedWriter, ToolWriter } from "./tool-writer.ts";
import { type CallRunner, TurnBatch } from "./turn-batch.ts";

/** The content of a LangChain `ToolMessage`: a text, or content blocks. */
export type LangChainContent =
  | string
  | ({ type: "text"; text: string } | { type: "image" | "audio" | "file"; mimeType: string; data: string })[];

/** The fields of a `DynamicStructuredTool` of LangChain. */
export interface LangChainToolFields {
  name: string;
  description: string;
  schema: JsonSchema;
  responseFormat: "content_and_artifact";
  /** The result for the model, and the answer of the toolkit as artifact. */
  func(input: unknown, runManager?: unknown, config?: unknown): Promise<[LangChainContent, ToolAnswer]>;
}

/** A tool of LangChain, as far as the adapter uses it. */
interface LangChainTool {
  call(input: never, config?: never): Promise<unknown>;
}

/** The part of a toolset that the adapter uses. */
export interface LangChainSource {
  readonly all: readonly ToolDefinitionForModel[];
  begin(options: { readonly signal?: AbortSignal | undefined }): CallRunner;
}

/**
 * The tools of a toolset for LangChain and LangGraph (version 1), executed in a run: the one given, else a new one. The class comes from the
 * caller, so that Toolweave depends on no version of LangChain.
 *
 * The calls that a `ToolNode` makes at once are one turn of the run. The toolkit validates their input, and repairs what it can. A call that
 * fails throws; one that is denied or waits says so to the model. The artifact of the `ToolMessage` is the answer, with its Content.
 *
 * @param toolClass - `DynamicStructuredTool` of `@langchain/core/tools`
 *
 * @example
 * ```ts
 * const tools = toLangChain(await toolkit.toolset(), DynamicStructuredTool);
 * const bound = model.bindTools(tools);
 * ```
 */
export function toLangChain<T extends LangChainTool>(
  source: LangChainSource,
  toolClass: new (fields: LangChainToolFields) => T,
  run: CallRunner = source.begin({}),
): T[] {
  const writer = new ToolWriter({ definitions: () => source.all, toolChoice: "auto" }, write);
  const batch = new TurnBatch(run);
  let count = 0;
  return source.all.map((definition) => {
    const { name } = definition;
    const func: LangChainToolFields["func"] = async (input, _runManager, config) => {
      const { toolCall, signal } = (config ?? {}) as LangChainConfig;
      count += 1;
      const call = { id: toolCall?.id ?? `call-${count}`, name, input: writer.input(name, argumentsOf(input)) };
      const answer = await batch.answer(call, signal);
      if (answer.status === "failed" && answer.error !== undefined) throw answer.error;
      return [contentOf(await answerParts(answer)), answer];
    };
    const { tool: fields } = write(definition);
    return lenient(new toolClass({ ...fields, func }));
  });
}

interface LangChainConfig {
  readonly toolCall?: { readonly id?: string | undefined } | undefined;
  readonly signal?: AbortSignal | undefined;
}

const write = cachedWriter(({ name, description = "", inputSchema }: ToolDefinitionForModel) => {
  const projection = anthropicProjection(inputSchema);
  const responseFormat = "content_and_artifact" as const;
  return { tool: { name, description, schema: projection.schema, responseFormat }, projection };
});

/** Leaves validation to the toolkit: LangChain refuses an input before the common mistakes in it are repaired. */
function lenient<T extends LangChainTool>(tool: T): T {
  const { call } = tool;
  const open = Object.create(tool, { schema: { value: {} } });
  tool.call = (...parameters) => call.apply(open, parameters);
  return tool;
}

function contentOf(parts: readonly AnswerPart[]): LangChainContent {
  if (parts.every(({ kind }) => kind !== "media")) return textOfParts(parts);
  return parts.map((part) => {
    if (part.kind !== "media") return { type: "text", text: part.text };
    const { mediaType: mimeType, base64: data } = part;
    const [kind] = mimeType.split("/");
    return { type: kind === "image" || kind === "audio" ? kind : "file", mimeType, data };
  });
}

import type { JsonSchema, TypedSchema } from "../core/schema/types.ts";
import { isRecord, present } from "../lib/value.ts";
import type { ToolAnswer, ToolCall, ToolChoice, ToolDefinitionForModel } from "../toolset/toolset-types.ts";
import { type AnswerPart, answerParts, reasonOf, textOfParts } from "./answer-content.ts";
import { CallBatch, type CallRunner } from "./gathering.ts";
import { type AdaptedTools, argumentsOf, recordsIn, type ToolLoss, Writing, writtenOnce } from "./offered-tools.ts";
import { anthropicProjection } from "./projection/anthropic-schema.ts";

/** A JSON value, in the strictness of the AI SDK. */
type Json = null | string | number | boolean | Json[] | { [key: string]: Json | undefined };

/** What a tool gives, in the form in which the AI SDK tells it to a model. */
export type AiSdkOutput =
  | { type: "text"; value: string }
  | { type: "json"; value: Json }
  | { type: "error-text"; value: string }
  | { type: "execution-denied"; reason?: string }
  | { type: "content"; value: AiSdkContentPart[] };

/** A piece of an output. */
export type AiSdkContentPart =
  | { type: "text"; text: string }
  | { type: "file"; mediaType: string; filename?: string; data: { type: "data"; data: string } };

/** A tool of the AI SDK whose types are known at run time alone. */
export interface AiSdkTool {
  type: "dynamic";
  description?: string;
  inputSchema: TypedSchema<unknown, unknown>;
  execute(
    input: unknown,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined },
  ): Promise<AiSdkOutput>;
  toModelOutput(options: { readonly output: AiSdkOutput }): AiSdkOutput;
}

/** The tool choice of the AI SDK. */
export type AiSdkToolChoice = "auto" | "required" | "none" | { type: "tool"; toolName: string };

/** A message with results, for those who call the tools themselves. */
export interface AiSdkToolMessage {
  role: "tool";
  content: { type: "tool-result"; toolCallId: string; toolName: string; output: AiSdkOutput }[];
}

/** A run that the tools of the AI SDK are called in. */
export interface AiSdkRun extends AdaptedTools, CallRunner {}

/** What the adapter needs of a toolset. */
export interface AiSdkSource {
  /** Every tool there is, whether it is told of now or on demand. */
  readonly all: readonly ToolDefinitionForModel[];
  begin(options: { readonly signal?: AbortSignal | undefined }): AiSdkRun;
}

/** Tools for `generateText`, `streamText` and agents of the AI SDK, version 7. */
export interface AiSdkAdapter {
  /** A `ToolSet`, by alias. The calls of one step are executed in the run together. */
  readonly tools: Record<string, AiSdkTool>;
  /** Of the turn the run is in. */
  readonly toolChoice: AiSdkToolChoice | undefined;
  /** Aliases of the tools that are offered in the turn the run is in. */
  readonly activeTools: string[];
  /** Give it to `generateText`, so that each step has the tools and the tool choice of its turn. */
  prepareStep(): { activeTools: string[]; toolChoice?: AiSdkToolChoice };
  /** What models are not told. */
  readonly lost: readonly ToolLoss[];
  /** The run it calls in. */
  readonly run: AiSdkRun;
  /** For those who call the tools themselves: the calls in a result of `generateText`, or in its `toolCalls`. */
  calls(given: unknown): readonly ToolCall[];
  /** What to send back then. */
  results(answers: readonly ToolAnswer[]): Promise<AiSdkToolMessage>;
}

/**
 * The tools of a toolset for the AI SDK (version 7), which executes them in a run: the one given, else a new one.
 *
 * @example
 * ```ts
 * const { tools, prepareStep } = toAiSdk(toolset);
 * const { text } = await generateText({ model, prompt, tools, prepareStep, stopWhen: isStepCount(5) });
 * ```
 */
export function toAiSdk(source: AiSdkSource, run: AiSdkRun = source.begin({})): AiSdkAdapter {
  const all = new Writing({ definitions: () => source.all, toolChoice: "auto" }, write);
  const gathering = new CallBatch(run);
  const tools = source.all.map((definition) => {
    const { tool } = write(definition);
    const execute: AiSdkTool["execute"] = async (input, { toolCallId, abortSignal }) => {
      const call = { id: toolCallId, name: definition.name, input: all.input(definition.name, argumentsOf(input)) };
      const answer = await gathering.answer(call, abortSignal);
      if (answer.status === "failed" && answer.error !== undefined) throw answer.error;
      return outputOf(answer);
    };
    return [definition.name, { ...tool, execute }] as const;
  });
  const activeTools = () => run.definitions().map(({ name }) => name);
  const toolChoice = () => (run.definitions().length === 0 ? undefined : choiceOf(run.toolChoice));
  return {
    run,
    tools: Object.fromEntries(tools),
    get activeTools() {
      return activeTools();
    },
    get toolChoice() {
      return toolChoice();
    },
    prepareStep: () => present({ activeTools: activeTools(), toolChoice: toolChoice() }),
    get lost() {
      return all.lost();
    },
    calls: (given) =>
      recordsIn(isRecord(given) ? given.toolCalls : given).map(({ toolCallId, toolName, input }) => ({
        id: String(toolCallId),
        name: String(toolName),
        input: all.input(String(toolName), argumentsOf(input)),
      })),
    async results(answers) {
      const content = answers.map(async (answer) => ({
        type: "tool-result" as const,
        toolCallId: answer.id,
        toolName: answer.name,
        output: await outputOf(answer),
      }));
      return { role: "tool", content: await Promise.all(content) };
    },
  };
}

const write = writtenOnce(({ description, inputSchema }: ToolDefinitionForModel) => {
  const projection = anthropicProjection(inputSchema);
  const fields = present({ type: "dynamic" as const, description, inputSchema: schemaOf(projection.schema) });
  return { tool: { ...fields, toModelOutput: ({ output }: { readonly output: AiSdkOutput }) => output }, projection };
});

/** By which the AI SDK knows a schema of its own, which it passes on as it is; of another it closes every object. */
const aiSdkSchema = Symbol.for("vercel.ai.schema");

/** A schema that takes everything: the toolkit validates, and mends what can be. */
function schemaOf(jsonSchema: JsonSchema): TypedSchema<unknown, unknown> {
  const convert = () => ({ ...jsonSchema });
  const standard = {
    version: 1,
    vendor: "toolweave",
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: convert, output: convert },
  } as const;
  const own = {
    [aiSdkSchema]: true,
    jsonSchema,
    validate: (value: unknown) => ({ success: true, value }),
  };
  return { ...own, "~standard": standard };
}

function choiceOf(choice: ToolChoice): AiSdkToolChoice {
  return typeof choice === "object" ? { type: "tool", toolName: choice.tool } : choice;
}

/** What became of a call, in the form in which the AI SDK and its model port tell it to a model. */
export async function outputOf(answer: ToolAnswer): Promise<AiSdkOutput> {
  if (answer.status === "denied" || answer.status === "pending")
    return { type: "execution-denied", reason: reasonOf(answer) };
  const parts = await answerParts(answer);
  if (answer.status === "failed") return { type: "error-text", value: textOfParts(parts) };
  const [only] = parts;
  // What was parsed from JSON is JSON.
  if (parts.length === 1 && only?.kind === "json") return { type: "json", value: only.value as Json };
  if (parts.every(({ kind }) => kind !== "media")) return { type: "text", value: textOfParts(parts) };
  return { type: "content", value: parts.map(contentPart) };
}

function contentPart(part: AnswerPart): AiSdkContentPart {
  if (part.kind !== "media") return { type: "text", text: part.text };
  const { name, mediaType, base64 } = part;
  return { type: "file", mediaType, filename: name, data: { type: "data", data: base64 } };
}

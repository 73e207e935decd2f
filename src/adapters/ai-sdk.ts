import type { JsonSchema, TypedSchema } from "../core/schema/types.ts";
import { abortable } from "../lib/promise.ts";
import { isRecord, present } from "../lib/value.ts";
import type { ToolAnswer, ToolCall, ToolChoice, ToolDefinitionForModel } from "../toolset/toolset-types.ts";
import { type AiSdkOutput, toAiSdkOutput } from "./answer-content.ts";
import { anthropicProjection } from "./projection/plain-schema.ts";
import { type AdaptedTools, argumentsOf, cachedWriter, recordsIn, type ToolLoss, ToolWriter } from "./tool-writer.ts";

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

/** A message with results, for code that calls the tools itself. */
export interface AiSdkToolMessage {
  role: "tool";
  content: { type: "tool-result"; toolCallId: string; toolName: string; output: AiSdkOutput }[];
}

/** Executes the calls of one turn. */
export interface CallRunner {
  execute(calls: readonly ToolCall[]): Promise<readonly ToolAnswer[]>;
}

/** A run that the tools of the AI SDK are called in. */
export interface AiSdkRun extends AdaptedTools, CallRunner {}

/** The part of a toolset that the adapter uses. */
export interface AiSdkSource {
  /** Every tool, also those that are disclosed on demand. */
  readonly all: readonly ToolDefinitionForModel[];
  begin(options: { readonly signal?: AbortSignal | undefined }): AiSdkRun;
}

/** Tools for `generateText`, `streamText` and agents of the AI SDK, version 7. */
export interface AiSdkAdapter {
  /** A `ToolSet`, by alias. The calls of one step are executed in the run together. */
  readonly tools: Record<string, AiSdkTool>;
  /** Of the current turn of the run. */
  readonly toolChoice: AiSdkToolChoice | undefined;
  /** Aliases of the tools that are offered in the current turn of the run. */
  readonly activeTools: string[];
  /** Give it to `generateText`, so that each step has the tools and the tool choice of its turn. */
  prepareStep(): { activeTools: string[]; toolChoice?: AiSdkToolChoice };
  /** The parts of schemas that models do not get. */
  readonly lost: readonly ToolLoss[];
  /** The run in which the calls are made. */
  readonly run: AiSdkRun;
  /** For code that calls the tools itself: the calls in a result of `generateText`, or in its `toolCalls`. */
  calls(given: unknown): readonly ToolCall[];
  /** The message to send back then. */
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
  const all = new ToolWriter({ definitions: () => source.all, toolChoice: "auto" }, write);
  const batch = new CallBatch(run);
  const tools = source.all.map((definition) => {
    const { tool } = write(definition);
    const execute: AiSdkTool["execute"] = async (input, { toolCallId, abortSignal }) => {
      const call = { id: toolCallId, name: definition.name, input: all.input(definition.name, argumentsOf(input)) };
      const answer = await batch.answer(call, abortSignal);
      if (answer.status === "failed" && answer.error !== undefined) throw answer.error;
      return toAiSdkOutput(answer);
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
        output: await toAiSdkOutput(answer),
      }));
      return { role: "tool", content: await Promise.all(content) };
    },
  };
}

const write = cachedWriter(({ description, inputSchema }: ToolDefinitionForModel) => {
  const projection = anthropicProjection(inputSchema);
  const fields = present({ type: "dynamic" as const, description, inputSchema: schemaOf(projection.schema) });
  return { tool: { ...fields, toModelOutput: ({ output }: { readonly output: AiSdkOutput }) => output }, projection };
});

/** Marks a schema as one of the AI SDK, which it passes on unchanged; of any other it closes every object. */
const aiSdkSchema = Symbol.for("vercel.ai.schema");

/** A schema that accepts everything: the toolkit validates, and repairs what it can. */
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

interface Batch {
  readonly calls: ToolCall[];
  readonly answers: Promise<readonly ToolAnswer[]>;
}

/**
 * Gathers calls that the AI SDK makes one by one into one turn of a run: those made before the event loop turns are executed together.
 */
class CallBatch {
  readonly #runner: CallRunner;
  #open: Batch | undefined;

  constructor(runner: CallRunner) {
    this.#runner = runner;
  }

  /** The answer of one call. @throws the reason of an abort, of the run or of the call */
  async answer(call: ToolCall, signal: AbortSignal | undefined): Promise<ToolAnswer> {
    signal?.throwIfAborted();
    this.#open ??= this.#begin();
    const { calls, answers } = this.#open;
    const index = calls.push(call) - 1;
    const answer = (await abortable(answers, signal))[index];
    if (answer === undefined) throw new Error(`The call ${call.id} of ${call.name} was not answered.`);
    return answer;
  }

  #begin(): Batch {
    const calls: ToolCall[] = [];
    const answers = new Promise<readonly ToolAnswer[]>((resolve) => {
      setImmediate(() => {
        this.#open = undefined;
        resolve(this.#runner.execute(calls));
      });
    });
    // Each call awaits it by itself, and so rejects; one that was aborted does not wait any more.
    answers.catch(() => undefined);
    return { calls, answers };
  }
}

import { assertOptionNames } from "../core/options.ts";
import type { Content } from "../core/resource.ts";
import type { JsonSchema, TypedSchema } from "../core/schema/types.ts";
import type { Progress } from "../core/session.ts";
import { isRecord, present } from "../lib/value.ts";
import { joinParts } from "../resource/content.ts";
import type { ToolAnswer, ToolCall, ToolChoice, ToolDefinitionForModel } from "../toolset/toolset-types.ts";
import { type AiSdkApprovals, ConversationApprover } from "./ai-sdk-approvals.ts";
import { type AiSdkOutput, toAiSdkOutput } from "./answer-content.ts";
import { anthropicProjection } from "./projection/plain-schema.ts";
import { type AdaptedTools, argumentsOf, cachedWriter, recordsIn, type ToolLoss, ToolWriter } from "./tool-writer.ts";
import { type CallRunner, TurnBatch } from "./turn-batch.ts";

/** A tool of the AI SDK whose types are known at run time alone. */
export interface AiSdkTool {
  type: "dynamic";
  description?: string;
  inputSchema: TypedSchema<unknown, unknown>;
  /** An iterable with the option `progress`: of progress and parts, and of the output last. */
  execute(input: unknown, options: AiSdkCallOptions): Promise<AiSdkOutput> | AsyncIterable<AiSdkOutput>;
  /** With the option `approvals`, for tools that may need one. */
  needsApproval?(input: unknown, options: AiSdkCallOptions): Promise<boolean>;
  toModelOutput(options: { readonly output: AiSdkOutput }): AiSdkOutput;
}

/** The options by which the AI SDK calls a tool. */
export interface AiSdkCallOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
  /** The conversation, with the responses of the person who approves. */
  readonly messages?: readonly unknown[] | undefined;
}

/** The tool choice of the AI SDK. */
export type AiSdkToolChoice = "auto" | "required" | "none" | { type: "tool"; toolName: string };

/** A message with results, for code that calls the tools itself. */
export interface AiSdkToolMessage {
  role: "tool";
  content: { type: "tool-result"; toolCallId: string; toolName: string; output: AiSdkOutput }[];
}

/** A run that the tools of the AI SDK are called in. */
export interface AiSdkRun extends AdaptedTools, CallRunner {}

/** The part of a toolset that the adapter uses. */
export interface AiSdkSource {
  /** Every tool, also those that are disclosed on demand. */
  readonly all: readonly ToolDefinitionForModel[];
  begin(options: { readonly signal?: AbortSignal | undefined }): AiSdkRun;
  get(alias: string): { readonly item: unknown } | undefined;
}

/** Options of the tools for the AI SDK. */
export interface AiSdkOptions {
  /**
   * Has approvals asked for in the conversation, by the approval parts of the AI SDK (`tool-approval-request`, `tool-approval-response`), in
   * place of the words that a call waits. A response of the conversation decides, so take it only from a person who may: sign responses
   * (`experimental_toolApprovalSecret`) where they come from a browser.
   */
  readonly approvals?: AiSdkApprovals | undefined;
  /**
   * Gives the progress of calls as preliminary results, `{ type: "json", value: { progress, total, message } }`, and of results that come in
   * parts what has come so far, in the form of the result. Default false.
   */
  readonly progress?: boolean | undefined;
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
export function toAiSdk(
  source: AiSdkSource,
  run: AiSdkRun = source.begin({}),
  options: AiSdkOptions = {},
): AiSdkAdapter {
  assertOptionNames<AiSdkOptions>(options, { approvals: true, progress: true }, "of toAiSdk");
  const all = new ToolWriter({ definitions: () => source.all, toolChoice: "auto" }, write);
  const maker = new ToolMaker(source, run, {
    ...options,
    inputOf: (name, input) => all.input(name, argumentsOf(input)),
  });
  const tools = source.all.map((definition) => [definition.name, maker.tool(definition)] as const);
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

interface ToolMakerOptions extends AiSdkOptions {
  /** The input of a tool as its schema was before the projection. */
  inputOf(name: string, input: unknown): unknown;
}

/** Makes the tools of one adapter. */
class ToolMaker {
  readonly #source: AiSdkSource;
  readonly #options: ToolMakerOptions;
  readonly #batch: TurnBatch;
  readonly #approver: ConversationApprover | undefined;

  constructor(source: AiSdkSource, run: AiSdkRun, options: ToolMakerOptions) {
    const { approvals } = options;
    this.#source = source;
    this.#options = options;
    this.#batch = new TurnBatch(run);
    if (approvals === undefined) return;
    this.#approver = new ConversationApprover(approvals, (call, signal) => this.#batch.answer(call, signal));
  }

  tool(definition: ToolDefinitionForModel): AiSdkTool {
    const { name } = definition;
    const { tool } = write(definition);
    const execute: AiSdkTool["execute"] =
      this.#options.progress === true
        ? (input, given) => preliminary((listeners) => this.#execute(this.#call(name, input, given, listeners), given))
        : (input, given) => this.#execute(this.#call(name, input, given), given);
    const approver = this.#approver;
    if (approver?.isAsked(name, this.#source.get(name)) !== true) return { ...tool, execute };
    const needsApproval: AiSdkTool["needsApproval"] = (input, given) =>
      approver.isNeeded(this.#call(name, input, given), given);
    return { ...tool, execute, needsApproval };
  }

  #call(name: string, input: unknown, { toolCallId: id }: AiSdkCallOptions, listeners: CallListeners = {}): ToolCall {
    return { id, name, input: this.#options.inputOf(name, input), ...listeners };
  }

  async #execute(call: ToolCall, given: AiSdkCallOptions): Promise<AiSdkOutput> {
    const answer = await (this.#approver?.answer(call, given) ?? this.#batch.answer(call, given.abortSignal));
    if (answer.status === "failed" && answer.error !== undefined) throw answer.error;
    return toAiSdkOutput(answer);
  }
}

/** Each preliminary result has all parts so far: beyond this size, in bytes, one comes only after they have grown so much. */
const freeBytes = 4096;
const leastGrowth = 1.125;

type CallListeners = Pick<ToolCall, "onProgress" | "onPartial">;

/** The progress and the parts of a call, and its output last. Of those that come faster than they are read, the last is given. */
async function* preliminary(
  execute: (listeners: CallListeners) => Promise<AiSdkOutput>,
): AsyncGenerator<AiSdkOutput, void> {
  let latest: Progress | undefined;
  const parts: Content[] = [];
  let size = 0;
  let shownSize = 0;
  let awake = Promise.withResolvers<boolean>();
  const output = execute({
    onProgress: (progress) => {
      latest = progress;
      awake.resolve(false);
    },
    onPartial: (part) => {
      parts.push(part);
      size += part.size;
      awake.resolve(false);
    },
  });
  const ended = output.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([awake.promise, ended]))) {
    awake = Promise.withResolvers();
    const reported = latest;
    latest = undefined;
    if (reported !== undefined) {
      const { progress, total, message } = reported;
      yield { type: "json", value: present({ progress, total, message }) };
    }
    if (size === shownSize || (size > freeBytes && size < shownSize * leastGrowth)) continue;
    shownSize = size;
    yield await toAiSdkOutput({ ...noAnswer, content: joinParts([...parts], { name: "parts" }) });
  }
  yield await output;
}

/** An answer whose content is still coming. */
const noAnswer: ToolAnswer = {
  ...{ id: "", name: "", status: "ok", references: [], durationMs: 0 },
  debug: { forced: false, exclusive: false, cached: false, attempts: 0 },
};

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

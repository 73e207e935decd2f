import type { Delegate } from "../core/delegate.ts";
import type { CallContext, Entry, Prompt, Tool, Toolbox } from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions } from "../core/session.ts";
import type { RunLimits } from "./agent-options.ts";
import type { AgentStream } from "./agent-stream.ts";
import type { Conversation } from "./conversation.ts";
import type { ModelWish } from "./run/task.ts";

/** How the run of an agent is called. */
export interface RunOptions extends Pick<CallOptions, "signal" | "session" | "meta" | "attachments" | "timeoutMs"> {
  /** Where its tools are. Default: the toolkit the agent serves; without one there are those that are handed over. */
  readonly toolbox?: Toolbox | undefined;
  /** Hears how the run goes, as that of a call. */
  readonly onEvent?: CallOptions["onEvent"];
}

/** What is asked without a prompt file, beside the text. */
export interface GenerateOptions extends RunOptions, ModelWish, Omit<RunLimits, "timeoutMs"> {
  /** Names and globs of what the model may use, and tools of the caller's own. Default: none. */
  readonly tools?: readonly (string | Tool)[] | undefined;
  /** What was said before: what `conversationOf` gave for an earlier answer. */
  readonly conversation?: Conversation | undefined;
}

/** A prompt that is to be executed. */
export interface PromptCall {
  /** A key, an entry, or a prompt of the caller's own. */
  readonly prompt: string | Prompt | Entry<"prompt">;
  readonly input?: unknown;
}

/** How a suspended run goes on. */
export interface ResumeOptions extends Pick<RunOptions, "signal" | "session" | "onEvent"> {
  /** Wait until what it waits for is settled. Default false: where it is not, the run is `PENDING` still. */
  readonly wait?: boolean | undefined;
}

/** A run that waits to be resumed. */
export interface WaitingRun {
  /** By which it is resumed. */
  readonly id: string;
  /** Of its prompt; `inline.generate` for `generate`. */
  readonly ref: string;
  /** `running` while somebody goes on with it; `lost` where whoever did is gone, and what it did is not known. */
  readonly status: "suspended" | "running" | "lost";
  /** Since when it waits, in milliseconds since the epoch. */
  readonly since: number;
  /** When the first of what it waits for is over, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The calls it waits for: `id` is that of an approval, or of the run of a sub-agent. */
  readonly waitsFor: readonly {
    readonly id: string;
    readonly tool: string;
    readonly reason: string;
    readonly message: string;
    readonly expiresAt: number;
  }[];
  /** Whose it is, where that has a name. */
  readonly principal?: string | undefined;
  /** It can go on only in the process where it began: it has tools that were handed over, or is confined to a view. */
  readonly isLocal: boolean;
}

/** How a suspended run is given up. */
export interface ForgetOptions extends Pick<RunOptions, "session"> {
  /** Who gives it up, for those who hear of what is denied by that. */
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** Executes prompts with language models: the delegate of a toolkit, and what asks a model without one. */
export interface Agent extends Delegate {
  runPrompt(prompt: Entry<"prompt">, input: unknown, context: CallContext): Promise<Content>;
  attach: NonNullable<Delegate["attach"]>;
  /**
   * Asks a model, with tools where it is given some, until there is an answer. What the answer took is in its `meta`: `usage`, `steps`,
   * `model`, `finishReason`, `toolCalls`, `run`.
   *
   * @throws ToolkitError as a call does; `STEP_LIMIT`, `LIMIT_EXCEEDED`, `MODEL_FAILED`; `INVALID_OUTPUT` for an answer that does not fit
   *   after its repairs; `NOT_FOUND` for a model or tool there is not; `MISSING_PEER` for the package of a provider; `PENDING` where a tool
   *   waits, with the id by which the run is resumed
   *
   * @example
   * ```ts
   * const answer = await assistant.generate("What is in notes.txt?", { toolbox: toolkit, tools: ["files.*"] });
   * console.log(await answer.text(), answer.meta.usage);
   * ```
   */
  generate(text: string, options?: GenerateOptions): Promise<Content>;
  /**
   * The same, told as it happens: an iterable of events, and the answer as `result`. The model is read no faster than the events are; who
   * stops reading ends the run.
   *
   * @example
   * ```ts
   * const stream = assistant.stream("Tell me a story.");
   * for await (const event of stream) if (event.type === "textDelta") process.stdout.write(event.delta);
   * const { usage } = (await stream.result).meta;
   * ```
   */
  stream(text: string, options?: GenerateOptions): AgentStream;
  /** A prompt, told as it happens. */
  stream(call: PromptCall, options?: RunOptions): AgentStream;
  /**
   * Goes on with a run that was `PENDING`, from the step it was in: in another process too, where its toolkit has a store that outlives
   * this one.
   *
   * What fails before another tool was called, such as the model, leaves it suspended: it can be resumed again.
   *
   * @param options - `session`: whose run it must be. Default: it is resumed as the session that began it
   * @throws ToolkitError `NOT_FOUND`, also for the run of another principal; `PENDING` with the same id where it still waits; `CONFLICT`
   *   while somebody else goes on with it, or where it can go on only in the process where it began; `OUTCOME_UNKNOWN` where whoever went
   *   on with it is gone; `STORE_FAILED`; else as `generate`
   */
  resume(id: string, options?: ResumeOptions): Promise<Content>;
  /**
   * The runs that wait to be resumed, in whichever process they began, the longest waiting first. Those of sub-agents are not among them:
   * they go on with the run that waits for them. With a `session` only those of its principal.
   *
   * @throws ToolkitError `STORE_FAILED`
   */
  suspended(options?: Pick<RunOptions, "session">): Promise<readonly WaitingRun[]>;
  /**
   * Gives a suspended run up: it cannot be resumed any more, and what it waits for and is not decided yet is denied, which events tell.
   *
   * @throws ToolkitError `NOT_FOUND`, also for the run of another principal; `CONFLICT` while somebody goes on with it; `STORE_FAILED`
   */
  forget(id: string, options?: ForgetOptions): Promise<void>;
  /** What was said until an answer was there: a plain value that JSON holds. Undefined for what is no answer of an agent. */
  conversationOf(answer: Content): Conversation | undefined;
}

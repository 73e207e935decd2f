import type { Delegate } from "../core/delegate.ts";
import type { CallContext, Entry, Prompt, Toolbox } from "../core/item.ts";
import type { OptionNames } from "../core/options.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions } from "../core/session.ts";
import { limitNames, type RunLimits } from "./agent-options.ts";
import type { AgentStream } from "./agent-stream.ts";
import type { ConversationSummary } from "./conversation/kept-conversations.ts";
import type { UiMessage } from "./conversation/ui-messages.ts";
import type { Conversation } from "./run/run-state.ts";
import type { TextOptions } from "./run/task.ts";

/** Options of a run of an agent. */
export interface RunOptions
  extends Pick<CallOptions, "signal" | "session" | "meta" | "attachments" | "forced" | "model" | "timeoutMs"> {
  /** The source of its tools. Default: the toolkit that the agent is the delegate of; without one only tools of the caller's own exist. */
  readonly toolbox?: Toolbox | undefined;
  /**
   * The conversation to continue: that of an answer (`conversationOf`), or the id of one that is kept in the store, by the principal of the
   * session. One that is not there is begun; after the answer it has this turn too.
   */
  readonly conversation?: Conversation | string | undefined;
  /** Receives the events of the run, as `onEvent` of a call does. */
  readonly onEvent?: CallOptions["onEvent"];
}

/** Options of a request without a prompt. */
export interface GenerateOptions extends RunOptions, TextOptions, Omit<RunLimits, "timeoutMs"> {}

export const runNames: OptionNames<RunOptions> = {
  toolbox: true,
  signal: true,
  session: true,
  meta: true,
  attachments: true,
  forced: true,
  model: true,
  timeoutMs: true,
  conversation: true,
  onEvent: true,
};

/** The names of the options of `generate` and `stream`. */
export const generateNames: OptionNames<GenerateOptions> = {
  ...limitNames,
  ...runNames,
  system: true,
  tools: true,
  output: true,
  provider: true,
  thinking: true,
  thinkingBudget: true,
  settings: true,
};

/** A prompt to execute, with its input. */
export interface PromptCall {
  /** A key, an entry, or a prompt of the caller's own. */
  readonly prompt: string | Prompt | Entry<"prompt">;
  readonly input?: unknown;
}

/** A suspended run, by its id. */
export interface RunToResume {
  readonly resume: string;
}

/** Options of resuming a run. */
export interface ResumeOptions extends Pick<RunOptions, "signal" | "session" | "onEvent"> {
  /** Wait until every call that the run waits for is settled. Default false: it rejects with `PENDING` again. */
  readonly wait?: boolean | undefined;
}

/** A suspended run. */
export interface WaitingRun {
  /** For `resume` and `forget`. */
  readonly id: string;
  /** Of its prompt; `inline.generate` for `generate`. */
  readonly ref: string;
  /** `running` while a process continues it; `lost` where that process died, so that its outcome is unknown. */
  readonly status: "suspended" | "running" | "lost";
  /** The time of its suspension, in milliseconds since the epoch. */
  readonly since: number;
  /** When the first call that it waits for expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The calls that it waits for: `id` is that of an approval, or of the run of a sub-agent. */
  readonly waitsFor: readonly {
    readonly id: string;
    readonly tool: string;
    readonly reason: string;
    readonly message: string;
    readonly expiresAt: number;
  }[];
  /** The principal of its session, if any. */
  readonly principal?: string | undefined;
  /** It can be resumed only in the process where it began: it has tools of the caller's own, or is confined to a view. */
  readonly isLocal: boolean;
}

/**
 * The conversations that are kept in the store. With a `session` those of its principal, without one those of calls that had no session.
 *
 * Each rejects with `STORE_FAILED` where the store fails.
 */
export interface Conversations {
  /** A conversation up to its last turn; undefined where there is none, also for that of another principal. */
  get(id: string, options?: Pick<RunOptions, "session">): Promise<Conversation | undefined>;
  /**
   * A conversation for `useChat` of the AI SDK, to show it again: its messages, tool calls with their results, and the calls that wait, with
   * their approvals. Empty where there is none, also for that of another principal. See `toUiMessages`.
   *
   * @example
   * ```ts
   * const messages: UIMessage[] = await assistant.conversations.uiMessages("chat-1", { session });
   * ```
   */
  uiMessages(id: string, options?: Pick<RunOptions, "session">): Promise<UiMessage[]>;
  /** The last changed first. */
  list(options?: Pick<RunOptions, "session">): Promise<readonly ConversationSummary[]>;
  /** Resolves to false where there is none. A run that continues it then ends with `CONFLICT`. */
  delete(id: string, options?: Pick<RunOptions, "session">): Promise<boolean>;
}

/** Options of forgetting a run. */
export interface ForgetOptions extends Pick<RunOptions, "session"> {
  /** The name of the decider in the denials that follow. */
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

export const resumeNames: OptionNames<ResumeOptions> = { signal: true, session: true, onEvent: true, wait: true };
export const forgetNames: OptionNames<ForgetOptions> = { session: true, by: true, reason: true };

/** Executes prompts with language models, as the delegate of a toolkit, and asks models without a prompt. */
export interface Agent extends Delegate {
  runPrompt(prompt: Entry<"prompt">, input: unknown, context: CallContext): Promise<Content>;
  attach: NonNullable<Delegate["attach"]>;
  /**
   * Asks a model, and makes its tool calls, until it answers. The `meta` of the answer has `usage`, `steps`, `model`, `finishReason`,
   * `toolCalls` and `run`.
   *
   * @throws ToolkitError as a call does; `STEP_LIMIT`, `LIMIT_EXCEEDED`, `MODEL_FAILED`; `INVALID_OUTPUT` for an answer that does not fit
   *   after its repairs; `NOT_FOUND` for an unknown model or tool; `MISSING_PEER` for the package of a provider; `PENDING` where a tool
   *   waits, with the id for `resume`
   *
   * @example
   * ```ts
   * const answer = await assistant.generate("What is in notes.txt?", { toolbox: toolkit, tools: ["files.*"] });
   * console.log(await answer.text(), answer.meta.usage);
   * ```
   */
  generate(text: string, options?: GenerateOptions): Promise<Content>;
  /**
   * As `generate`, with an iterable of events and the answer as `result`. The model is read no faster than the events; a reader that stops
   * aborts the run.
   *
   * @example
   * ```ts
   * const stream = assistant.stream("Tell me a story.");
   * for await (const event of stream) if (event.type === "textDelta") process.stdout.write(event.delta);
   * const { usage } = (await stream.result).meta;
   * ```
   */
  stream(text: string, options?: GenerateOptions): AgentStream;
  /** Executes a prompt, with an iterable of events and the answer as `result`. */
  stream(call: PromptCall, options?: RunOptions): AgentStream;
  /** As `resume`, with an iterable of events and the answer as `result`. */
  stream(run: RunToResume, options?: Omit<ResumeOptions, "onEvent">): AgentStream;
  /**
   * Continues a run that was `PENDING`, from the same step; also in another process, where the store of its toolkit outlives this one.
   *
   * A failure before a further tool call, such as one of the model, leaves it suspended: it can be resumed again.
   *
   * @param options - `session`: the session that owns the run. Default: it is resumed as the session that began it
   * @throws ToolkitError `NOT_FOUND`, also for the run of another principal; `PENDING` with the same id where it still waits; `CONFLICT`
   *   while another process continues it, or where only the process in which it began can; `OUTCOME_UNKNOWN` where the process that
   *   continued it died; `STORE_FAILED`; else as `generate`
   */
  resume(id: string, options?: ResumeOptions): Promise<Content>;
  /**
   * The suspended runs of all processes, the longest waiting first, without those of sub-agents: these continue with the run that waits for
   * them. With a `session` only those of its principal.
   *
   * @throws ToolkitError `STORE_FAILED`
   */
  suspended(options?: Pick<RunOptions, "session">): Promise<readonly WaitingRun[]>;
  /**
   * Deletes a suspended run. The approvals that it waits for are denied, with an event each.
   *
   * @throws ToolkitError `NOT_FOUND`, also for the run of another principal; `CONFLICT` while a process continues it; `STORE_FAILED`
   */
  forget(id: string, options?: ForgetOptions): Promise<void>;
  /**
   * A result of a tool that was too long for the conversation, whole: the URI is in the event `toolResult`, and in what the model got.
   *
   * @param options - `session`: that of the run. Default: that of runs without a session
   * @throws ToolkitError `NOT_FOUND`, also for the result of another principal, and of another session without one; `STORE_FAILED`
   */
  readResult(uri: string, options?: Pick<RunOptions, "session">): Promise<Content>;
  /** The conversations that are kept in the store. */
  readonly conversations: Conversations;
  /** The conversation up to an answer, as a plain JSON value. Undefined for a Content that is no answer of this agent. */
  conversationOf(answer: Content): Conversation | undefined;
}

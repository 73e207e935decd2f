import type { ToolkitError } from "./error.ts";
import type { Content } from "./resource.ts";

/** The tokens that models read and wrote. A number that a provider does not report counts as 0. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input: read from the provider's cache. */
  readonly cachedInputTokens: number;
  /** Of the output: spent on thinking. */
  readonly reasoningTokens: number;
  /** In the currency of the prices that were given; undefined where no price is known. */
  readonly cost?: number | undefined;
}

/** The reason why a model stopped, as the model port defines it. */
export type FinishReason =
  | "stop"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "error"
  | "interrupted"
  | "other"
  /** A tool took control: its result is the answer. */
  | "control";

/** One call of a model. */
export interface AgentStep {
  /** From 0. */
  readonly step: number;
  readonly provider: string;
  readonly model: string;
  readonly finishReason: FinishReason;
  readonly usage: TokenUsage;
  /** Of the model alone, in milliseconds. */
  readonly durationMs: number;
}

/** A tool call of a model, and its outcome. */
export interface AgentToolCall {
  /** Of the model. */
  readonly id: string;
  /** The alias by which the model called it. */
  readonly name: string;
  /** Undefined where there is no such tool. */
  readonly ref?: string | undefined;
  readonly step: number;
  readonly status: "ok" | "failed" | "denied" | "pending";
  readonly durationMs: number;
}

/** A source that a model names for its answer, such as a page it has searched. */
export interface AgentSource {
  readonly sourceType: "url" | "document";
  /** Of the provider. */
  readonly id: string;
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  readonly mediaType?: string | undefined;
  readonly filename?: string | undefined;
}

/** The fields of each type of event. */
export interface AgentEventMap {
  /** A piece of the answer's text. */
  textDelta: { readonly step: number; readonly delta: string };
  /** A piece of what the model thinks. */
  reasoningDelta: { readonly step: number; readonly delta: string };
  /** A tool is about to be called. */
  toolCall: { readonly step: number; readonly id: string; readonly name: string; readonly input: unknown };
  toolResult: Omit<AgentToolCall, "ref"> & {
    /** The ref of the tool. Undefined where there is no such tool. */
    readonly tool?: string | undefined;
    /** URI of the kept result. */
    readonly uri?: string | undefined;
    readonly content?: Content | undefined;
    readonly error?: ToolkitError | undefined;
  };
  /** The model names a source of its answer. */
  source: AgentSource & { readonly step: number };
  /** A model has answered. */
  step: AgentStep;
  /** All that was used so far, of sub-agents too. */
  usage: { readonly usage: TokenUsage };
  /** The answer did not fit, and the model is asked again. Text deltas of it are void. */
  repair: { readonly step: number; readonly reason: string };
  /** The run waits for approval or for work elsewhere. */
  suspended: { readonly id: string };
  finish: { readonly finishReason: FinishReason; readonly steps: number; readonly usage: TokenUsage };
}

/** The name of a type of agent event. */
export type AgentEventType = keyof AgentEventMap;

/** An event of an agent run, emitted to its caller. */
export type AgentEvent<T extends AgentEventType = AgentEventType> = {
  [P in T]: {
    readonly type: P;
    /** The id of the run. */
    readonly run: string;
    /** The ref of the prompt it executes. */
    readonly ref: string;
    /** 0 for the run that was called from outside; a sub-agent has a higher one. */
    readonly depth: number;
  } & AgentEventMap[P];
}[T];

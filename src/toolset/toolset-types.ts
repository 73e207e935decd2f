import type { ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import type { Policy } from "../core/policy.ts";
import type { Content } from "../core/resource.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import type { CallOptions, Progress } from "../core/session.ts";
import type { ToolOptions } from "../core/tool-options.ts";

/** A tool, or a prompt that a model calls as one. */
export type ToolEntry = Entry<"tool" | "prompt">;

/** The definition of a tool for a model. */
export interface ToolDefinitionForModel {
  /** Its alias. */
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
}

/** Whether a model may, must or must not call a tool, or the one it must call, by alias. */
export type ToolChoice = "auto" | "required" | "none" | { readonly tool: string };

/** A policy of one model run. It is checked in the order of these fields, then the lists and `decide`. */
export interface RunPolicy extends Policy {
  /**
   * Default `auto`. With `required` a tool must be called in the first turn. With `none` no definition is disclosed, and every call is refused.
   */
  readonly toolChoice?: "auto" | "required" | "none" | undefined;
  /** Further calls of one turn are refused. Default: no limit. */
  readonly maxToolCallsPerTurn?: number | undefined;
  /** Further calls of a conversation are refused. Default: no limit. */
  readonly maxTotalToolCalls?: number | undefined;
}

/** The tool behind an alias: one of the toolkit, a prompt, or one that the run executes itself. */
export interface Callee {
  readonly ref: string;
  readonly namespace: string;
  readonly options: ToolOptions | undefined;
  /** Undefined for a tool that the run executes itself: the lists and the function of a policy are not asked about it. */
  readonly entry: ToolEntry | undefined;
  /** Whether the limits of a policy count its calls. */
  readonly isCounted: boolean;
  execute(input: unknown, options: CallOptions): Promise<Content>;
}

/** The tools of a toolset, as its runs use them. */
export interface OfferedTools {
  readonly tools: readonly { readonly alias: string; readonly entry: ToolEntry }[];
  readonly policy: RunPolicy;
  get(alias: string): ToolEntry | undefined;
  isForced(alias: string): boolean;
  definitionsOf(turn: number): readonly ToolDefinitionForModel[];
  toolChoiceOf(turn: number): ToolChoice;
}

/** Makes the calls of a run: a toolbox does. */
export interface ToolCaller {
  call(entry: ToolEntry, input: unknown, options: CallOptions): Promise<Content>;
}

/** A call that a model requests. */
export interface ToolCall {
  /** The id that the model gave it, which its answer repeats. */
  readonly id: string;
  /** The alias. */
  readonly name: string;
  readonly input: unknown;
  /** The error of parsing its arguments. The call is answered with it, and not made. */
  readonly malformed?: string | undefined;
  /** Receives the progress of this call; of identical calls in a turn, the first one's. */
  onProgress?(progress: Progress): void;
  /** Receives each part of a result that comes in parts, as `onProgress` does. */
  onPartial?(part: Content): void;
}

/** The answer to a call of a model: its result, or the error in its place. */
export interface ToolAnswer {
  readonly id: string;
  readonly name: string;
  /** Undefined where no tool has this alias. */
  readonly ref?: string | undefined;
  readonly status: "ok" | "failed" | "denied" | "pending";
  readonly content?: Content | undefined;
  readonly error?: ToolkitError | undefined;
  /** URIs of the resources the result holds or links to. */
  readonly references: readonly string[];
  /** 0 for a call that did not run. */
  readonly durationMs: number;
  readonly debug: {
    /** The namespace of the tool. */
    readonly origin?: string | undefined;
    readonly forced: boolean;
    readonly exclusive: boolean;
    /** Answered from the cache. */
    readonly cached: boolean;
    /** Attempts to run it; 0 for a call that did not run. */
    readonly attempts: number;
    /** The id of the identical call in the same batch whose answer this is. */
    readonly duplicateOf?: string | undefined;
  };
}

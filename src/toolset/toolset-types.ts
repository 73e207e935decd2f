import type { ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import type { Policy } from "../core/policy.ts";
import type { Content } from "../core/resource.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import type { CallOptions } from "../core/session.ts";

/** What a model may call: a tool, or a prompt as one. */
export type ToolEntry = Entry<"tool" | "prompt">;

/** What a model is told of a tool. */
export interface ToolDefinitionForModel {
  /** Its alias. */
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
}

/** What a model must do with its tools: as it likes, call one, call none, or call this one, by its alias. */
export type ToolChoice = "auto" | "required" | "none" | { readonly tool: string };

/** A policy of one model run. It is checked in the order of these fields. */
export interface RunPolicy extends Policy {
  /** Default `auto`. With `none` every call is refused. */
  readonly toolChoice?: "auto" | "required" | "none" | undefined;
  /** The calls of one turn beyond so many are refused. Default: no limit. */
  readonly maxToolCallsPerTurn?: number | undefined;
  /** The calls of a conversation beyond so many are refused. Default: no limit. */
  readonly maxTotalToolCalls?: number | undefined;
}

/** What a run may use. */
export interface OfferedTools {
  readonly tools: readonly { readonly alias: string; readonly entry: ToolEntry }[];
  readonly policy: RunPolicy;
  get(alias: string): ToolEntry | undefined;
  isForced(alias: string): boolean;
  takesControl(calls: readonly { readonly name: string }[]): boolean;
  definitionsOf(turn: number): readonly ToolDefinitionForModel[];
  toolChoiceOf(turn: number): ToolChoice;
  /** True for a tool that does nothing but tell of others: no list is asked whether it may be called. */
  tells?(entry: ToolEntry): boolean;
  /** True for a tool that belongs to the run itself: no rule is asked, and it does not count. */
  isOwn?(entry: ToolEntry): boolean;
}

/** Calls the tools of a run. */
export interface Caller {
  call(entry: ToolEntry, input: unknown, options: CallOptions): Promise<Content>;
}

/** A call as a model makes it. */
export interface ToolCall {
  /** Of the model, to tell the answers apart. */
  readonly id: string;
  /** The alias. */
  readonly name: string;
  readonly input: unknown;
}

/** What became of a call of a model. */
export interface ToolAnswer {
  readonly id: string;
  readonly name: string;
  /** Undefined where there is no such tool. */
  readonly ref?: string | undefined;
  readonly status: "ok" | "failed" | "denied" | "pending";
  readonly content?: Content | undefined;
  readonly error?: ToolkitError | undefined;
  /** URIs of the resources the result holds or links to. */
  readonly references: readonly string[];
  /** From the begin of its run to its end; 0 for what did not run. */
  readonly durationMs: number;
  readonly debug: {
    /** The namespace it comes from. */
    readonly origin?: string | undefined;
    readonly forced: boolean;
    readonly exclusive: boolean;
    /** It was answered from the cache. */
    readonly cached: boolean;
    /** How often it was run; 0 for what did not run. */
    readonly attempts: number;
    /** The id of the identical call in the same batch whose answer it shares. */
    readonly duplicateOf?: string | undefined;
  };
}

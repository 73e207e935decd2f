import type { AgentEvent } from "./agent-event.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "./interaction.ts";
import type { Content, Resource } from "./resource.ts";

/** Where messages for an operator go: pino, console or anything with these four methods. */
export interface Logger {
  debug(message: string, details?: unknown): void;
  info(message: string, details?: unknown): void;
  warn(message: string, details?: unknown): void;
  error(message: string, details?: unknown): void;
}

/** Who is calling. Outside MCP everything but the id is undefined. */
export interface Session {
  readonly id: string;
  /** The identity as which the caller was authenticated. */
  readonly principal?: string | undefined;
  readonly clientInfo?: { readonly name: string; readonly version: string } | undefined;
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined;
  /** Sent along to MCP servers as `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** Hears what a tool or an upstream server logs during this session's calls. */
  log?(entry: LogEntry): void;
  /** Asks the person who is calling. Missing, the delegate is asked. */
  elicit?(request: ElicitRequest, options: { readonly signal: AbortSignal }): Promise<ElicitResult>;
  /** Asks the caller's model. Missing, the delegate is asked. */
  sample?(request: SampleRequest, options: { readonly signal: AbortSignal }): Promise<SampleResult>;
}

/** The log levels of MCP, which are those of RFC 5424. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** A log message, as MCP sends it. */
export interface LogEntry {
  readonly level: LogLevel;
  /** Who says it, such as the namespace of a connector. */
  readonly logger?: string | undefined;
  readonly data: unknown;
}

/** How far a call is. */
export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** What became of a call beside its result; filled in as it goes. */
export interface CallReport {
  /** How often the tool was run. */
  attempts?: number;
  /** It was answered from the cache. */
  cached?: boolean;
}

/** How a call is made. */
export interface CallOptions {
  /** Aborts the call: it rejects with the signal's own reason, even where the tool does not listen. */
  readonly signal?: AbortSignal | undefined;
  /** Bounds everything together, in milliseconds. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Handed to `run` unchanged and in order; to a prompt they are attached to its message. Connectors take none. */
  readonly attachments?: readonly Resource[] | undefined;
  readonly session?: Session | undefined;
  /** Sent along to an MCP server as `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** Mend the usual slips of models in the input before it is validated. Default: what the settings of the tool say, else false. */
  readonly coerce?: boolean | undefined;
  /** Have it approved by somebody first, for this reason, whatever the tool and the policy say. */
  readonly needsApproval?: string | undefined;
  /** Run it although an answer is kept; the new answer takes its place. Default false. */
  readonly bypassCache?: boolean | undefined;
  /** Is told what became of the call, such as whether the answer came from the cache. */
  readonly report?: CallReport | undefined;
  /** The id that a model gave its tool call, for whoever follows it in a trace. */
  readonly toolCallId?: string | undefined;
  onProgress?(progress: Progress): void;
  /** Hears each part of a result that comes in parts. */
  onPartial?(part: Content): void;
  /**
   * Hears how the run of an agent goes: text as it comes, tool calls, results, steps, usage. The run waits for a promise it gives, so that a
   * slow reader slows the model down. What it throws is logged.
   */
  onEvent?(event: AgentEvent): void | PromiseLike<void>;
}

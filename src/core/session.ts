import { isRecord } from "../lib/value.ts";
import type { AgentEvent } from "./agent-event.ts";
import { ToolkitError } from "./error.ts";
import type { ElicitRequest, ElicitResult, Root, SampleRequest, SampleResult } from "./interaction.ts";
import { assertOptionNames, type OptionNames } from "./options.ts";
import { type Content, isResource, type Resource } from "./resource.ts";

/** Receives messages for operators: pino, console or any object with these four methods. */
export interface Logger {
  debug(message: string, details?: unknown): void;
  info(message: string, details?: unknown): void;
  warn(message: string, details?: unknown): void;
  error(message: string, details?: unknown): void;
}

/** The caller. Outside MCP everything but the id is undefined. */
export interface Session {
  readonly id: string;
  /** The identity as which the caller was authenticated. An empty text is none: such a session has the items of those without a principal. */
  readonly principal?: string | undefined;
  readonly clientInfo?: { readonly name: string; readonly version: string } | undefined;
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined;
  /** Sent along to MCP servers as `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** Receives the log messages of tools and upstream servers during this session's calls. */
  log?(entry: LogEntry): void;
  /** Asks the person who is calling. Missing, the delegate is asked. */
  elicit?(request: ElicitRequest, options: { readonly signal: AbortSignal }): Promise<ElicitResult>;
  /** Asks the caller's model. Missing, the delegate is asked. */
  sample?(request: SampleRequest, options: { readonly signal: AbortSignal }): Promise<SampleResult>;
  /**
   * Asks for the folders that the caller's client works in, for servers whose connector has `callerRoots`; undefined where it does not say.
   * Missing, these get what their connector says.
   */
  listRoots?(options: { readonly signal: AbortSignal }): Promise<readonly Root[] | undefined>;
  /** Calls back at each change of these folders, as long as the session is there. It keeps the same listener once. */
  onRootsChange?(listener: () => void): void;
}

/** The same text for two sessions of one caller: a server makes a session object for each request of a client, to answer on its stream. */
export function sessionKey({ id, principal = "" }: Session): string {
  // With its length a principal and an id cannot be those of others. Every call of a served host asks for it.
  return `${principal.length} ${principal} ${id}`;
}

/** The sessions of calls that were given none, where such a call goes on as another one: what is the caller's own is then that of all without one. */
export const madeUpSessions = new WeakSet<Session>();

/** The log levels of MCP, which are those of RFC 5424. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** Every log level, the least first. */
export const logLevels: readonly LogLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

/** A log message, as MCP sends it. */
export interface LogEntry {
  readonly level: LogLevel;
  /** The source of the message, such as the namespace of a connector. */
  readonly logger?: string | undefined;
  readonly data: unknown;
}

/** The progress of a call. */
export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Facts about a call beside its result; filled in while it runs. */
export interface CallReport {
  /** The number of times the tool ran. */
  attempts?: number;
  /** It was answered from the cache. */
  cached?: boolean;
}

/** The options of a call. */
export interface CallOptions {
  /** Aborts the call: it rejects with the signal's own reason, even where the tool does not listen. */
  readonly signal?: AbortSignal | undefined;
  /** Bounds everything together, in milliseconds. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Handed to `run` unchanged and in order; to a prompt they are attached to its message. Connectors take none. */
  readonly attachments?: readonly Resource[] | undefined;
  /**
   * Of a prompt that an agent executes: names of tools to be called in the first turn, as `lookup` finds them. One is the tool choice, of
   * several only these are offered and one is required. An exclusive tool among them is offered alone.
   */
  readonly forced?: readonly string[] | undefined;
  /**
   * Of a prompt that an agent executes: the conversation that it continues. Either the value that `conversationOf` of the agent gives, or the
   * id of one that is kept in the store, by the principal of the session: it is begun where there is none, and has this turn too once the
   * prompt is answered.
   */
  readonly conversation?: string | { readonly messages: readonly unknown[]; readonly toolCalls: number } | undefined;
  /** Of a prompt that an agent executes: the model in place of the prompt's own, by its name or as `provider/name`. */
  readonly model?: string | undefined;
  readonly session?: Session | undefined;
  /** Sent along to an MCP server as `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** Repair the common mistakes of models in the input before it is validated. Default: the settings of the tool, else false. */
  readonly coerce?: boolean | undefined;
  /** Ask for an approval first, for this reason, even where the tool and the policy want none. */
  readonly needsApproval?: string | undefined;
  /** Run it even if an answer is cached; the new answer replaces it. Default false. */
  readonly bypassCache?: boolean | undefined;
  /** Filled in with facts about the call, such as whether the answer came from the cache. */
  readonly report?: CallReport | undefined;
  /** The id that a model gave its tool call, recorded in traces. */
  readonly toolCallId?: string | undefined;
  onProgress?(progress: Progress): void;
  /** Receives each part of a result that comes in parts. */
  onPartial?(part: Content): void;
  /**
   * Receives the events of an agent run: text as it comes, tool calls, results, steps, usage. The run waits for a promise it returns, so that a
   * slow listener slows the model down. Anything it throws is logged.
   */
  onEvent?(event: AgentEvent): void | PromiseLike<void>;
}

/** The names of the options of a call, a read and a render. */
export const callOptionNames: OptionNames<CallOptions> = {
  signal: true,
  timeoutMs: true,
  attachments: true,
  forced: true,
  conversation: true,
  model: true,
  session: true,
  meta: true,
  coerce: true,
  needsApproval: true,
  bypassCache: true,
  report: true,
  toolCallId: true,
  onProgress: true,
  onPartial: true,
  onEvent: true,
};

/** @throws ToolkitError `INVALID_INPUT` for attachments that are no Resources; `INVALID_CONFIG` for an option there is not */
export function assertCallOptions(options: CallOptions, owner: string): void {
  if (!hasOnlyKnown(options)) assertOptionNames(options, callOptionNames, owner);
  const { attachments } = options;
  if (attachments !== undefined) assertAttachments(attachments);
}

const knownNames: ReadonlySet<string> = new Set(Object.keys(callOptionNames));

/** Every call with options is checked: this costs a fraction of the check that names what is wrong. */
function hasOnlyKnown(options: CallOptions): boolean {
  if (!isRecord(options)) return false;
  for (const name in options) if (!knownNames.has(name)) return false;
  return true;
}

/** @throws ToolkitError `INVALID_INPUT` for attachments that are no Resources */
export function assertAttachments(attachments: readonly unknown[]): void {
  const wrong = Array.isArray(attachments) ? attachments.findIndex((each) => !isResource(each)) : undefined;
  if (wrong === -1) return;
  const pointer = wrong === undefined ? "/attachments" : `/attachments/${wrong}`;
  const message = "must be a Resource, made with resource.* or defineResource, or read with read()";
  const text = wrong === undefined ? "must be a list of Resources" : message;
  throw new ToolkitError("INVALID_INPUT", `The option ${pointer.slice(1)} ${text}. Nothing ran.`, {
    issues: [{ pointer, message: text }],
  });
}

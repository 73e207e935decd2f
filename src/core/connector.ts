import type { ArgumentValues } from "./argument-values.ts";
import type { ServerInfo } from "./connection.ts";
import type { ElicitRequest, ElicitResult, Root, SampleRequest, SampleResult } from "./interaction.ts";
import type { CallContext, Kind, PromptArgument, RenderedPrompt } from "./item.ts";
import type { Content, ReadOptions } from "./resource.ts";
import type { JsonSchema } from "./schema/types.ts";
import type { LogEntry } from "./session.ts";
import type { SourceChange } from "./source.ts";
import type { ToolAnnotations } from "./tool-options.ts";

interface Descriptor {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** Other fields that its server sent, such as `icons`: a server that passes the item on sends them too. */
  readonly extras?: Readonly<Record<string, unknown>> | undefined;
}

/** A remote tool, as plain data. */
export interface ToolDescriptor extends Descriptor {
  readonly input?: JsonSchema | undefined;
  readonly output?: JsonSchema | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  /** Reason it can be listed and not called, such as a protocol feature that is not supported. */
  readonly uncallable?: string | undefined;
}

/** A remote prompt, as plain data. */
export interface PromptDescriptor extends Descriptor {
  readonly arguments?: readonly PromptArgument[] | undefined;
}

/** A remote resource, as plain data. */
export interface ResourceDescriptor extends Descriptor {
  readonly uri: string;
  readonly mediaType?: string | undefined;
  readonly size?: number | undefined;
}

/** A remote resource template, as plain data. */
export interface TemplateDescriptor extends Descriptor {
  readonly uriTemplate: string;
  readonly mediaType?: string | undefined;
}

/** The descriptor of each kind. */
export interface DescriptorMap {
  tool: ToolDescriptor;
  prompt: PromptDescriptor;
  resource: ResourceDescriptor;
  template: TemplateDescriptor;
}

/** A list as a server gave it. */
export interface DescriptorList<K extends Kind> {
  readonly items: readonly DescriptorMap[K][];
  /** Problems of single entries, such as one that cannot be read and was left out. */
  readonly warnings: readonly string[];
  /** The limit at which the list was cut; undefined where it is whole. */
  readonly cutAt?: number | undefined;
  /** Its items were parsed from JSON text for this list alone: they hold nothing else, and no other code has them. Default false. */
  readonly isParsed?: boolean | undefined;
  /** The time that it may be taken for current, as the server says, in milliseconds. Missing, it does not say. */
  readonly ttlMs?: number | undefined;
  /** Says with `ttlMs` whom the list may be given to: anybody, or those who come with the same credentials. */
  readonly cacheScope?: "public" | "private" | undefined;
}

/** The context in which a server makes a request of its own. */
export interface InteractionOptions {
  /** Aborts when the server no longer waits, or its connection has ended. */
  readonly signal: AbortSignal;
  /** The call that the request belongs to, where the server says so. */
  readonly context?: CallContext | undefined;
}

/** A child process that serves a connection. */
export interface ServerProcess {
  /** Undefined where it no longer runs. */
  readonly processId?: number | undefined;
  /** The end of its stderr. */
  stderr?(): string;
}

/** Keeps small facts about targets, such as the revision that one speaks: in the store of the toolkit, so that they outlive the process. */
export interface ConnectorMemory {
  /** Gives what was kept under a key. Undefined where there is nothing, or where it cannot be read soon. Never rejects. */
  recall(key: string): Promise<unknown>;
  /** Keeps a JSON value under a key, in place of what was there. A failure loses it: it is a matter of speed alone. */
  keep(key: string, value: unknown): void;
}

/** Receives the notifications and requests of one session. Those after its end are ignored. */
export interface ConnectorHost {
  /** A list changed, or the content of a resource. May be called at any rate: bursts are joined. */
  changed(change: SourceChange): void;
  /** The server logged something: during the one call that is given, where the server says so. */
  log(entry: LogEntry, context?: CallContext | undefined): void;
  /**
   * A person has to act, such as to authorize it, before it can go on; undefined when that is done. While it waits during an attempt to
   * connect, the time limits of the attempt are paused, and the reason is the `lastError` of the connection. Returns false where it is
   * connected already: nothing is paused then.
   */
  waits(reason: Error | undefined): boolean;
  /** A child process runs, before the handshake: its stderr can be read meanwhile. */
  started?(process: ServerProcess): void;
  /** Small facts that outlive its sessions. Missing, nothing is kept. */
  readonly memory?: ConnectorMemory | undefined;
  /** The server makes a request to a person. Missing, elicitation is not offered to it at the handshake. */
  elicit?(request: ElicitRequest, options: InteractionOptions): Promise<ElicitResult>;
  /** The server makes a request to a model. Missing, sampling is not offered. @throws ToolkitError `NO_DELEGATE` where there is none */
  sample?(request: SampleRequest, options: InteractionOptions): Promise<SampleResult>;
  /**
   * The server asks for the folders it may work in: gives those of the caller it works for. Undefined where that is not known, or has none.
   * Missing, no caller is asked.
   */
  listRoots?(options: InteractionOptions): Promise<readonly Root[] | undefined>;
}

/** An argument of a prompt of a server, or a variable of one of its templates, whose values are asked for. */
export interface RemoteCompletion {
  readonly kind: "prompt" | "template";
  /** The name of the prompt, or the URI template. */
  readonly key: string;
  readonly argument: string;
  readonly value: string;
  /** The other arguments that were given. */
  readonly arguments: Readonly<Record<string, string>>;
}

/** One session of a connection, from a handshake to its end. */
export interface ConnectorSession extends AsyncDisposable {
  readonly server: ServerInfo;
  /** `stdio`, `streamable-http`, `sse`, `in-memory`, or the connector's own word. */
  readonly transport: string;
  /** Resolves when the session has ended, with the reason unless it was disposed of. Never rejects. */
  readonly closed: Promise<Error | undefined>;
  /** Reads a list whole. A kind the server does not have is missing. */
  readonly list: { readonly [K in Kind]?: (options: ReadOptions) => Promise<DescriptorList<K>> };
  /** Kinds whose changes the server announces; the others are polled. */
  readonly announces: ReadonlySet<Kind>;
  /** Id of the child process, where there is one. */
  readonly processId?: number | undefined;
  /** The end of the stderr of the far side. */
  readonly stderr?: (() => string) | undefined;
  /** A number that changes with each message of the far side: while it does, no ping is sent. */
  received?(): number;
  /** The folders of a caller changed that the server was given. Missing, it is not notified. */
  rootsChanged?(): void;
  /** Sends a ping. Any answer is a sign of life, even an error; without an answer it never settles. Missing, no pings are sent. */
  ping?(options: ReadOptions): Promise<void>;
  /**
   * Time after which a far side that sends nothing and answers no ping is taken for lost, in milliseconds. Default: 5,000. Longer where
   * its end is noticed otherwise, so that silence means that it is busy.
   */
  readonly silenceMs?: number | undefined;
  /**
   * Calls a tool. When `context.signal` aborts, the far side is notified.
   *
   * @throws ToolkitError `UNAVAILABLE` where the request was surely not sent, `OUTCOME_UNKNOWN` where it was sent and its answer lost,
   *   `TOOL_FAILED` for an error as a result, `REMOTE_ERROR` for one of the protocol
   */
  call(name: string, input: unknown, context: CallContext): Promise<Content>;
  /** Renders a prompt. Missing where the server has none. @throws as `call`, with `UNAVAILABLE` for a lost answer too: it changed nothing */
  render?(name: string, input: unknown, context: CallContext): Promise<RenderedPrompt>;
  /** Reads a resource whole. Missing where the server has none. @throws as `render`, and `NOT_FOUND` */
  read?(uri: string, context: CallContext | ReadOptions): Promise<Content>;
  /** Completes an argument. Missing where the server completes none. @throws as `render` */
  complete?(completion: RemoteCompletion, context: CallContext): Promise<ArgumentValues>;
  /** Subscribes to the changes of a resource, as long as the session lasts. Missing where the server has no subscriptions. */
  subscribe?(uri: string, options: ReadOptions): Promise<void>;
  /** Ends a subscription. */
  unsubscribe?(uri: string, options: ReadOptions): Promise<void>;
}

/** A way to reach one server. It makes a new session at each attempt and keeps nothing between them. */
export interface Connector {
  /** Its target, for people, without secrets. */
  readonly label: string;
  /** A key that connectors to the same target share; missing, no other has the same target. */
  readonly key?: string | undefined;
  /** A likely cause why an attempt takes long, for people, without secrets. */
  startHint?(): string | undefined;
  /** The namespace until the server has given its name. */
  readonly suggestedName?: string | undefined;
  /**
   * Time limit of its own handshake, in milliseconds. The attempt is given up from outside only after it had time to report why it
   * failed, and to end everything it started.
   */
  readonly connectTimeoutMs?: number | undefined;
  /** The most calls, reads and renders in flight; one more fails at once. Default: 1,000. */
  readonly maxConcurrentCalls?: number | undefined;
  /**
   * The reaction to an attempt to connect that is silent, as after a network dropped what was sent. `beside`: every four seconds another
   * attempt is made beside the first, and the first to succeed is used; at most eight in one attempt, two at a time. `instead`: one that
   * takes five times as long as the fastest that succeeded, and four seconds at least, is ended and made again, within a third of the time that
   * the attempt may take. Default: it is waited for.
   */
  readonly whenSilent?: "beside" | "instead" | undefined;
  /**
   * Connects, handshake included.
   *
   * @throws the reason it failed, after everything it had started is ended, also when the signal aborts
   */
  connect(options: { readonly signal: AbortSignal; readonly host: ConnectorHost }): Promise<ConnectorSession>;
}

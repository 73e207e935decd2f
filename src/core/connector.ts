import type { ServerInfo } from "./connection.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "./interaction.ts";
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
}

/** A remote tool, as plain data. */
export interface ToolDescriptor extends Descriptor {
  readonly input?: JsonSchema | undefined;
  readonly output?: JsonSchema | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  /** Why it can be listed and not called, such as a protocol feature that is not supported. */
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
  /** What is not as it should be, such as an entry that cannot be read and was left out. */
  readonly warnings: readonly string[];
  /** The limit at which the list was cut; undefined where it is whole. */
  readonly cutAt?: number | undefined;
}

/** On whose behalf a server asks back. */
export interface InteractionOptions {
  /** Aborts when the server no longer waits, or its connection has ended. */
  readonly signal: AbortSignal;
  /** The call in answer to which it asks, where the server says so. */
  readonly context?: CallContext | undefined;
}

/** A child process that serves a connection. */
export interface ServerProcess {
  /** Undefined where it no longer runs. */
  readonly processId?: number | undefined;
  /** The last of what it wrote to stderr. */
  stderr?(): string;
}

/** What a connection generation tells its supervisor, and asks it. Whatever comes after its end is ignored. */
export interface ConnectorHost {
  /** A list changed, or the content of a resource. Any number of times: the supervisor joins them. */
  changed(change: SourceChange): void;
  /** The server logged something. */
  log(entry: LogEntry): void;
  /**
   * A person has to do something, such as authorize it, before it can go on; undefined when that is done. While it waits in an attempt
   * to connect, the limits of time of that stand still, and the connection shows the reason as its last error. False where it is
   * connected already: nothing is held up then.
   */
  waits(reason: Error | undefined): boolean;
  /** A child process runs, and the handshake is still to come: whoever waits for it can see what it writes meanwhile. */
  started?(process: ServerProcess): void;
  /** The server asks a person. Missing, it is told at the handshake that nobody can be asked. */
  elicit?(request: ElicitRequest, options: InteractionOptions): Promise<ElicitResult>;
  /** The server asks a model. Missing, as `elicit`. @throws ToolkitError `NO_DELEGATE` where there is none */
  sample?(request: SampleRequest, options: InteractionOptions): Promise<SampleResult>;
}

/** One generation of a connection: from a handshake to its end. */
export interface ConnectorSession extends AsyncDisposable {
  readonly server: ServerInfo;
  /** `stdio`, `streamable-http`, `sse`, `in-memory`, or the connector's own word. */
  readonly transport: string;
  /** Resolves, with why if it was not asked for, when the connection has ended. It never rejects. */
  readonly closed: Promise<Error | undefined>;
  /** Reads a list whole. A kind the server does not have is missing. */
  readonly list: { readonly [K in Kind]?: (options: ReadOptions) => Promise<DescriptorList<K>> };
  /** Kinds whose changes the server announces; the others are polled. */
  readonly announces: ReadonlySet<Kind>;
  /** Of the child process, where there is one. */
  readonly processId?: number | undefined;
  /** The last of what the far side wrote to stderr. */
  readonly stderr?: (() => string) | undefined;
  /** A number that changes with whatever the far side sends: while it does, nobody need ask whether it is there. */
  heard?(): number;
  /** Asks for a sign of life. Whatever it settles to is one; it never settles where there is nobody. Missing, nobody can ask. */
  ping?(options: ReadOptions): Promise<void>;
  /**
   * How long the far side may be silent though it is asked, in milliseconds, before it is taken for gone. Default: 5,000. Longer where
   * something else tells of its end, so that silence means that it is busy.
   */
  readonly silenceMs?: number | undefined;
  /**
   * Calls a tool. It tells the far side when `context.signal` aborts.
   *
   * @throws ToolkitError `UNAVAILABLE` where the request was surely not sent, `OUTCOME_UNKNOWN` where it was sent and its answer lost,
   *   `TOOL_FAILED` for an error as a result, `REMOTE_ERROR` for one of the protocol
   */
  call(name: string, input: unknown, context: CallContext): Promise<Content>;
  /** Renders a prompt. Missing where the server has none. @throws as `call`, with `UNAVAILABLE` for a lost answer too: it changed nothing */
  render?(name: string, input: unknown, context: CallContext): Promise<RenderedPrompt>;
  /** Reads a resource whole. Missing where the server has none. @throws as `render`, and `NOT_FOUND` */
  read?(uri: string, context: CallContext | ReadOptions): Promise<Content>;
  /** Has the server say when the content of a resource changes, as long as the session lasts. Missing where it cannot. */
  subscribe?(uri: string, options: ReadOptions): Promise<void>;
  /** The contrary of `subscribe`. */
  unsubscribe?(uri: string, options: ReadOptions): Promise<void>;
}

/** A way to reach one server. It makes a new session at each attempt and keeps nothing between them. */
export interface Connector {
  /** For people, without secrets. */
  readonly label: string;
  /** What two connectors to the same place share; missing, each is its own. */
  readonly key?: string | undefined;
  /** A namespace to use until the server has said its name. */
  readonly suggestedName?: string | undefined;
  /**
   * How long its own handshake may take, in milliseconds. It is left the time to say why it failed, and to end what it had started,
   * before the attempt is given up from outside.
   */
  readonly connectTimeoutMs?: number | undefined;
  /** How many calls, reads and renders may wait for the far side; one more fails at once. Default: 1,000. */
  readonly maxConcurrentCalls?: number | undefined;
  /**
   * Connects and shakes hands.
   *
   * @throws whatever went wrong; when the signal aborts, after everything it had started is ended
   */
  connect(options: { readonly signal: AbortSignal; readonly host: ConnectorHost }): Promise<ConnectorSession>;
}

import type { AgentEvent } from "./agent-event.ts";
import type { Completer } from "./argument-values.ts";
import type { ToolkitError } from "./error.ts";
import type { ElicitResult, SampleRequest, SampleResult } from "./interaction.ts";
import type { ModelSettings } from "./model-settings.ts";
import type { PendingRequest } from "./pending.ts";
import type { Content, Described, Resource } from "./resource.ts";
import type { SchemaLike } from "./schema/types.ts";
import type { CallOptions, Logger, Progress, Session } from "./session.ts";
import type { ToolAnnotations, ToolOptions } from "./tool-options.ts";

// A tool gets a context, a context has a toolbox, a toolbox calls tools: one idea, so one file.

/**
 * A tool: a function that a model may call.
 *
 * @typeParam In - what a caller passes
 * @typeParam Parsed - what `run` gets: the input after the schema's defaults and transforms
 * @typeParam Out - what `run` gives
 */
// biome-ignore lint/suspicious/noExplicitAny: a tool of unknown input must be assignable from every tool, as functions of any are
export interface Tool<In = any, Parsed = any, Out = unknown> extends Described {
  readonly kind: "tool";
  /** Describes the input, an object. Missing, any object is taken. */
  readonly input?: SchemaLike | undefined;
  /** Describes the result. */
  readonly output?: SchemaLike | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly options?: ToolOptions | undefined;
  /** Does the work. It may give nothing, a string, bytes, a Resource, any JSON value, an async iterable of these, or a promise. */
  run(input: Parsed, context: CallContext): Out | PromiseLike<Out>;
  /** Never there at run time: carries the type of the input, so that a tool of another input is no such tool. */
  readonly "~input"?: ((input: In) => void) | undefined;
}

/** One argument of a prompt, in the form of MCP. */
export interface PromptArgument {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly required?: boolean | undefined;
}

/** Completers by the names of the arguments. */
export type Completers = Readonly<Record<string, Completer<CallContext>>>;

/** A prompt: renders to messages, and may be executed by a delegate. */
// biome-ignore lint/suspicious/noExplicitAny: as for Tool
export interface Prompt<In = any> extends Described {
  readonly kind: "prompt";
  readonly input?: SchemaLike | undefined;
  readonly output?: SchemaLike | undefined;
  /** The model to execute it with. */
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly system?: string | undefined;
  /** Names and globs of the tools and prompts its model may use. */
  readonly tools?: readonly string[] | undefined;
  readonly thinking?: boolean | undefined;
  /** In tokens. */
  readonly thinkingBudget?: number | undefined;
  /** Settings for the answer of the model. */
  readonly settings?: ModelSettings | undefined;
  /** Part of the fingerprint: another one says that the prompt changed, such as a hash of its file. */
  readonly version?: string | undefined;
  /** For `complete`, by argument. Default: the choices of the schema. */
  readonly complete?: Completers | undefined;
  render(input: In, context: CallContext): Promise<RenderedPrompt>;
}

/** The messages of a prompt. */
export interface RenderedPrompt {
  readonly system?: string | undefined;
  readonly messages: readonly PromptMessage[];
  /** Anything else that came with them, such as what a server sent beside its messages. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** One message of a rendered prompt. */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly Resource[];
}

/** A family of resources, by URI template (RFC 6570). */
export interface ResourceTemplate extends Described {
  readonly kind: "template";
  readonly uriTemplate: string;
  readonly mediaType?: string | undefined;
  /** For `complete`, by variable. */
  readonly complete?: Completers | undefined;
  /** The resource of this family that has the URI. */
  resource(uri: string): Resource;
}

/** The item of each kind. */
export interface ItemMap {
  tool: Tool;
  prompt: Prompt;
  resource: Resource;
  template: ResourceTemplate;
}

/** A kind of item. */
export type Kind = keyof ItemMap;

/** Any item. */
export type Item = ItemMap[Kind];

/** Every kind, in the order in which lists are sorted. */
export const kinds = ["tool", "prompt", "resource", "template"] as const satisfies readonly Kind[];

/**
 * An item as `lookup` and `list` give it: a frozen envelope around the untouched item. A ref with its kind identifies an item; an
 * entry is a snapshot and says what was true when it was made.
 */
export type Entry<K extends Kind = Kind> = {
  [P in K]: {
    readonly kind: P;
    readonly namespace: string;
    readonly name: string;
    /** `namespace.name`, or `uri#namespace` for a resource or template. */
    readonly ref: string;
    /** The namespace was not connected when the entry was made: the item may have changed since. */
    readonly stale: boolean;
    /**
     * The item itself. Its `run`, called directly, is outside of the steps of a call: no policy, validation, approval, limit or trace holds
     * there. Pass the entry to `call`, `read` or `render` instead.
     */
    readonly item: ItemMap[P];
  };
}[K];

/**
 * The call in progress, as tools, prompts and middleware see it. It may be decorated: a Proxy of it and `Object.create(context)` are as good
 * as the context itself. A spread (`{ ...context }`) keeps the link to the call, so that the call's cancellation, deadline, trace and view
 * hold where the spread is passed on, and none of the members: to replace a part use `derive`.
 */
export interface CallContext {
  readonly session: Session;
  /** Aborts when the caller aborts, a limit is reached or the toolkit closes. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly attachments: readonly Resource[];
  /** `_meta` for calls further down: that of the session and that of the call. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  /** Calls made through it inherit the session, end with this call, and count as nested in it. */
  readonly toolbox: Toolbox;
  /** 0 for a call from outside, one more for each call in between. */
  readonly depth: number;
  /** Reports progress and restarts the inactivity limit. Resolves to whether it was delivered. */
  progress(progress: number, total?: number, message?: string): Promise<boolean>;
  /** The caller listens to what `emit` emits: a delegate may then have its model stream. */
  readonly hasListener: boolean;
  /** For delegates: emits how the run of an agent goes to the caller. Wait for the promise it gives: a slow listener slows the run. */
  emit(event: AgentEvent): void | PromiseLike<void>;
  /**
   * Asks the person who is calling, else the service's delegate; meanwhile the inactivity limit is suspended. Without an answer:
   * `decline`.
   *
   * @param schema - what is wanted: an object whose members are texts, numbers, booleans or choices
   * @throws ToolkitError `INVALID_SCHEMA`, `INVALID_OUTPUT` for an answer that does not fit; the reason of an abort
   */
  elicit(message: string, schema: SchemaLike): Promise<ElicitResult>;
  /**
   * Asks the caller's model, else that of the service's delegate; meanwhile the inactivity limit is suspended.
   *
   * @throws ToolkitError `NO_DELEGATE` where there is none; the reason of an abort
   */
  sample(request: SampleRequest): Promise<SampleResult>;
  /**
   * Ends the call `PENDING`, by throwing: its work completes elsewhere. `toolkit.approvals.complete(id, ...)` delivers the result, and
   * `approvals.wait(id)` waits for it.
   */
  pending(request: PendingRequest): never;
  /**
   * The same call with some parts replaced: `toolbox`, `elicit`, `sample`, `emit`, `logger` and `pending` of what it gives follow the
   * overrides. Nesting, deadline, view and accounting stay those of the call. Decorations of a context (a Proxy, own members) are no
   * part of it: derive first, then decorate.
   *
   * @throws ToolkitError `DENIED` for what would see more than the view of the call: the session of another principal, or a toolbox that
   *   is not the call's own; `INVALID_INPUT`, `INVALID_CONFIG` for what is no signal or no such part
   *
   * @example
   * ```ts
   * const patient = context.derive({ signal: AbortSignal.timeout(1_000), meta: { tenant: "acme" } });
   * return patient.toolbox.call("weather.forecast", { city });
   * ```
   */
  derive(overrides: ContextOverrides): CallContext;
}

/** The parts of a context that `derive` replaces. What is left out stays that of the call. */
export interface ContextOverrides {
  /** Ends what is done through the derived context, beside the call's own signal. */
  readonly signal?: AbortSignal | undefined;
  /** In the call of a view that is one principal's: only a session of that principal. */
  readonly session?: Session | undefined;
  /** In place of the call's own `_meta`, and with each call through the derived toolbox; that of the session still goes along. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** In place of the toolkit's. A session that listens to logs gets its entries too. */
  readonly logger?: Logger | undefined;
  readonly attachments?: readonly Resource[] | undefined;
  /**
   * Is given out as it is: calls through it are nested in this one only where it passes them on to `context.toolbox`. The calls of an
   * agent's model say all the same which calls led to them, as long as the toolbox passes their options on: a policy sees `via`, and a
   * stored prompt calls no more than `user.tools`. Those of your own code through it count as calls from outside. In the call of a view
   * it must be a toolbox of the same call.
   */
  readonly toolbox?: Toolbox | undefined;
  /** As in `CallOptions`, in place of the caller's listener. */
  onProgress?(progress: Progress): void;
  /** As in `CallOptions`, in place of the caller's listener. */
  onEvent?(event: AgentEvent): void | PromiseLike<void>;
}

/** The kinds that `lookup` and `list` use by default. */
export type DefaultKind = Exclude<Kind, "template">;

/** Those kinds, in the order in which they are looked up and listed. */
export const defaultKinds: readonly DefaultKind[] = ["tool", "prompt", "resource"];

/** Options of a lookup. */
export interface LookupOptions<K extends Kind = DefaultKind> {
  readonly kind?: K | undefined;
  readonly session?: Session | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A selection of entries. Every field narrows. */
export interface ListQuery<K extends Kind = DefaultKind> {
  readonly kind?: K | readonly K[] | undefined;
  readonly namespace?: string | readonly string[] | undefined;
  /** Names, bare or as refs; for resources the URI. */
  readonly name?: string | readonly string[] | undefined;
  /** At most so many entries; 0 gives the count alone. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly session?: Session | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A namespace that could not be listed, or only with entries from before. */
export interface ListFailure {
  readonly namespace: string;
  readonly error: ToolkitError;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** A page of entries, sorted by kind (tool, prompt, resource, template), then by ref in code-unit order. */
export interface ListPage<K extends Kind = DefaultKind> {
  readonly entries: readonly Entry<K>[];
  /** All that match, before paging. */
  readonly count: number;
  readonly offset: number;
  readonly limit: number | undefined;
  /** The namespaces that are missing or old, and why. */
  readonly failures: readonly ListFailure[];
}

// The type of a function without a result.
// biome-ignore lint/suspicious/noConfusingVoidType: it is the type of such a function
type Nothing = undefined | void;

/** The type a result has for the caller: what JSON says of it, or unknown where it is text, bytes or nothing. */
export type ResultOf<Out> = [Out] extends [Content<infer T>]
  ? T
  : [Out] extends [string | Uint8Array | Nothing | AsyncIterable<unknown>]
    ? unknown
    : Out;

/** Input may be left out where `{}` is one. */
// biome-ignore lint/complexity/noBannedTypes: {} is meant: the empty object as input
export type CallArguments<In> = {} extends In
  ? [input?: In | undefined, options?: CallOptions | undefined]
  : [input: In, options?: CallOptions | undefined];

/** The narrow port that agents, workflows, servers and tools use. */
export interface Toolbox {
  /**
   * Finds an item by `name`, `namespace.name`, URI or `uri#namespace`.
   *
   * @throws ToolkitError `NOT_FOUND` with near matches, or with the reason where its namespace never connected;
   *   `AMBIGUOUS_NAME` with `strictNames`
   */
  lookup<K extends Kind = DefaultKind>(key: string, options?: LookupOptions<K>): Promise<Entry<K>>;
  /** Lists what there is. A namespace that is down contributes what it had, marked stale, and a line in `failures`. */
  list<K extends Kind = DefaultKind>(query?: ListQuery<K>): Promise<ListPage<K>>;
  /** Calls a tool or executes a prompt. Rejects with a ToolkitError, or with the reason of an aborted signal. */
  call<In, Parsed, Out>(tool: Tool<In, Parsed, Out>, ...args: CallArguments<In>): Promise<Content<ResultOf<Out>>>;
  call(target: string | Prompt | Entry<"tool" | "prompt">, input?: unknown, options?: CallOptions): Promise<Content>;
  /** Reads a resource whole. */
  read(target: string | Entry<"resource">, options?: CallOptions): Promise<Content>;
  /** Renders a prompt to messages without executing it. */
  render(target: string | Prompt | Entry<"prompt">, input?: unknown, options?: CallOptions): Promise<RenderedPrompt>;
}

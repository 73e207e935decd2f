import { readDefinition } from "../core/definition.ts";
import { isEntry, makeEntry } from "../core/entry.ts";
import { located, ToolkitError } from "../core/error.ts";
import { inlineNamespace } from "../core/identifier.ts";
import {
  type DefaultKind,
  defaultKinds,
  type Entry,
  type Item,
  type Kind,
  type ListPage,
  type ListQuery,
  type LookupOptions,
  type Prompt,
  type RenderedPrompt,
  type Tool,
  type Toolbox,
} from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions, Session } from "../core/session.ts";
import type { Unsubscribe } from "../core/source.ts";
import { type MaybePromise, rescue } from "../lib/promise.ts";
import type { ApprovalGrant } from "./approval-grant.ts";
import { toNestedError } from "./call-error.ts";
import { type CallOrigin, type CallState, metaOf } from "./call-state.ts";
import type { CallStart, Executor } from "./executor.ts";
import type { PrincipalScope } from "./principal-scope.ts";
import type { Verb } from "./trace/attributes.ts";
import type { Trace } from "./trace/trace.ts";

/** What exists, as far as calls need to know. */
export interface Directory {
  /** Not everything may be seen through it. */
  readonly isConfined: boolean;
  /** Finds what a key means to an owner; at once where it is known. @throws ToolkitError `NOT_FOUND` and the like */
  find<K extends Kind>(
    key: string,
    kinds: readonly K[],
    owner: string,
    signal: AbortSignal | undefined,
  ): MaybePromise<Entry<K>>;
  /** The entry that is registered now for an entry handed out before. */
  current<K extends Kind>(entry: Entry<K>, owner: string): Entry<K> | undefined;
  /** The entry of a registered item. @throws ToolkitError `NOT_FOUND` for one that is hidden */
  entryOf(item: Item, owner: string): Entry | undefined;
  list<K extends Kind>(query: ListQuery<K>, owner: string): Promise<ListPage<K>>;
}

const callKinds = ["tool", "prompt"] as const;
const resourceKinds = ["resource"] as const;
const promptKinds = ["prompt"] as const;
const noOptions: CallOptions = Object.freeze({});

type CallTarget = string | Tool | Prompt | Entry<"tool" | "prompt">;

/** What a dispatch passes on. */
interface CallRouterOptions {
  readonly parent?: CallState | undefined;
  readonly grant?: ApprovalGrant | undefined;
  /** Whose it is: it takes calls of nobody else. Default: of each that calls. */
  readonly tenant?: PrincipalScope | undefined;
}

/** The toolbox: resolves what is to be called and hands it to the executor. One made for a call in progress passes on what that call has. */
export class CallRouter implements Toolbox, CallOrigin {
  readonly #directory: Directory;
  readonly #executor: Executor;
  /** The call in progress it was made for. */
  readonly parent: CallState | undefined;
  /** Leave to make the one call it was made for. */
  readonly grant: ApprovalGrant | undefined;
  readonly #tenant: PrincipalScope | undefined;
  readonly #inline: WeakMap<object, Entry>;

  constructor(
    directory: Directory,
    executor: Executor,
    { parent, grant, tenant }: CallRouterOptions = {},
    inline = new WeakMap<object, Entry>(),
  ) {
    this.#directory = directory;
    this.#executor = executor;
    this.parent = parent;
    this.grant = grant;
    this.#tenant = tenant;
    this.#inline = inline;
  }

  get isConfined(): boolean {
    return this.#directory.isConfined;
  }

  /** The toolbox of a call in progress. */
  within(parent: CallState): CallRouter {
    return new CallRouter(this.#directory, this.#executor, { parent, tenant: this.#tenant }, this.#inline);
  }

  /** The toolbox through which one call is made that was approved. It is of no call in progress: that one has ended. */
  granted(grant: ApprovalGrant): CallRouter {
    return new CallRouter(this.#directory, this.#executor, { grant, tenant: this.#tenant }, this.#inline);
  }

  async lookup<K extends Kind = DefaultKind>(key: string, options: LookupOptions<K> = {}): Promise<Entry<K>> {
    const { kind, signal = this.parent?.signal } = options;
    const wanted = kind === undefined ? (defaultKinds as readonly Kind[] as readonly K[]) : [kind];
    return this.#answer(() => this.#directory.find(key, wanted, this.#owner(options), signal));
  }

  async list<K extends Kind = DefaultKind>(query: ListQuery<K> = {}): Promise<ListPage<K>> {
    const { signal = this.parent?.signal } = query;
    const bound = signal === query.signal ? query : { ...query, signal };
    return this.#answer(() => this.#directory.list(bound, this.#owner(query)));
  }

  // Not async, and without a closure: what is synchronous inside costs one promise, and a promise from inside is handed on as it is.
  call(target: CallTarget, input?: unknown, given?: CallOptions): Promise<never> {
    const { parent } = this;
    let trace: Trace | undefined;
    let answer: MaybePromise<Content>;
    try {
      const options = this.#options(given);
      trace = this.#trace("call", target, options);
      const entry = this.#callable(target, options);
      answer =
        entry instanceof Promise
          ? this.#executor.whenFound(entry, { key: String(target), options, origin: this }, (found, spentMs) =>
              this.#executor.call(found, input, options, this, { spentMs, trace }),
            )
          : this.#executor.call(entry, input, options, this, trace && { trace });
    } catch (error) {
      trace?.fail(error);
      return Promise.reject(parent === undefined ? error : toNestedError(error));
    }
    trace?.follow(answer);
    if (!(answer instanceof Promise)) return Promise.resolve(answer) as Promise<never>;
    return (parent === undefined ? answer : answer.catch(rejectAsAnswer)) as Promise<never>;
  }

  async read(target: string | Entry<"resource">, given?: CallOptions): Promise<Content> {
    const options = this.#options(given);
    const run = (entry: Entry<"resource">, arrival: CallStart) => this.#executor.read(entry, options, this, arrival);
    return this.#traced("read", target, options, () => this.#readable(target, options), run);
  }

  /** Has the source of a resource say when its content changes, until the returned function is called. */
  async subscribe(target: string | Entry<"resource">, given?: CallOptions): Promise<Unsubscribe> {
    const options = this.#options(given);
    const run = (entry: Entry<"resource">, arrival: CallStart) =>
      this.#executor.subscribe(entry, options, this, arrival);
    return this.#answer(() => this.#withEntry(this.#readable(target, options), target, options, run));
  }

  async render(
    target: string | Prompt | Entry<"prompt">,
    input?: unknown,
    given?: CallOptions,
  ): Promise<RenderedPrompt> {
    const options = this.#options(given);
    const run = (entry: Entry<"prompt">, arrival: CallStart) =>
      this.#executor.render(entry, input, options, this, arrival);
    return this.#traced("render", target, options, () => this.#renderable(target, options), run);
  }

  /** How a call is made: of whose this is, where it is somebody's. @throws ToolkitError `DENIED` for the session of another */
  #options(given: CallOptions | undefined): CallOptions {
    const options = given ?? noOptions;
    if (this.#tenant === undefined) return options;
    const session = options.session ?? this.parent?.givenSession;
    const own = this.#tenant.session(session);
    return own === options.session ? options : { ...options, session: own };
  }

  /** Whose items are meant beside those that everybody has. */
  #owner(options: { readonly session?: Session | undefined }): string {
    const session = options.session ?? this.parent?.givenSession;
    if (this.#tenant !== undefined) return this.#tenant.principalOf(session);
    return session === undefined ? "" : (session.principal ?? "");
  }

  /** What a call in progress is answered; an error is marked, so that it is not taken for its own. */
  #answer<T>(run: () => MaybePromise<T>): MaybePromise<T> {
    return this.parent === undefined ? run() : rescue(run, toNestedError);
  }

  #withEntry<E extends Entry, R>(
    found: MaybePromise<E>,
    target: unknown,
    options: CallOptions,
    run: (entry: E, arrival: CallStart) => MaybePromise<R>,
    trace?: Trace | undefined,
  ): MaybePromise<R> {
    if (!(found instanceof Promise)) return run(found, { trace });
    const search = { key: String(target), options, origin: this };
    return this.#executor.whenFound(found, search, (entry, spentMs) => run(entry, { spentMs, trace }));
  }

  /** Looks at the whole of it, its lookup too, where somebody wants that. */
  #traced<E extends Entry, R>(
    verb: Verb,
    target: CallTarget | Entry<"resource">,
    options: CallOptions,
    find: () => MaybePromise<E>,
    run: (entry: E, arrival: CallStart) => MaybePromise<R>,
  ): MaybePromise<R> {
    const trace = this.#trace(verb, target, options);
    try {
      const answer = this.#answer(() => this.#withEntry(find(), target, options, run, trace));
      trace?.follow(answer);
      return answer;
    } catch (error) {
      trace?.fail(error);
      throw error;
    }
  }

  #trace(verb: Verb, target: CallTarget | Entry<"resource">, options: CallOptions): Trace | undefined {
    const { telemetry } = this.#executor;
    if (telemetry === undefined || !telemetry.isOn) return undefined;
    const { parent } = this;
    const key = typeof target === "string" ? target : isEntry(target) ? target.ref : String(target?.name);
    return telemetry.begin({ verb, key, options, parent, meta: metaOf(options, parent) });
  }

  #callable(target: CallTarget, options: CallOptions): MaybePromise<Entry<"tool" | "prompt">> {
    const owner = this.#owner(options);
    if (typeof target === "string") return this.#find(target, callKinds, owner, options.signal, "call");
    const entry: Entry = isEntry(target) ? this.#registered(target, owner) : this.#ofItem(target, owner);
    if (entry.kind === "tool" || entry.kind === "prompt") return entry as Entry<"tool" | "prompt">;
    const instead = entry.kind === "resource" ? "read it" : "read its resources";
    throw notTarget(entry, `a ${entry.kind} is not called: ${instead}`);
  }

  #readable(target: string | Entry<"resource">, options: CallOptions): MaybePromise<Entry<"resource">> {
    const owner = this.#owner(options);
    if (typeof target === "string") return this.#find(target, resourceKinds, owner, options.signal, "read");
    if (isEntry(target) && target.kind === "resource") return this.#registered(target as Entry<"resource">, owner);
    throw notTarget(target, "read takes the name or URI of a resource, or its entry");
  }

  #renderable(target: string | Prompt | Entry<"prompt">, options: CallOptions): MaybePromise<Entry<"prompt">> {
    const owner = this.#owner(options);
    if (typeof target === "string") return this.#find(target, promptKinds, owner, options.signal, "render");
    const entry: Entry = isEntry(target)
      ? this.#registered(target as Entry<"prompt">, owner)
      : this.#ofItem(target as Prompt, owner);
    if (entry.kind === "prompt") return entry as Entry<"prompt">;
    throw notTarget(target, "render takes a prompt");
  }

  #find<K extends Kind>(
    key: string,
    kinds: readonly K[],
    owner: string,
    signal: AbortSignal | undefined,
    use: keyof typeof insteadOf,
  ): MaybePromise<Entry<K>> {
    const parentSignal = this.parent?.signal;
    try {
      const found = this.#directory.find(key, kinds, owner, signal ?? parentSignal);
      return found instanceof Promise
        ? found.then(undefined, (error) => this.#otherKind(error, key, owner, use))
        : found;
    } catch (error) {
      return this.#otherKind(error, key, owner, use);
    }
  }

  /** Where the key names something of another kind, says what that is for. */
  #otherKind(thrown: unknown, key: string, owner: string, use: keyof typeof insteadOf): never {
    if (!ToolkitError.is(thrown)) throw thrown;
    const error = located(thrown, String(key), "resolve");
    if (error.code !== "NOT_FOUND") throw error;
    let other: MaybePromise<Entry<DefaultKind>>;
    try {
      other = this.#directory.find(key, defaultKinds, owner, undefined);
    } catch {
      throw error;
    }
    if (other instanceof Promise) {
      other.catch(() => undefined);
      throw error;
    }
    throw notTarget(other, `${other.ref} is a ${other.kind}: ${insteadOf[use][other.kind]}`);
  }

  #registered<K extends Kind>(entry: Entry<K>, owner: string): Entry<K> {
    const current = this.#directory.current(entry, owner) ?? (entry.namespace === inlineNamespace ? entry : undefined);
    if (current !== undefined) return current;
    const message = `${entry.ref} is no longer there.`;
    throw new ToolkitError(
      "NOT_FOUND",
      message,
      { key: entry.ref, suggestions: [] },
      { ref: entry.ref, phase: "resolve" },
    );
  }

  #ofItem(item: Item, owner: string): Entry {
    const known = this.#directory.entryOf(item, owner) ?? this.#inline.get(item);
    if (known !== undefined) return known;
    const entry: Entry = makeEntry(readDefinition(item, "local"), item, inlineNamespace, false);
    this.#inline.set(item, entry);
    return entry;
  }
}

function rejectAsAnswer(thrown: unknown): never {
  throw toNestedError(thrown);
}

/** What to do with an item of each kind that was called, read or rendered. */
const insteadOf: Readonly<Record<"call" | "read" | "render", Readonly<Record<DefaultKind, string>>>> = {
  call: { tool: "call it", prompt: "call it", resource: "read it instead of calling it" },
  read: {
    tool: "call it instead of reading it",
    prompt: "call or render it instead of reading it",
    resource: "read it",
  },
  render: { tool: "call it instead of rendering it", prompt: "render it", resource: "read it instead of rendering it" },
};

function notTarget(target: unknown, message: string): ToolkitError<"INVALID_INPUT"> {
  const ref = isEntry(target) ? (target as Entry).ref : undefined;
  return new ToolkitError(
    "INVALID_INPUT",
    // As it is: it may begin with a ref, and refs are case-sensitive.
    `${message}.`,
    { issues: [{ pointer: "", message }] },
    { ref, phase: "resolve" },
  );
}

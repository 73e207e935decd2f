import type { ArgumentValues } from "../core/argument-values.ts";
import type { CompletionRequest } from "../core/completion.ts";
import { readDefinition } from "../core/definition.ts";
import { isEntry, makeEntry } from "../core/entry.ts";
import {
  type DefaultKind,
  defaultKinds,
  type Entry,
  type Kind,
  type ListPage,
  type ListQuery,
  type LookupOptions,
  type Prompt,
  type RenderedPrompt,
  type Toolbox,
} from "../core/item.ts";
import type { Verb } from "../core/middleware.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import type { Content } from "../core/resource.ts";
import { assertCallOptions, type CallOptions, type Session } from "../core/session.ts";
import type { Unsubscribe } from "../core/source.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { resourceHandle } from "../resource/handle.ts";
import type { ApprovalGrant } from "./approval-grant.ts";
import { toNestedError } from "./call-error.ts";
import { type CallOrigin, type CallState, metaOf } from "./call-state.ts";
import { type CallDirectory, type CallTarget, CallTargets } from "./call-targets.ts";
import { readCompletionRequest } from "./complete-argument.ts";
import type { Executor } from "./executor.ts";
import type { PrincipalScope } from "./principal-scope.ts";
import type { Action, ActionEntry, ActionResult } from "./step.ts";
import type { Trace } from "./trace/trace.ts";

const noOptions: CallOptions = Object.freeze({});
const lookupNames: OptionNames<LookupOptions> = { kind: true, session: true, signal: true };
const listNames: OptionNames<ListQuery> = {
  kind: true,
  namespace: true,
  name: true,
  limit: true,
  offset: true,
  session: true,
  signal: true,
};

/** The parts that a router passes on to calls. */
interface CallRouterOptions {
  readonly parent?: CallState | undefined;
  readonly grant?: ApprovalGrant | undefined;
  /** The one principal whose calls it takes. Default: any. */
  readonly scope?: PrincipalScope | undefined;
}

/** A call whose target is still being looked for. */
interface LaterCall {
  readonly verb: Verb;
  readonly input: unknown;
  readonly options: CallOptions;
  readonly trace: Trace | undefined;
}

/**
 * The toolbox: finds what is to be called and hands it to the executor. One made for a call in progress passes on what that call has.
 */
export class CallRouter implements Toolbox, CallOrigin {
  readonly #targets: CallTargets;
  readonly #executor: Executor;
  /** The call in progress it was made for. */
  readonly parent: CallState | undefined;
  /** Permission to make the one call it was made for. */
  readonly grant: ApprovalGrant | undefined;
  readonly #scope: PrincipalScope | undefined;

  constructor(
    directory: CallDirectory | CallTargets,
    executor: Executor,
    { parent, grant, scope }: CallRouterOptions = {},
  ) {
    this.#targets = directory instanceof CallTargets ? directory : new CallTargets(directory);
    this.#executor = executor;
    this.parent = parent;
    this.grant = grant;
    this.#scope = scope;
  }

  get isConfined(): boolean {
    return this.#targets.directory.isConfined;
  }

  sessionFor(given: Session): Session {
    return this.#scope === undefined ? given : this.#scope.session(given);
  }

  within(parent: CallState): CallRouter {
    return new CallRouter(this.#targets, this.#executor, { parent, scope: this.#scope });
  }

  /** The toolbox for one call that was approved. It is of no call in progress: that one has ended. */
  granted(grant: ApprovalGrant): CallRouter {
    return new CallRouter(this.#targets, this.#executor, { grant, scope: this.#scope });
  }

  async lookup<K extends Kind = DefaultKind>(key: string, options: LookupOptions<K> = {}): Promise<Entry<K>> {
    const { kind, signal = this.parent?.signal } = options;
    const wanted = kind === undefined ? (defaultKinds as readonly Kind[] as readonly K[]) : [kind];
    try {
      assertOptionNames(options, lookupNames, "of a lookup");
      return await this.#targets.directory.find(key, wanted, this.#owner(options), signal);
    } catch (thrown) {
      throw this.#asNested(thrown);
    }
  }

  async list<K extends Kind = DefaultKind>(query: ListQuery<K> = {}): Promise<ListPage<K>> {
    const { signal = this.parent?.signal } = query;
    const bound = signal === query.signal ? query : { ...query, signal };
    try {
      assertOptionNames(query, listNames, "of a list");
      return await this.#targets.directory.list(bound, this.#owner(query));
    } catch (thrown) {
      throw this.#asNested(thrown);
    }
  }

  call(target: CallTarget, input?: unknown, options?: CallOptions): Promise<never> {
    return this.#run("call", target, input, options) as Promise<never>;
  }

  read(target: string | Entry<"resource">, options?: CallOptions): Promise<Content> {
    return this.#run("read", target, undefined, options);
  }

  render(target: string | Prompt | Entry<"prompt">, input?: unknown, options?: CallOptions): Promise<RenderedPrompt> {
    return this.#run("render", target, input, options);
  }

  /** Has the source of a resource report when its content changes, until the returned function is called. */
  subscribe(target: string | Entry<"resource">, options?: CallOptions): Promise<Unsubscribe> {
    return this.#run("subscribe", target, undefined, options);
  }

  /** Values that an argument of a prompt or a variable of a template may have. */
  async complete(request: CompletionRequest, given?: CallOptions): Promise<ArgumentValues> {
    try {
      const wanted = readCompletionRequest(request);
      const options = this.#optionsOf(given ?? noOptions);
      const signal = options.signal ?? this.parent?.signal;
      const found = this.#targets.findCompletable(wanted.ref, this.#owner(options), signal);
      const complete = (entry: Entry<"prompt" | "template">, spentMs = 0) =>
        this.#executor.run("complete", subjectOf(entry), wanted, options, this, { spentMs });
      const key = typeof wanted.ref === "string" ? wanted.ref : wanted.ref.ref;
      const missing = () => this.#targets.missing("complete", key, this.#owner(options));
      const search = { key, options, origin: this, missing };
      return await (found instanceof Promise ? this.#executor.whenFound(found, search, complete) : complete(found));
    } catch (thrown) {
      throw this.#asNested(thrown);
    }
  }

  // Not async: a result that is there costs one promise, and a promise from inside is handed on as it is.
  #run<A extends Exclude<Action, "complete">>(
    action: A,
    target: CallTarget,
    input: unknown,
    given: CallOptions | null | undefined,
  ): Promise<ActionResult<A>> {
    const { parent } = this;
    let trace: Trace | undefined;
    let answer: MaybePromise<ActionResult<A>>;
    try {
      if (given != null) assertCallOptions(given, `of a ${action}`);
      const options = this.#optionsOf(given ?? noOptions);
      const verb: Verb = action === "subscribe" ? "read" : action;
      if (action !== "subscribe" && this.#executor.telemetry?.isOn) trace = this.#trace(verb, target, options);
      const signal = options.signal ?? parent?.signal;
      const entry = this.#targets.find(verb, target, this.#owner(options), signal) as MaybePromise<ActionEntry[A]>;
      answer =
        entry instanceof Promise
          ? this.#runLater(action, entry, String(target), { verb, input, options, trace })
          : this.#executor.run(action, entry, input, options, this, trace && { trace });
    } catch (error) {
      trace?.fail(error);
      this.#logFailure(action, target, error);
      return Promise.reject(this.#asNested(error));
    }
    trace?.follow(answer);
    if (!(answer instanceof Promise)) return Promise.resolve(answer);
    if (this.#executor.logsFailures) answer.then(undefined, (error) => this.#logFailure(action, target, error));
    return parent === undefined ? answer : answer.catch(rejectNested);
  }

  #logFailure(action: Action, target: CallTarget, error: unknown): void {
    const isNested = this.parent !== undefined;
    this.#executor.logFailure({ action, key: keyOf(target), isNested }, error);
  }

  // Apart: closures in a function that every call passes cost each of them.
  #runLater<A extends Action>(
    action: A,
    entry: Promise<ActionEntry[A]>,
    key: string,
    { verb, input, options, trace }: LaterCall,
  ): Promise<ActionResult<A>> {
    const missing = () => this.#targets.missing(verb, key, this.#owner(options));
    return this.#executor.whenFound(entry, { key, options, origin: this, missing }, (found, spentMs) =>
      this.#executor.run(action, found, input, options, this, { spentMs, trace }),
    );
  }

  /** The options of a call, with the session of the one principal. @throws ToolkitError `DENIED` for the session of another */
  #optionsOf(given: CallOptions): CallOptions {
    if (this.#scope === undefined) return given;
    const session = this.#scope.session(given.session ?? this.parent?.givenSession);
    return session === given.session ? given : { ...given, session };
  }

  /** The principal whose items are meant beside those of all. */
  #owner(options: { readonly session?: Session | undefined }): string {
    const session = options.session ?? this.parent?.givenSession;
    if (this.#scope !== undefined) return this.#scope.principalOf(session);
    return session === undefined ? "" : (session.principal ?? "");
  }

  /** Marks an error that a call in progress gets, so that it is not taken for its own. */
  #asNested(thrown: unknown): unknown {
    return this.parent === undefined ? thrown : toNestedError(thrown);
  }

  #trace(verb: Verb, target: CallTarget, options: CallOptions): Trace | undefined {
    const { parent } = this;
    const key = keyOf(target);
    return this.#executor.telemetry?.begin({ verb, key, options, parent, meta: metaOf(options, parent) });
  }
}

function keyOf(target: CallTarget): string {
  return typeof target === "string" ? target : isEntry(target) ? target.ref : String(target?.name);
}

const subjects = new WeakMap<Entry<"template">, Entry<"resource">>();

/** The entry that the steps see: of a template, a resource with its ref, so that rules for its resources hold. */
function subjectOf(entry: Entry<"prompt" | "template">): Entry<"prompt" | "resource"> {
  if (entry.kind === "prompt") return entry;
  const known = subjects.get(entry);
  if (known !== undefined) return known;
  const { name, item, namespace, stale } = entry;
  const bytes = () => Promise.reject(new TypeError("A template is not read."));
  const resource = resourceHandle({ name, uri: item.uriTemplate, mediaType: item.mediaType, bytes });
  const made: Entry<"resource"> = makeEntry(readDefinition(resource, "remote"), resource, namespace, stale, entry);
  subjects.set(entry, made);
  return made;
}

function rejectNested(thrown: unknown): never {
  throw toNestedError(thrown);
}

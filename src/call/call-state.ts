import { randomUUID } from "node:crypto";
import type { AgentEvent } from "../core/agent-event.ts";
import type { InteractionContext } from "../core/delegate.ts";
import type { MediaEgress } from "../core/egress.ts";
import { messageOf } from "../core/error.ts";
import type { ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { CallContext, Toolbox } from "../core/item.ts";
import { sessionLogger } from "../core/logger.ts";
import type { CallSubject } from "../core/outer-call.ts";
import type { PendingRequest } from "../core/pending.ts";
import type { Content, Resource } from "../core/resource.ts";
import type { Repair } from "../core/schema/coerce-value.ts";
import { toObjectSchema } from "../core/schema/json-schema.ts";
import type { SchemaLike } from "../core/schema/types.ts";
import type { CallOptions, Logger, Progress, Session } from "../core/session.ts";
import type { StoredPromptRules } from "../core/stored-prompt-rules.ts";
import type { ConcurrencyLimit } from "../lib/concurrency-queue.ts";
import { isPromiseLike, runDetached } from "../lib/promise.ts";
import type { ApprovalGrant } from "./approval-grant.ts";
import { CallLifetime } from "./call-lifetime.ts";
import type { CallPort } from "./call-port.ts";
import type { InteractionRouter } from "./interaction-router.ts";
import { PendingCall } from "./pending-call.ts";
import type { Trace } from "./trace/trace.ts";

/** Runs calls, as far as their states need it. */
export interface CallHost {
  readonly logger: Logger;
  readonly interactions: InteractionRouter;
  /** Undefined where no principal has stored prompts. */
  readonly storedPromptRules: StoredPromptRules | undefined;
  /** Where requests may go that prompts make. */
  readonly egress: MediaEgress;
  /** Emits how the run of an agent goes to the listeners of the toolkit. */
  agentEvent(event: AgentEvent, principal: string | undefined): void;
}

/** The toolbox through which a call was made. */
export interface CallOrigin {
  /** The call in progress it was made for. */
  readonly parent: CallState | undefined;
  /** Permission to make this call, where it was approved before. */
  readonly grant: ApprovalGrant | undefined;
  /** It is that of a view. */
  readonly isConfined: boolean;
  /** A session for calls made through it. @throws ToolkitError `DENIED` for that of another principal, in a view of one */
  sessionFor(given: Session): Session;
  /** The toolbox of a call that was made through this one: it sees as much. */
  within(parent: CallState): Toolbox;
  /** The same, for a call that was approved. */
  granted(grant: ApprovalGrant): Toolbox;
}

const noAttachments: readonly Resource[] = Object.freeze([]);
const noLimits: readonly ConcurrencyLimit[] = Object.freeze([]);
const noRepairs: readonly Repair[] = Object.freeze([]);

/**
 * The state of one call: what its steps share, and what its context shows. Members that a call may not need are made when they are asked
 * for.
 */
export class CallState extends CallLifetime implements Omit<CallContext, "derive">, CallPort {
  readonly ref: string;
  /** The item that is called. */
  readonly subject: CallSubject;
  readonly options: CallOptions;
  readonly parent: CallState | undefined;
  readonly depth: number;
  readonly callerSignal: AbortSignal | undefined;
  readonly host: CallHost;
  /** The toolbox through which it was made. */
  readonly origin: CallOrigin;
  /** The input of `run`, before defaults and transforms. */
  input: unknown = undefined;
  /** The reason for which it must be approved first, where the policy says so. */
  approvalReason: string | undefined = undefined;
  /** Repairs of the input. They quote it: a record of them is content. */
  repairs: readonly Repair[] = noRepairs;
  trace: Trace | undefined = undefined;
  /** The one context of this state. */
  context: CallContext | undefined = undefined;
  #limits: readonly ConcurrencyLimit[] = noLimits;
  #session: Session | undefined;
  #toolbox: Toolbox | undefined;
  #attempts = 1;
  #cached = false;

  constructor(host: CallHost, subject: CallSubject, options: CallOptions, origin: CallOrigin) {
    super();
    const { parent } = origin;
    this.origin = origin;
    this.host = host;
    this.ref = subject.ref;
    this.subject = subject;
    this.options = options;
    this.callerSignal = options.signal;
    this.parent = parent;
    this.depth = parent === undefined ? 0 : parent.depth + 1;
  }

  /** The state of the call or attempt itself, where this is derived from it. */
  get base(): CallState {
    return this;
  }

  /** The same in place of another base, such as that of an attempt. */
  on(base: CallState): CallState {
    return base;
  }

  get session(): Session {
    this.#session ??= this.options.session ?? this.parent?.session ?? Object.freeze({ id: randomUUID() });
    return this.#session;
  }

  get givenSession(): Session | undefined {
    return this.options.session ?? this.parent?.givenSession;
  }

  get loggingSession(): Session | undefined {
    const session = this.givenSession;
    return session?.log === undefined ? undefined : session;
  }

  /** That of the toolkit; entries go to the caller's session too, where it listens. */
  get logger(): Logger {
    const session = this.loggingSession;
    return session === undefined ? this.ownLogger : sessionLogger(this.ownLogger, session, this.ref);
  }

  get ownLogger(): Logger {
    return this.host.logger;
  }

  get attachments(): readonly Resource[] {
    return this.options.attachments ?? noAttachments;
  }

  get meta(): Readonly<Record<string, unknown>> | undefined {
    return metaOf(this.options, this.parent);
  }

  get toolbox(): Toolbox {
    this.#toolbox ??= this.origin.within(this);
    return this.#toolbox;
  }

  /** The `_meta` that a context was derived with: it goes along with the calls made through that. */
  get passedMeta(): CallOptions["meta"] {
    return undefined;
  }

  /** The toolbox that a context was derived with. */
  get givenToolbox(): Toolbox | undefined {
    return undefined;
  }

  get isConfined(): boolean {
    return this.origin.isConfined;
  }

  /** Permission to make it, where it was approved before. */
  get grant(): ApprovalGrant | undefined {
    return this.origin.grant;
  }

  /** Refs of the calls that led here, the outermost first. */
  get chain(): readonly string[] {
    return this.parent === undefined ? [this.ref] : [...this.parent.chain, this.ref];
  }

  /** Signals that end the calls inside this one. */
  get innerSignals(): readonly AbortSignal[] {
    return [this.signal];
  }

  get outerSignals(): readonly AbortSignal[] | undefined {
    return this.parent?.innerSignals;
  }

  /** The limits under which it has a place now. */
  get limits(): readonly ConcurrencyLimit[] {
    return this.#limits;
  }

  set limits(limits: readonly ConcurrencyLimit[]) {
    this.#limits = limits;
  }

  /** Its run is that of several calls. */
  get isShared(): boolean {
    return false;
  }

  /** The number of its runs so far, with the one that is about to begin. */
  get attempts(): number {
    return this.#attempts;
  }

  set attempts(attempts: number) {
    this.#attempts = attempts;
    if (this.options.report !== undefined) this.options.report.attempts = attempts;
  }

  /** The answer came without a run of its own: from the cache, or from an equal call made at the same time. */
  get cached(): boolean {
    return this.#cached;
  }

  set cached(cached: boolean) {
    this.#cached = cached;
    if (this.options.report !== undefined) this.options.report.cached = cached;
  }

  async progress(progress: number, total?: number, message?: string): Promise<boolean> {
    this.keepAlive();
    const { onProgress } = this.options;
    if (onProgress === undefined || this.isAborted) return false;
    const report: Progress = {
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    };
    try {
      await (onProgress.call(this.options, report) as unknown);
      return true;
    } catch (error) {
      this.#listenerFailed("progress", error);
      return false;
    }
  }

  /** Hands a part of the result to the caller's listener. An error of that is logged: the result is none the worse. */
  emitPart(part: Content): void {
    this.keepAlive();
    const { onPartial } = this.options;
    if (onPartial === undefined || this.isAborted) return;
    runDetached(
      () => onPartial.call(this.options, part),
      (error) => this.#listenerFailed("partial", error),
    );
  }

  get hasListener(): boolean {
    return this.options.onEvent !== undefined;
  }

  emit(event: AgentEvent): void | PromiseLike<void> {
    this.keepAlive();
    // An event of a run inside this one was emitted by that already.
    if (event.depth === this.depth) this.host.agentEvent(event, this.givenSession?.principal);
    const { onEvent } = this.options;
    if (onEvent === undefined || this.isAborted) return;
    const failed = (error: unknown) => this.#listenerFailed("event", error);
    try {
      const handled = onEvent.call(this.options, event);
      if (isPromiseLike(handled)) return Promise.resolve(handled).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  async elicit(message: string, schema: SchemaLike): Promise<ElicitResult> {
    const form = toObjectSchema(schema, { what: `schema of what ${this.ref} asks`, direction: "input" });
    return this.#ask((context) => this.host.interactions.elicit({ message, schema: form }, context));
  }

  sample(request: SampleRequest): Promise<SampleResult> {
    return this.#ask((context) => this.host.interactions.sample(request, context));
  }

  pending(request: PendingRequest): never {
    throw new PendingCall(this, request);
  }

  async #ask<T>(ask: (context: InteractionContext) => Promise<T>): Promise<T> {
    const release = this.pauseTimeout();
    try {
      return await ask({ signal: this.signal, requester: this.ref, session: this.session });
    } finally {
      release();
    }
  }

  #listenerFailed(what: "progress" | "partial" | "event", error: unknown): void {
    this.host.logger.error(`A ${what} listener of ${this.ref} failed: ${messageOf(error)}`, { error });
  }
}

/** The `_meta` that is sent along: of the session, of the derived context it was made in, and of the call itself. */
export function metaOf(options: CallOptions, parent: CallState | undefined): CallOptions["meta"] {
  const passed = parent?.passedMeta;
  const own = passed === undefined ? options.meta : { ...passed, ...options.meta };
  // A session that was given takes the place of the outer one whole: what is meant for one caller is not sent along for another.
  const inherited = (options.session ?? parent?.givenSession)?.meta;
  return inherited === undefined ? own : { ...inherited, ...own };
}

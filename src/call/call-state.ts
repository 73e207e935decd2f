import { randomUUID } from "node:crypto";
import type { AgentEvent } from "../core/agent-event.ts";
import type { InteractionContext } from "../core/delegate.ts";
import { messageOf } from "../core/error.ts";
import type { ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { CallContext, Toolbox } from "../core/item.ts";
import { logToSession } from "../core/logger.ts";
import type { PendingRequest } from "../core/pending.ts";
import type { Content, Resource } from "../core/resource.ts";
import type { Repair } from "../core/schema/coerce-value.ts";
import { toObjectSchema } from "../core/schema/json-schema.ts";
import type { SchemaLike } from "../core/schema/types.ts";
import type { CallOptions, Logger, LogLevel, Progress, Session } from "../core/session.ts";
import type { ConcurrencyLimit } from "../lib/concurrency-queue.ts";
import { type Deadline, type DeadlineOwner, type TimeLimits, unlimited } from "../lib/deadline-scheduler.ts";
import { isPromiseLike, runDetached } from "../lib/promise.ts";
import type { ApprovalGrant } from "./approval-grant.ts";
import type { InteractionRouter } from "./interaction-router.ts";
import { PendingCall } from "./pending-call.ts";
import { type CallLimits, isCallLimit, timeoutError } from "./timeout-error.ts";
import type { Trace } from "./trace/trace.ts";

/** What a call state needs of whoever runs it. */
export interface CallHost {
  readonly logger: Logger;
  readonly interactions: InteractionRouter;
  /** Tells whoever looks after the toolkit how the run of an agent goes. */
  agentEvent(event: AgentEvent, principal: string | undefined): void;
}

/** The toolbox through which a call was made. */
export interface CallOrigin {
  /** The call in progress it was made for. */
  readonly parent: CallState | undefined;
  /** Leave to make this call, where it was approved before. */
  readonly grant: ApprovalGrant | undefined;
  /** It does not see everything. */
  readonly isConfined: boolean;
  /** What the call may use itself: as much as the one it was made through. */
  within(parent: CallState): Toolbox;
  /** The same, for a call that was approved. */
  granted(grant: ApprovalGrant): Toolbox;
}

const noAttachments: readonly Resource[] = Object.freeze([]);
const noPlaces: readonly ConcurrencyLimit[] = Object.freeze([]);
const noRepairs: readonly Repair[] = Object.freeze([]);

/** No limits, and they are those of a call. */
export const callUnlimited: CallLimits = { of: "call", ...unlimited };

/**
 * The context of one call, and what its steps share. Everything a call may not need is made when it is asked for.
 */
export class CallState implements CallContext, DeadlineOwner {
  readonly ref: string;
  readonly options: CallOptions;
  readonly parent: CallState | undefined;
  readonly depth: number;
  /** Where it waits for somebody else, such as a connection: the error to give when the wait is too long. */
  waitingFor: (() => Error) | undefined = undefined;
  /** What `run` was given, before defaults and transforms. */
  input: unknown = undefined;
  /** Why somebody must approve it first, where the policy says so. */
  approvalReason: string | undefined = undefined;
  /** The bounds of which it has a place now. */
  limits: readonly ConcurrencyLimit[] = noPlaces;
  /** What of the input was mended. They quote the input: what is recorded of them is content. */
  repairs: readonly Repair[] = noRepairs;
  /** Where somebody looks. */
  trace: Trace | undefined = undefined;
  /** The state that goes on in its place, such as that of its attempt. */
  inner: CallState | undefined = undefined;
  /** @internal */
  readonly host: CallHost;
  /** The toolbox through which it was made. @internal */
  readonly origin: CallOrigin;
  #session: Session | undefined;
  #toolbox: Toolbox | undefined;
  #controller: AbortController | undefined;
  #deadline: Deadline | undefined;
  #outerDeadline: Deadline | undefined;
  #pauses = 0;
  #attempts = 1;
  #cached = false;
  #aborted: { readonly reason: unknown } | undefined;
  #abortListeners: ((reason: unknown) => void)[] | undefined;

  constructor(host: CallHost, ref: string, options: CallOptions, origin: CallOrigin) {
    const { parent } = origin;
    this.origin = origin;
    this.host = host;
    this.ref = ref;
    this.options = options;
    this.parent = parent;
    this.depth = parent === undefined ? 0 : parent.depth + 1;
  }

  get session(): Session {
    this.#session ??= this.options.session ?? this.parent?.session ?? Object.freeze({ id: randomUUID() });
    return this.#session;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  /** How often it was run so far, or was about to. */
  get attempts(): number {
    return this.#attempts;
  }

  set attempts(attempts: number) {
    this.#attempts = attempts;
    if (this.options.report !== undefined) this.options.report.attempts = attempts;
  }

  /** The answer came without a run of its own: it was kept, or is that of an equal call made at the same time. */
  get cached(): boolean {
    return this.#cached;
  }

  set cached(cached: boolean) {
    this.#cached = cached;
    if (this.options.report !== undefined) this.options.report.cached = cached;
  }

  get logger(): Logger {
    const session = this.loggingSession;
    return session === undefined ? this.host.logger : sessionLogger(this.host.logger, session, this.ref);
  }

  /** The caller's session, where it wants to hear what is logged. */
  get loggingSession(): Session | undefined {
    const session = this.givenSession;
    return session?.log === undefined ? undefined : session;
  }

  /** The caller's session, where one was given. */
  get givenSession(): Session | undefined {
    return this.options.session ?? this.parent?.givenSession;
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

  /** Refs of the calls that led here, the outermost first. */
  get chain(): readonly string[] {
    return this.parent === undefined ? [this.ref] : [...this.parent.chain, this.ref];
  }

  /** The caller's own signal. */
  get callerSignal(): AbortSignal | undefined {
    return this.options.signal;
  }

  /** The signal of the call around it. */
  get outerSignal(): AbortSignal | undefined {
    return this.parent?.signal;
  }

  /** Its run is that of several calls. */
  get isShared(): boolean {
    return false;
  }

  /** It was ended early. */
  get isAborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** Something waits for it that hears its signals. */
  get isWaiting(): boolean {
    return this.#deadline !== undefined;
  }

  async progress(progress: number, total?: number, message?: string): Promise<boolean> {
    this.keepAlive();
    const { onProgress } = this.options;
    if (onProgress === undefined || this.#aborted !== undefined) return false;
    const told: Progress = {
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    };
    try {
      await (onProgress.call(this.options, told) as unknown);
      return true;
    } catch (error) {
      this.#listenerFailed("progress", error);
      return false;
    }
  }

  async elicit(message: string, schema: SchemaLike): Promise<ElicitResult> {
    const form = toObjectSchema(schema, { what: `schema of what ${this.ref} asks`, direction: "input" });
    return this.#ask((context) => this.host.interactions.elicit({ message, schema: form }, context));
  }

  sample(request: SampleRequest): Promise<SampleResult> {
    return this.#ask((context) => this.host.interactions.sample(request, context));
  }

  get hasListener(): boolean {
    return this.options.onEvent !== undefined;
  }

  emit(event: AgentEvent): void | PromiseLike<void> {
    this.keepAlive();
    // What a run inside this one tells was told by that already.
    if (event.depth === this.depth) this.host.agentEvent(event, this.givenSession?.principal);
    const { onEvent } = this.options;
    if (onEvent === undefined || this.#aborted !== undefined) return;
    const failed = (error: unknown) => this.#listenerFailed("event", error);
    try {
      const told = onEvent.call(this.options, event);
      if (isPromiseLike(told)) return Promise.resolve(told).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  pending(request: PendingRequest): never {
    throw new PendingCall(this.ref, this.input, request);
  }

  /** Leave to make it, where it was approved before. */
  get grant(): ApprovalGrant | undefined {
    return this.origin.grant;
  }

  async #ask<T>(ask: (context: InteractionContext) => Promise<T>): Promise<T> {
    const release = this.pauseTimeout();
    try {
      return await ask({ signal: this.signal, requester: this.ref, session: this.session });
    } finally {
      release();
    }
  }

  /** The inactivity limit rests, of the calls around it too, until the returned function is called. */
  pauseTimeout(): () => void {
    const release = this.parent?.pauseTimeout();
    this.#pauses += 1;
    if (this.#pauses === 1) this.#setPaused(true);
    return () => {
      this.#pauses -= 1;
      if (this.#pauses === 0) this.#setPaused(false);
      release?.();
    };
  }

  #setPaused(resting: boolean): void {
    this.#deadline?.pause(resting);
    this.#outerDeadline?.pause(resting);
  }

  /** A sign of life, of the calls around it too. */
  keepAlive(): void {
    this.#deadline?.keepAlive();
    this.#outerDeadline?.keepAlive();
    this.parent?.keepAlive();
  }

  /** Tells a part of the result to whoever wants to hear it. What that throws is logged: the result is none the worse. */
  emitPart(part: Content): void {
    this.keepAlive();
    const { onPartial } = this.options;
    if (onPartial === undefined || this.#aborted !== undefined) return;
    runDetached(
      () => onPartial.call(this.options, part),
      (error) => this.#listenerFailed("partial", error),
    );
  }

  onDeadline(wait: Deadline): void {
    if (this.#deadline !== undefined) this.#outerDeadline = this.#deadline;
    this.#deadline = wait;
    if (this.#pauses > 0) wait.pause(true);
  }

  /** The error for a limit of time: what it was waiting for where it says so, else `TIMEOUT`. */
  limitError(limits: TimeLimits, limit: "inactivity" | "total", elapsedMs: number): unknown {
    const waitingFor = this.waitingFor ?? this.inner?.waitingFor;
    return waitingFor?.() ?? timeoutError(this.ref, limits, limit, elapsedMs);
  }

  /** Ends it: whoever listens to its signal hears the reason. */
  abort(reason: unknown, limits?: TimeLimits): void {
    // What waits inside a call that is over would be waited for in vain, and keep the process alive.
    if (limits !== undefined && isCallLimit(limits)) {
      this.#deadline?.end(reason);
      this.#outerDeadline?.end(reason);
    }
    if (this.#aborted !== undefined) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
    const listeners = this.#abortListeners;
    this.#abortListeners = undefined;
    for (const listener of listeners ?? []) listener(reason);
  }

  /** Calls back with the reason should it be ended early: what its signal does, without the cost of one. */
  onAbort(listener: (reason: unknown) => void): void {
    if (this.#aborted !== undefined) {
      listener(this.#aborted.reason);
      return;
    }
    this.#abortListeners ??= [];
    this.#abortListeners.push(listener);
  }

  offAbort(listener: (reason: unknown) => void): void {
    const at = this.#abortListeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#abortListeners?.splice(at, 1);
  }

  /** Throws the reason for which it was ended, if it was. */
  throwIfAborted(): void {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
  }

  #listenerFailed(what: "progress" | "partial" | "event", error: unknown): void {
    this.host.logger.error(`A ${what} listener of ${this.ref} failed: ${messageOf(error)}`, { error });
  }
}

/** What is sent along as `_meta`: of the session, and of the call itself. */
export function metaOf(options: CallOptions, parent: CallState | undefined): CallOptions["meta"] {
  const own = options.meta;
  // A session that was given takes the place of the outer one whole: what is meant for one caller is not sent along for another.
  const inherited = (options.session ?? parent?.givenSession)?.meta;
  return inherited === undefined ? own : { ...inherited, ...own };
}

const levels = { debug: "debug", info: "info", warn: "warning", error: "error" } as const satisfies Record<
  keyof Logger,
  LogLevel
>;

/** A logger that also tells the caller's session. */
function sessionLogger(logger: Logger, session: Session, ref: string): Logger {
  const tell = (method: keyof Logger) => (message: string, details?: unknown) => {
    logger[method](message, details);
    const data = details === undefined ? message : { message, details };
    logToSession(session, { level: levels[method], logger: ref, data }, logger);
  };
  return { debug: tell("debug"), info: tell("info"), warn: tell("warn"), error: tell("error") };
}

import type { AgentEvent } from "../core/agent-event.ts";
import { definitionOf } from "../core/entry.ts";
import { ToolkitError, toError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { Entry, RenderedPrompt } from "../core/item.ts";
import { shown } from "../core/options.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions, Logger } from "../core/session.ts";
import { throwIfAborted } from "../core/signal.ts";
import type { Unsubscribe } from "../core/source.ts";
import type { CacheLimits } from "../core/toolkit-options.ts";
import type { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import type { Emitter } from "../lib/emitter.ts";
import { andThen, type MaybePromise, rescue } from "../lib/promise.ts";
import { RetryBudget } from "../lib/retry-budget.ts";
import { present } from "../lib/value.ts";
import { loadResource } from "../resource/handle.ts";
import { AnswerCache } from "./answer-cache.ts";
import { permitRead } from "./apply-policy.ts";
import { toCallError } from "./call-error.ts";
import { type CallHost, type CallOrigin, CallState, callUnlimited } from "./call-state.ts";
import type { InteractionRouter } from "./interaction-router.ts";
import {
  compileCall,
  compileReceive,
  compileRender,
  describeCall,
  type PipelineOptions,
  type StepDescription,
} from "./pipeline.ts";
import { needsReading, readInput } from "./read-input.ts";
import { repeated, retryPlan } from "./retry.ts";
import { SharedLimits } from "./shared-limits.ts";
import { type Next, StepCall } from "./step.ts";
import { attemptLimits } from "./timeout.ts";
import type { CallLimits } from "./timeout-error.ts";
import type { Telemetry } from "./trace/telemetry.ts";
import type { Trace } from "./trace/trace.ts";

/** What an executor is made with. */
export interface ExecutorOptions extends Omit<PipelineOptions, keyof Shared> {
  readonly logger: Logger;
  readonly events: Emitter<ToolkitEvent>;
  readonly room: DeadlineScheduler;
  readonly interactions: InteractionRouter;
  /** Undefined where nobody may look. */
  readonly telemetry?: Telemetry | undefined;
  /** How much of answers is kept. */
  readonly cache: CacheLimits;
  /** How many calls may wait for a place, in each queue. */
  readonly maxQueuedCalls: number;
  /** Has the source of a resource say when it changes. */
  subscribe(entry: Entry<"resource">, options: CallState): Promise<Unsubscribe> | Unsubscribe;
}

/** What all calls share, made here. */
type Shared = Pick<PipelineOptions, "budget" | "limits" | "answers">;

/** What is being looked for, and for whom. */
export interface Search {
  readonly key: string;
  readonly options: CallOptions;
  readonly origin: CallOrigin;
}

/** What came before the call itself. */
export interface CallStart {
  /** How long the entry was looked for, in milliseconds. */
  readonly spentMs?: number | undefined;
  /** Of whoever looks. */
  readonly trace?: Trace | undefined;
}

type Callable = Entry<"tool" | "prompt">;
type Run<T, R> = (given: T, state: CallState) => MaybePromise<R>;

/** Runs calls: compiles the way of each entry once, owns the caller's abort and deadline, and knows what is in flight. */
export class Executor implements CallHost {
  readonly logger: Logger;
  readonly interactions: InteractionRouter;
  readonly telemetry: Telemetry | undefined;
  readonly #options: ExecutorOptions & Shared;
  readonly #calls = new WeakMap<Callable, Next>();
  readonly #renders = new WeakMap<Entry<"prompt">, Next<RenderedPrompt>>();
  #sequence = 0;
  #closed = false;

  constructor(options: ExecutorOptions) {
    this.#options = {
      ...options,
      budget: new RetryBudget(options.room.clock),
      limits: new SharedLimits(options.settings, options.maxQueuedCalls),
      answers: new AnswerCache(options.cache),
    };
    this.logger = options.logger;
    this.interactions = options.interactions;
    this.telemetry = options.telemetry;
  }

  /** How many calls wait for a place under a limit of calls at once. */
  get queued(): number {
    return this.#options.limits.queued;
  }

  agentEvent(event: AgentEvent, principal: string | undefined): void {
    if (event.type !== "step" || !this.#options.events.hears("agentStep")) return;
    this.#options.events.emit({ ...event, type: "agentStep", ...present({ principal }) });
  }

  /** Ends every call in flight, and answers each further one, with `CLOSED`. */
  close(): void {
    this.#closed = true;
    this.#options.room.abortAll((waiter) => closedError(waiter instanceof CallState ? waiter.ref : undefined));
  }

  /**
   * Goes on with an entry that is still being looked for. The wait for it is within the caller's abort and deadline, and what it took
   * is taken from that.
   */
  async whenFound<E, R>(
    found: Promise<E>,
    { key, options, origin }: Search,
    next: (entry: E, spentMs: number) => MaybePromise<R>,
  ): Promise<R> {
    const { room } = this.#options;
    const startedAt = room.clock.now();
    const search = new CallState(this, key, options, origin);
    const entry = await this.#bound(search, () => found, undefined);
    return next(entry, room.clock.now() - startedAt);
  }

  call(
    entry: Callable,
    input: unknown,
    options: CallOptions,
    origin: CallOrigin,
    arrival?: CallStart,
  ): MaybePromise<Content> {
    const next = this.#way(this.#calls, entry, compileCall);
    return this.#arrived(new StepCall(entry, input, new CallState(this, entry.ref, options, origin)), next, arrival);
  }

  render(
    entry: Entry<"prompt">,
    input: unknown,
    options: CallOptions,
    origin: CallOrigin,
    arrival?: CallStart,
  ): MaybePromise<RenderedPrompt> {
    const next = this.#way(this.#renders, entry, compileRender);
    return this.#arrived(new StepCall(entry, input, new CallState(this, entry.ref, options, origin)), next, arrival);
  }

  /** What a call of an entry goes through. */
  describe(entry: Callable): readonly StepDescription[] {
    return describeCall(entry, this.#options);
  }

  /** What a call comes to whose work was done elsewhere. */
  receive(entry: Callable, value: unknown, options: CallOptions, origin: CallOrigin): MaybePromise<Content> {
    return compileReceive(entry, this.#options)(value, new CallState(this, entry.ref, options, origin));
  }

  /** The way of an entry, compiled at its first use. */
  #way<E extends Callable, R>(
    compiled: WeakMap<E, Next<R>>,
    entry: E,
    compile: (entry: E, options: PipelineOptions) => Next<R>,
  ): Next<R> {
    let next = compiled.get(entry);
    if (next === undefined) {
      next = compile(entry, this.#options);
      compiled.set(entry, next);
    }
    return next;
  }

  /** Reads a resource whole, within the limits of a call. */
  read(
    entry: Entry<"resource">,
    options: CallOptions,
    origin: CallOrigin,
    { spentMs, trace }: CallStart = {},
  ): MaybePromise<Content> {
    const state = new CallState(this, entry.ref, options, origin);
    const load = () => this.#announced(state, this.#load, entry, spentMs);
    if (trace === undefined) return load();
    state.trace = trace;
    return trace.within(entry, state, undefined, load);
  }

  /** Subscribes to a resource, within the limits of a call. */
  subscribe(
    entry: Entry<"resource">,
    options: CallOptions,
    origin: CallOrigin,
    { spentMs }: CallStart = {},
  ): MaybePromise<Unsubscribe> {
    return this.#bound(new CallState(this, entry.ref, options, origin), this.#follow, entry, spentMs);
  }

  readonly #load = (entry: Entry<"resource">, state: CallState): MaybePromise<Content> =>
    this.#permitted(entry, state, (own) => loadResource(entry.item, own));

  readonly #follow = (entry: Entry<"resource">, state: CallState): MaybePromise<Unsubscribe> =>
    this.#permitted(entry, state, async (own) => this.#options.subscribe(entry, own));

  #permitted<R>(entry: Entry<"resource">, state: CallState, run: (own: CallState) => MaybePromise<R>): MaybePromise<R> {
    const permit = permitRead(this.#options.policy, entry, state);
    return andThen(permit, () => this.#attempt(entry, state, run));
  }

  #attempt<R>(entry: Entry<"resource">, state: CallState, run: (own: CallState) => MaybePromise<R>): MaybePromise<R> {
    const { room, timeoutMs } = this.#options;
    const limits = attemptLimits(timeoutMs, this.#options);
    const failed = toCallError(entry.ref, "execute");
    const attempt = (own: CallState) => {
      const running = rescue(() => run(own), failed);
      return running instanceof Promise ? room.wait(running, own, limits) : running;
    };
    const definition = definitionOf(entry);
    const plan = definition.origin === "remote" ? retryPlan(definition, {}, this.#options) : undefined;
    return plan === undefined ? attempt(state) : repeated(plan, state, attempt, this.#options);
  }

  #arrived<R>(call: StepCall, next: Next<R>, arrival: CallStart | undefined): MaybePromise<R> {
    const trace = arrival?.trace;
    if (trace === undefined) return this.#start(call, next, arrival?.spentMs);
    const { entry, state, input } = call;
    state.trace = trace;
    return trace.within(entry, state, input, () => this.#start(call, next, arrival?.spentMs));
  }

  #start<R>(call: StepCall, next: Next<R>, spentMs: number | undefined): MaybePromise<R> {
    const { entry, input, state } = call;
    if (!needsReading(input)) return this.#announced(state, next, call, spentMs);
    const read = () => andThen(readInput(entry, input, state), (value) => next(call.with({ input: value })));
    return this.#announced(state, read, undefined, spentMs);
  }

  /** Tells that a call begins and ends, where somebody listens. */
  #announced<T, R>(state: CallState, run: Run<T, R>, given: T, spentMs?: number): MaybePromise<R> {
    const { events } = this.#options;
    if (!events.hears("callStarted") && !events.hears("callFinished")) return this.#bound(state, run, given, spentMs);
    let finish: ((error: unknown) => void) | undefined;
    const announce: Run<T, R> = (value) => {
      finish = this.#announce(state);
      return run(value, state);
    };
    let result: MaybePromise<R>;
    try {
      result = this.#bound(state, announce, given, spentMs);
    } catch (error) {
      finish?.(error);
      throw error;
    }
    if (result instanceof Promise) result.then(() => finish?.(undefined), finish);
    else finish?.(undefined);
    return result;
  }

  /** The outermost of a call: nothing inside outlives the caller's abort, its deadline, or the toolkit. */
  #bound<T, R>(state: CallState, run: Run<T, R>, given: T, spentMs = 0): MaybePromise<R> {
    const { timeoutMs } = state.options;
    if (this.#closed) throw closedError(state.ref);
    if (timeoutMs !== undefined && !isLimit(timeoutMs)) throw invalidTimeout(state.ref, timeoutMs);
    throwIfAborted(state.callerSignal);
    state.outerSignal?.throwIfAborted();
    const result = run(given, state);
    if (!(result instanceof Promise)) return result;
    // Where an attempt is waited for already, that wait hears the same signals: another would hear nothing new. The user's middleware
    // may go on after an attempt has ended.
    const { room, use } = this.#options;
    if (timeoutMs === undefined && state.isWaiting && use.length === 0) return result;
    return room.wait(result, state, callLimits(timeoutMs, spentMs));
  }

  /** Tells that a call began; gives what tells that it ended. */
  #announce({ ref, trace, givenSession }: CallState): (error: unknown) => void {
    const { events, room } = this.#options;
    // A span that is recorded is the better name: it is known elsewhere too.
    const callId = trace?.id ?? String(++this.#sequence);
    const startedAt = room.clock.now();
    const of = present({ principal: givenSession?.principal });
    events.emit({ type: "callStarted", callId, ref, ...of });
    return (error) => {
      const durationMs = room.clock.now() - startedAt;
      events.emit({
        type: "callFinished",
        callId,
        ref,
        durationMs,
        ...of,
        ...(error === undefined ? {} : { error: toError(error) }),
      });
    };
  }
}

function callLimits(timeoutMs: number | undefined, spentMs: number): CallLimits {
  return timeoutMs === undefined ? callUnlimited : { ...callUnlimited, totalMs: timeoutMs - spentMs, spentMs };
}

function isLimit(timeoutMs: unknown): boolean {
  return typeof timeoutMs === "number" && timeoutMs > 0;
}

function closedError(ref?: string): ToolkitError<"CLOSED"> {
  return new ToolkitError(
    "CLOSED",
    "The toolkit is closed and takes no more calls.",
    { what: "toolkit" },
    { ref, phase: "execute" },
  );
}

function invalidTimeout(ref: string, given: unknown): ToolkitError<"INVALID_INPUT"> {
  const message = `must be a number of milliseconds above 0, and is ${shown(given)}`;
  return new ToolkitError(
    "INVALID_INPUT",
    `The option timeoutMs of the call of ${ref} ${message}. Nothing ran.`,
    { issues: [{ pointer: "/timeoutMs", message }] },
    { ref, phase: "validate" },
  );
}

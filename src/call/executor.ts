import type { AgentEvent } from "../core/agent-event.ts";
import type { MediaEgress } from "../core/egress.ts";
import { definitionOf } from "../core/entry.ts";
import { ToolkitError, toError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { Entry } from "../core/item.ts";
import { silentLogger } from "../core/logger.ts";
import { shown } from "../core/options.ts";
import { type Content, resourceBrand } from "../core/resource.ts";
import type { CallOptions, Logger } from "../core/session.ts";
import { throwIfAborted } from "../core/signal.ts";
import type { StoredPromptRules } from "../core/stored-prompt-rules.ts";
import type { CacheLimits } from "../core/toolkit-options.ts";
import type { Clock } from "../lib/clock.ts";
import type { Emitter } from "../lib/emitter.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { RetryBudget } from "../lib/retry-budget.ts";
import { present } from "../lib/value.ts";
import { AnswerCache } from "./answer-cache.ts";
import { type FailedCall, failureLine } from "./call-error.ts";
import { callUnlimited } from "./call-lifetime.ts";
import { type CallHost, type CallOrigin, CallState } from "./call-state.ts";
import type { InteractionRouter } from "./interaction-router.ts";
import type { Observers } from "./observers.ts";
import { type CompiledSteps, Pipeline, type PipelineOptions, type StepDescription } from "./pipeline.ts";
import { SharedLimits } from "./shared-limits.ts";
import { type Action, type ActionEntry, type ActionResult, type Next, StepCall } from "./step.ts";
import type { Telemetry } from "./trace/telemetry.ts";
import type { Trace } from "./trace/trace.ts";

/** The parts of an executor. */
export interface ExecutorOptions extends Omit<PipelineOptions, "budget" | "limits" | "answers"> {
  readonly logger: Logger;
  readonly events: Emitter<ToolkitEvent>;
  readonly interactions: InteractionRouter;
  readonly egress: MediaEgress;
  readonly observers: Observers;
  /** Undefined where nothing is traced or measured. */
  readonly telemetry?: Telemetry | undefined;
  /** The limits of the answers that are kept. */
  readonly cache: CacheLimits;
  /** The most calls that may wait for a place, in each queue. */
  readonly maxQueuedCalls: number;
}

/** A lookup that a call waits for. */
export interface Search {
  readonly key: string;
  readonly options: CallOptions;
  readonly origin: CallOrigin;
  /** The reason why it is not there yet. */
  readonly missing: () => Error | undefined;
}

/** The part of a call that came before its steps. */
export interface CallStart {
  /** The time its lookup took, in milliseconds. */
  readonly spentMs?: number | undefined;
  readonly trace?: Trace | undefined;
}

const noStart: CallStart = {};

/** Starts and ends calls: owns the caller's abort and deadline, and knows the calls in flight. */
export class Executor implements CallHost {
  readonly logger: Logger;
  readonly interactions: InteractionRouter;
  readonly egress: MediaEgress;
  readonly observers: Observers;
  readonly clock: Clock;
  readonly telemetry: Telemetry | undefined;
  readonly storedPromptRules: StoredPromptRules | undefined;
  readonly #options: ExecutorOptions;
  readonly #limits: SharedLimits;
  readonly #pipeline: Pipeline;
  readonly #compiled: { readonly [A in Action]: WeakMap<StepCall["entry"], CompiledSteps> } = {
    call: new WeakMap(),
    render: new WeakMap(),
    read: new WeakMap(),
    subscribe: new WeakMap(),
    complete: new WeakMap(),
  };
  #sequence = 0;
  #closed = false;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#limits = new SharedLimits(options.settings, options.maxQueuedCalls);
    this.#pipeline = new Pipeline({
      ...options,
      budget: new RetryBudget(options.deadlines.clock),
      limits: this.#limits,
      answers: new AnswerCache(options.cache),
    });
    this.logger = options.logger;
    this.storedPromptRules = options.storedPromptRules;
    this.interactions = options.interactions;
    this.egress = options.egress;
    this.observers = options.observers;
    this.clock = options.deadlines.clock;
    this.telemetry = options.telemetry;
  }

  /** The number of calls that wait for a place under a limit of calls at once. */
  get queued(): number {
    return this.#limits.queued;
  }

  /** False where the service gave no logger: there is no need to look at failures then. */
  get logsFailures(): boolean {
    return this.logger !== silentLogger;
  }

  /** Logs that a call failed, once: a call that another one makes is for debugging, as the outer one has its own line. */
  logFailure(call: Omit<FailedCall, "recordContent">, thrown: unknown): void {
    const entry = failureLine({ ...call, recordContent: this.telemetry?.recordsContent ?? false }, thrown);
    if (entry !== undefined) this.logger[entry.level](entry.message, entry.details);
  }

  agentEvent(event: AgentEvent, principal: string | undefined): void {
    if (event.type !== "step" || !this.#options.events.hasListeners("agentStep")) return;
    this.#options.events.emit({ ...event, type: "agentStep", ...present({ principal }) });
  }

  /** Ends every call in flight, and rejects each further one, with `CLOSED`. */
  close(): void {
    this.#closed = true;
    this.#options.deadlines.abortAll((owner) => closedError(owner instanceof CallState ? owner.ref : undefined));
  }

  /**
   * Goes on with an entry that is still being looked for. The wait for it is within the caller's abort and deadline, and the time it
   * took is taken from that.
   */
  async whenFound<E, R>(
    found: Promise<E>,
    { key, options, origin, missing }: Search,
    next: (entry: E, spentMs: number) => MaybePromise<R>,
  ): Promise<R> {
    const { clock } = this.#options.deadlines;
    const startedAt = clock.now();
    const search = new CallState(this, { kind: "tool", ref: key }, options, origin);
    search.waitingFor = missing;
    this.#assertStartable(search);
    const entry = await this.#bounded(found, search, 0);
    return next(entry, clock.now() - startedAt);
  }

  /** Does with an entry what its verb says. */
  run<A extends Action>(
    verb: A,
    entry: ActionEntry[A],
    input: unknown,
    options: CallOptions,
    origin: CallOrigin,
    { spentMs = 0, trace }: CallStart = noStart,
  ): MaybePromise<ActionResult<A>> {
    const call = new StepCall(verb, entry, input, new CallState(this, entry, options, origin));
    const answer = trace === undefined ? this.#start(call, spentMs) : this.#traced(call, trace, spentMs);
    return answer as MaybePromise<ActionResult<A>>;
  }

  /** Makes the answer of a call whose work was done elsewhere. */
  receive(
    entry: Entry<"tool" | "prompt">,
    value: unknown,
    options: CallOptions,
    origin: CallOrigin,
  ): MaybePromise<Content> {
    return this.#pipeline.receiver(entry)(value, new CallState(this, entry, options, origin));
  }

  /** The steps of a call of an entry. */
  describe(entry: Entry<"tool" | "prompt">): readonly StepDescription[] {
    return this.#pipeline.describe(entry);
  }

  #traced(call: StepCall, trace: Trace, spentMs: number): MaybePromise<ActionResult> {
    const { entry, input, state } = call;
    state.trace = trace;
    return trace.within(entry as Entry, state, input, () => this.#start(call, spentMs));
  }

  /** @param isSeen - by those who observe the toolkit; true where there are none */
  #start(call: StepCall, spentMs: number, isSeen = !this.observers.isObserved): MaybePromise<ActionResult> {
    if (!isSeen) return this.observers.call(call, () => this.#start(call, spentMs, true));
    const { state } = call;
    this.#assertStartable(state);
    let compiled = this.#compiled[call.verb].get(call.entry);
    if (compiled === undefined) {
      compiled = this.#pipeline.compile(call.verb, call.entry);
      this.#compiled[call.verb].set(call.entry, compiled);
    }
    const next = isPlain(call) ? compiled.plain : compiled.next;
    const { events } = this.#options;
    // Most often there is no listener at all: that is seen without a function.
    const isSilent = call.verb === "subscribe" || call.verb === "complete";
    return events.listeners.size === 0 || isSilent || !isHeard(events)
      ? this.#bounded(next(call), state, spentMs)
      : this.#announced(call, next, spentMs);
  }

  /** Emits that a call begins and ends, where that has a listener. */
  #announced(call: StepCall, next: Next, spentMs: number): MaybePromise<ActionResult> {
    const finish = this.#announce(call);
    let result: MaybePromise<ActionResult>;
    try {
      result = this.#bounded(next(call), call.state, spentMs);
    } catch (error) {
      finish(error);
      throw error;
    }
    if (result instanceof Promise) result.then(() => finish(undefined), finish);
    else finish(undefined);
    return result;
  }

  /** @throws ToolkitError `CLOSED`, `INVALID_INPUT`; the reason of a signal that has aborted */
  #assertStartable({ ref, parent, callerSignal, options: { timeoutMs } }: CallState): void {
    if (this.#closed) throw closedError(ref);
    if (timeoutMs !== undefined && !(typeof timeoutMs === "number" && timeoutMs > 0))
      throw invalidTimeout(ref, timeoutMs);
    if (callerSignal !== undefined) throwIfAborted(callerSignal);
    parent?.throwIfAborted();
  }

  /** The outermost of a call: nothing inside outlives the caller's abort, its deadline, or the toolkit. */
  #bounded<R>(result: MaybePromise<R>, state: CallState, spentMs: number): MaybePromise<R> {
    if (!(result instanceof Promise)) return result;
    const { deadlines, use } = this.#options;
    const { timeoutMs } = state.options;
    // The wait for an attempt ends with the same signals: another would end no sooner. The user's middleware may go on after an
    // attempt has ended.
    if (timeoutMs === undefined && state.isAwaited && use.length === 0) return result;
    const limits =
      timeoutMs === undefined ? callUnlimited : { ...callUnlimited, totalMs: timeoutMs - spentMs, spentMs };
    return deadlines.wait(result, state, limits);
  }

  /** Emits that a call began; gives what emits that it ended. */
  #announce({ entry, state: { ref, trace, givenSession } }: StepCall): (error: unknown) => void {
    const { events, deadlines } = this.#options;
    // A span that is recorded is the better name: it is known elsewhere too.
    const callId = trace?.id ?? String(++this.#sequence);
    const startedAt = deadlines.clock.now();
    const { labels } = definitionOf(entry).options ?? {};
    const of = present({ principal: givenSession?.principal, labels });
    events.emit({ type: "callStarted", callId, ref, ...of });
    return (error) => {
      const durationMs = deadlines.clock.now() - startedAt;
      const failure = error === undefined ? {} : { error: toError(error) };
      events.emit({ type: "callFinished", callId, ref, durationMs, ...of, ...failure });
    };
  }
}

function isHeard(events: Emitter<ToolkitEvent>): boolean {
  return events.hasListeners("callStarted") || events.hasListeners("callFinished");
}

/** True for a call as {@link Target} has it. */
function isPlain({ verb, input, state: { parent, origin, options } }: StepCall): boolean {
  return (
    verb === "call" &&
    parent === undefined &&
    origin.grant === undefined &&
    options.coerce === undefined &&
    options.needsApproval === undefined &&
    typeof input === "object" &&
    input !== null &&
    !(resourceBrand in input)
  );
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

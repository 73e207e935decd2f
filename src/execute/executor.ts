import { ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { Entry, RenderedPrompt, Toolbox } from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions, Logger } from "../core/session.ts";
import type { Emitter } from "../lib/emitter.ts";
import { type Awaitable, andThen, isPromiseLike, rescue } from "../lib/promise.ts";
import type { WaitingRoom } from "../lib/waiting-room.ts";
import { loadResource } from "../resource/handle.ts";
import { toCallError } from "./call-error.ts";
import { needsReading, readInput } from "./input.ts";
import { compileCall, compileRender, type PipelineOptions } from "./pipeline.ts";
import { CallState, type StateHost } from "./state.ts";
import { type Next, StepCall } from "./step.ts";
import { attemptLimits } from "./timeout.ts";
import type { CallLimits } from "./timeout-error.ts";

/** What an executor is made with. */
export interface ExecutorOptions extends PipelineOptions {
  readonly logger: Logger;
  readonly events: Emitter<ToolkitEvent>;
  readonly room: WaitingRoom;
  toolboxFor(parent: CallState): Toolbox;
}

type Callable = Entry<"tool" | "prompt">;

/** Runs calls: compiles the way of each entry once, owns the caller's abort and deadline, and knows what is in flight. */
export class Executor implements StateHost {
  readonly logger: Logger;
  readonly #options: ExecutorOptions;
  readonly #calls = new WeakMap<Callable, Next>();
  readonly #renders = new WeakMap<Callable, Next<RenderedPrompt>>();
  #sequence = 0;
  #closed = false;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.logger = options.logger;
  }

  toolboxFor(parent: CallState): Toolbox {
    return this.#options.toolboxFor(parent);
  }

  /** Ends every call in flight, and answers each further one, with `CLOSED`. */
  close(): void {
    this.#closed = true;
    this.#options.room.cutAll(closedError());
  }

  call(entry: Callable, input: unknown, options: CallOptions, parent: CallState | undefined): Awaitable<Content> {
    let next = this.#calls.get(entry);
    if (next === undefined) {
      next = compileCall(entry, this.#options);
      this.#calls.set(entry, next);
    }
    return this.#start(entry, input, options, parent, next);
  }

  render(
    entry: Entry<"prompt">,
    input: unknown,
    options: CallOptions,
    parent: CallState | undefined,
  ): Awaitable<RenderedPrompt> {
    let next = this.#renders.get(entry);
    if (next === undefined) {
      next = compileRender(entry, this.#options);
      this.#renders.set(entry, next);
    }
    return this.#start(entry, input, options, parent, next);
  }

  /** Reads a resource whole, within the limits of a call. */
  read(entry: Entry<"resource">, options: CallOptions, parent: CallState | undefined): Awaitable<Content> {
    const state = new CallState(this, entry.ref, options, parent);
    return this.#bound(state, this.#load, entry);
  }

  readonly #load = (entry: Entry<"resource">, state: CallState): Awaitable<Content> => {
    const loading = rescue(() => loadResource(entry.item, state), toCallError(entry.ref, "execute"));
    const { room, timeoutMs } = this.#options;
    return isPromiseLike(loading) ? room.wait(loading, state, attemptLimits(timeoutMs, this.#options)) : loading;
  };

  #start<R>(
    entry: Callable,
    input: unknown,
    options: CallOptions,
    parent: CallState | undefined,
    next: Next<R>,
  ): Awaitable<R> {
    const state = new CallState(this, entry.ref, options, parent);
    if (!needsReading(input)) return this.#bound(state, next, new StepCall(entry, input, state));
    const read = () => andThen(readInput(entry, input), (value) => next(new StepCall(entry, value, state)));
    return this.#bound(state, read, undefined);
  }

  /** The outermost of a call: nothing inside outlives the caller's abort, its deadline, or the toolkit. */
  #bound<T, R>(state: CallState, run: (given: T, state: CallState) => Awaitable<R>, given: T): Awaitable<R> {
    if (this.#closed) throw closedError();
    state.callerSignal?.throwIfAborted();
    state.outerSignal?.throwIfAborted();
    const finish = this.#announce(state);
    let result: Awaitable<R>;
    try {
      result = run(given, state);
    } catch (error) {
      finish?.(error);
      throw error;
    }
    if (!isPromiseLike(result)) {
      finish?.(undefined);
      return result;
    }
    const { timeoutMs } = state.options;
    // Where an attempt is waited for already, that wait hears the same signals: another would hear nothing new.
    if (timeoutMs !== undefined || !state.isWaiting)
      result = this.#options.room.wait(result, state, callLimits(timeoutMs));
    if (finish !== undefined) result.then(() => finish(undefined), finish);
    return result;
  }

  /** Tells that a call began; gives what tells that it ended. Nothing where nobody listens. */
  #announce({ ref }: CallState): ((error: unknown) => void) | undefined {
    const { events } = this.#options;
    if (!events.hears("callStarted") && !events.hears("callFinished")) return undefined;
    const callId = String(++this.#sequence);
    const startedAt = performance.now();
    events.emit({ type: "callStarted", callId, ref });
    return (error) => {
      const durationMs = performance.now() - startedAt;
      events.emit({
        type: "callFinished",
        callId,
        ref,
        durationMs,
        ...(error === undefined ? {} : { error: error instanceof Error ? error : new Error(String(error)) }),
      });
    };
  }
}

const unlimited: CallLimits = { of: "call", inactivityMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY };

function callLimits(timeoutMs: number | undefined): CallLimits {
  return timeoutMs === undefined ? unlimited : { ...unlimited, totalMs: timeoutMs };
}

function closedError(): ToolkitError<"CLOSED"> {
  return new ToolkitError("CLOSED", "The toolkit is closed and takes no more calls.", { what: "toolkit" });
}

import type { AgentEvent } from "../core/agent-event.ts";
import { egressKey, type MediaEgress } from "../core/egress.ts";
import type { ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { CallContext, ContextOverrides, Toolbox } from "../core/item.ts";
import type { PendingRequest } from "../core/pending.ts";
import type { Resource } from "../core/resource.ts";
import type { SchemaLike } from "../core/schema/types.ts";
import type { Logger, Session } from "../core/session.ts";
import { callLink, callStateOf } from "./call-port.ts";
import { CallState } from "./call-state.ts";
import { DerivedState } from "./derived-state.ts";

/**
 * The context that user code gets. Each member reaches the state through `this[callLink]`, whatever `this` is: a Proxy, or an object that
 * inherits from it, is as good.
 */
class Context implements CallContext {
  declare readonly [callLink]: CallState;

  constructor(state: CallState) {
    this[callLink] = state;
  }

  get [egressKey](): MediaEgress {
    return this[callLink].host.egress;
  }

  get session(): Session {
    return this[callLink].session;
  }

  get signal(): AbortSignal {
    return this[callLink].signal;
  }

  get logger(): Logger {
    return this[callLink].logger;
  }

  get attachments(): readonly Resource[] {
    return this[callLink].attachments;
  }

  get meta(): CallContext["meta"] {
    return this[callLink].meta;
  }

  get toolbox(): Toolbox {
    return this[callLink].toolbox;
  }

  get depth(): number {
    return this[callLink].depth;
  }

  get hasListener(): boolean {
    return this[callLink].hasListener;
  }

  async progress(progress: number, total?: number, message?: string): Promise<boolean> {
    return this[callLink].progress(progress, total, message);
  }

  emit(event: AgentEvent): void | PromiseLike<void> {
    return this[callLink].emit(event);
  }

  async elicit(message: string, schema: SchemaLike): Promise<ElicitResult> {
    return this[callLink].elicit(message, schema);
  }

  async sample(request: SampleRequest): Promise<SampleResult> {
    return this[callLink].sample(request);
  }

  pending(request: PendingRequest): never {
    return this[callLink].pending(request);
  }

  derive(overrides: ContextOverrides): CallContext {
    return contextOf(new DerivedState(this[callLink], overrides));
  }
}

/** The context of a state: the same at each time. */
export function contextOf(state: CallState): CallContext {
  state.context ??= new Context(state);
  return state.context;
}

/** The state that a context shows; undefined for one that is of no call. */
export function shownBy(context: object): CallState | undefined {
  const state = callStateOf(context);
  return state instanceof CallState ? state : undefined;
}

/** A context with all its members: a spread of one has lost those it was not given. */
export function wholeContext<C extends object>(given: C): C {
  const state = "derive" in given ? undefined : shownBy(given);
  if (state === undefined) return given;
  return Object.create(contextOf(state), Object.getOwnPropertyDescriptors(given)) as C;
}

/** A context of a call, as it is decorated, with the state of one attempt of that call behind it. */
export function contextOn(given: CallContext, base: CallState): CallContext {
  const whole = wholeContext(given);
  const state = shownBy(given)?.on(base);
  if (state === undefined || state === shownBy(given)) return whole;
  return Object.create(whole, { [callLink]: { value: state, enumerable: true } }) as CallContext;
}

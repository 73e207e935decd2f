import type { AgentEventMap, AgentEventType } from "../core/agent-event.ts";
import type { CallContext } from "../core/item.ts";
import type { Awaitable } from "../lib/promise.ts";
import type { RunState } from "./run-state.ts";
import { sum } from "./usage.ts";

/** Tells whoever called how a run goes, and keeps count of what it uses. Wait for what it gives: a slow listener slows the run. */
export class Teller {
  readonly #ref: string;
  readonly #state: RunState;
  readonly #context: CallContext;

  constructor(ref: string, state: RunState, context: CallContext) {
    this.#ref = ref;
    this.#state = state;
    this.#context = context;
  }

  /** Somebody wants to hear the answer before it is whole. */
  get isHeard(): boolean {
    return this.#context.isHeard;
  }

  tell<T extends AgentEventType>(type: T, fields: AgentEventMap[T]): Awaitable<void> {
    const { id: run } = this.#state;
    return this.#context.tell({ type, run, ref: this.#ref, depth: this.#context.depth, ...fields } as never);
  }

  used(usage: RunState["usage"]): Awaitable<void> {
    this.#state.usage = sum(this.#state.usage, usage);
    return this.tell("usage", { usage: this.#state.usage });
  }
}

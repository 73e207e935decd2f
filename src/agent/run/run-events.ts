import type { AgentEventMap, AgentEventType, TokenUsage } from "../../core/agent-event.ts";
import type { CallContext } from "../../core/item.ts";
import type { Awaitable } from "../../lib/promise.ts";
import type { RunState } from "./run-state.ts";
import { outerSpending } from "./spending.ts";
import { noUsage, sum } from "./usage.ts";

/** Tells whoever called how a run goes, and keeps count of what it uses. Wait for what it gives: a slow listener slows the run. */
export class RunEvents {
  readonly #ref: string;
  readonly #state: RunState;
  readonly #context: CallContext;
  /** Of the run around this one. */
  readonly outer = outerSpending();

  constructor(ref: string, state: RunState, context: CallContext) {
    this.#ref = ref;
    this.#state = state;
    this.#context = context;
  }

  /** Somebody wants to hear the answer before it is whole. */
  get isHeard(): boolean {
    return this.#context.hasListener;
  }

  emit<T extends AgentEventType>(type: T, fields: AgentEventMap[T]): Awaitable<void> {
    const { id: run } = this.#state;
    return this.#context.emit({ type, run, ref: this.#ref, depth: this.#context.depth, ...fields } as never);
  }

  /** Something was used: the run around this one has used it too. */
  async used(usage: TokenUsage): Promise<void> {
    this.#state.usage = sum(this.#state.usage, usage);
    await this.emit("usage", { usage: this.#state.usage });
    await this.outer?.spend(this.#state.id, usage);
  }

  /** A run inside has used something. */
  usedInside(run: string, usage: TokenUsage): Promise<void> {
    const { inner } = this.#state;
    inner[run] = sum(inner[run] ?? noUsage, usage);
    return this.used(usage);
  }
}

import { AsyncLocalStorage } from "node:async_hooks";
import type { AgentEventMap, AgentEventType, TokenUsage } from "../../core/agent-event.ts";
import type { CallContext } from "../../core/item.ts";
import type { Awaitable } from "../../lib/promise.ts";
import type { StreamListener } from "../model/ask-model.ts";
import { noUsage, type RunState, sum } from "./run-state.ts";

/** The budget of a run, which the runs inside it share. */
export interface Spending {
  /** Adds the usage of a run inside. */
  spend(run: string, usage: TokenUsage): Awaitable<void>;
  /** @throws ToolkitError `LIMIT_EXCEEDED` where nothing is left for a further step */
  assertLeft(): void;
}

// A sub-agent is called like any tool, and a call carries nothing of an agent.
const outerSpending = new AsyncLocalStorage<Spending>();

/** Runs an action whose runs share this budget. */
export function withSpending<T>(spending: Spending, action: () => Promise<T>): Promise<T> {
  return outerSpending.run(spending, action);
}

/** Emits the events of a run to its caller, and sums up its usage. Await the results: a slow listener slows the run. */
export class RunEvents {
  /** Of the prompt. */
  readonly ref: string;
  readonly #state: RunState;
  readonly #context: CallContext;
  /** The budget of the run around this one. */
  readonly outer = outerSpending.getStore();

  constructor(ref: string, state: RunState, context: CallContext) {
    this.ref = ref;
    this.#state = state;
    this.#context = context;
  }

  /** Emits the deltas of the answer of a step. Undefined where the caller does not listen. */
  deltasOf(step: number): StreamListener | undefined {
    if (!this.#context.hasListener) return undefined;
    return {
      text: (delta) => this.emit("textDelta", { step, delta }),
      reasoning: (delta) => this.emit("reasoningDelta", { step, delta }),
    };
  }

  emit<T extends AgentEventType>(type: T, fields: AgentEventMap[T]): Awaitable<void> {
    const { id: run } = this.#state;
    return this.#context.emit({ type, run, ref: this.ref, depth: this.#context.depth, ...fields } as never);
  }

  /** Adds usage, also to the run around this one. */
  async used(usage: TokenUsage): Promise<void> {
    this.#state.usage = sum(this.#state.usage, usage);
    await this.emit("usage", { usage: this.#state.usage });
    await this.outer?.spend(this.#state.id, usage);
  }

  /** Adds the usage of a run inside. */
  usedInside(run: string, usage: TokenUsage): Promise<void> {
    const { inner } = this.#state;
    inner[run] = sum(inner[run] ?? noUsage, usage);
    return this.used(usage);
  }
}

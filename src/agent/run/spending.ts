import { AsyncLocalStorage } from "node:async_hooks";
import type { TokenUsage } from "../../core/agent-event.ts";
import type { Awaitable } from "../../lib/promise.ts";

/** What a run spends, as the runs inside it see it. */
export interface Spending {
  /** Adds what a run inside used. */
  spend(run: string, usage: TokenUsage): Awaitable<void>;
  /** @throws ToolkitError `LIMIT_EXCEEDED` where nothing is left for a further step */
  assertLeft(): void;
}

// A sub-agent is called as any tool is, and nothing of an agent goes along with a call.
const around = new AsyncLocalStorage<Spending>();

/** That of the run around this one. */
export function outerSpending(): Spending | undefined {
  return around.getStore();
}

/** Does something whose runs spend what this one has. */
export function spendingFrom<T>(spending: Spending, act: () => Promise<T>): Promise<T> {
  return around.run(spending, act);
}

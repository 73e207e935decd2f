import { table } from "../../script/support/table.ts";
import type { Breach } from "./breaches.ts";
import { digestOf } from "./plan.ts";
import type { SoakResult } from "./soak.ts";

const ms = (durationMs: number): string => `${durationMs < 10 ? durationMs.toFixed(1) : Math.round(durationMs)} ms`;

/** All there is to say of a soak, for a person. */
export function reportOf({ traffic, recoveries, bystander, losses, handles, processes }: SoakResult): string {
  const failures = [...traffic.failures].sort(([, a], [, b]) => b - a).map(([code, count]) => [code, String(count)]);
  const { calls, lists } = bystander;
  const { untroubled, aborts } = traffic;
  return [
    table(["trouble", "times", "noticed (ms)", "worst", "healed (ms)", "worst"], recoveries.rows, {
      right: ["times", "noticed (ms)", "worst", "healed (ms)"],
    }),
    table(["calls that failed as they may", "times"], failures, { right: ["times"] }),
    `${losses} connections were lost and came back; ${processes} processes were started by connectors.`,
    `A builtin call took ${ms(calls.at(0.5))}, p99 ${ms(calls.at(0.99))}, worst ${ms(calls.worstMs)}; list and lookup p99 ${ms(lists.at(0.99))}.`,
    `A call of a server without trouble took ${ms(untroubled.at(0.5))}, p99 ${ms(untroubled.at(0.99))}; an abort rejected within ${ms(aborts.at(0.99))} (p99), worst ${ms(aborts.worstMs)}.`,
    `Open handles at the end: ${handles.length === 0 ? "none" : handles.join(", ")}.`,
  ].join("\n\n");
}

/** The same in a line. */
export function summaryOf(seed: string, result: SoakResult, breaches: readonly Breach[]): string {
  const { plan, traffic, recoveries, heapStart, heapEnd, stalls } = result;
  const failed = [...traffic.failures.values()].reduce((sum, count) => sum + count, 0);
  return [
    `soak ${breaches.length === 0 ? "ok" : `BROKEN (${breaches.length})`}: seed ${seed} (${digestOf(plan)})`,
    `${traffic.calls} calls, ${failed} failed as they may`,
    `${recoveries.healed.count} of ${plan.length} troubles healed, noticed within ${ms(recoveries.noticed.worstMs)}`,
    `healed within ${ms(recoveries.healed.worstMs)} (${recoveries.worst})`,
    `heap ${heapStart.toFixed(1)} -> ${heapEnd.toFixed(1)} MB`,
    stalls,
  ].join(", ");
}

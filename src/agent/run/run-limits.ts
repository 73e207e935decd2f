import { ToolkitError } from "../../core/error.ts";
import type { Issue } from "../../core/error-catalog.ts";
import { describeIssues } from "../../core/schema/violation.ts";
import type { KnownLimits } from "../agent-options.ts";
import type { RunState } from "./run-state.ts";

/** Limit of the last text of a model in an error, in characters. */
const maxText = 2_000;

/** The error of a run with too many steps, with the last text and the number of tool calls. */
export function stepLimit(maxSteps: number, text: string, { calls }: RunState): ToolkitError<"STEP_LIMIT"> {
  const toolCalls = calls.length;
  const message = `The run was ended after ${maxSteps} steps without an answer; it made ${toolCalls} tool calls. Raise maxSteps, or ask for less at once.`;
  return new ToolkitError("STEP_LIMIT", message, {
    maxSteps,
    reached: { text: text.slice(0, maxText), toolCalls },
  });
}

/**
 * Refuses a further step once the budget is spent.
 *
 * @throws ToolkitError `LIMIT_EXCEEDED`
 */
export function assertBudgetLeft({ usage }: RunState, { maxTokens, maxCost }: KnownLimits): void {
  const tokens = usage.inputTokens + usage.outputTokens;
  const spent = [
    ["maxTokens", tokens, maxTokens, "tokens were used"],
    ["maxCost", usage.cost ?? 0, maxCost, "were spent on models"],
  ] as const;
  for (const [limit, actual, max, what] of spent) {
    if (actual < max) continue;
    const message = `The run was ended before its answer: ${actual} ${what}, and ${limit} is ${max}.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit, max, actual });
  }
}

/** The error of an answer that does not fit after all repairs. */
export function invalidAnswer(issues: readonly Issue[], repairs: number): ToolkitError<"INVALID_OUTPUT"> {
  const asked =
    repairs === 0 ? "" : `, though the model was asked again ${repairs === 1 ? "once" : `${repairs} times`}`;
  const message = `The answer of the model does not fit the output schema${asked}: ${describeIssues(issues)}.`;
  return new ToolkitError("INVALID_OUTPUT", message, { issues });
}

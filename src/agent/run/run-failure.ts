import { ToolkitError } from "../../core/error.ts";
import type { Issue } from "../../core/error-catalog.ts";
import { describeIssues } from "../../core/schema/violation.ts";
import type { KnownLimits } from "../agent-options.ts";
import type { ChosenModel } from "../model/models.ts";
import { type Reply, textIn } from "./reply.ts";
import type { RunState } from "./run-state.ts";

/** Text that is shown of what a model wrote last, in characters. */
const shownLength = 2_000;

/** The error of a run that took too many steps, with what was reached. */
export function stepLimit(maxSteps: number, text: string, { calls }: RunState): ToolkitError<"STEP_LIMIT"> {
  const toolCalls = calls.length;
  const message = `The run was ended after ${maxSteps} steps without an answer; it made ${toolCalls} tool calls. Raise maxSteps, or ask for less at once.`;
  return new ToolkitError("STEP_LIMIT", message, {
    maxSteps,
    reached: { text: text.slice(0, shownLength), toolCalls },
  });
}

/**
 * Refuses a further step beyond what may be spent.
 *
 * @throws ToolkitError `LIMIT_EXCEEDED`
 */
export function assertBudget({ usage }: RunState, { maxTokens, maxCost }: KnownLimits): void {
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

/** The error of an answer that does not fit, after every repair. */
export function invalidAnswer(issues: readonly Issue[], repairs: number): ToolkitError<"INVALID_OUTPUT"> {
  const asked =
    repairs === 0 ? "" : `, though the model was asked again ${repairs === 1 ? "once" : `${repairs} times`}`;
  const message = `The answer of the model does not fit the output schema${asked}: ${describeIssues(issues)}.`;
  return new ToolkitError("INVALID_OUTPUT", message, { issues });
}

/**
 * Refuses a reply that is none.
 *
 * @throws ToolkitError `MODEL_FAILED`
 */
export function assertAnswered(reply: Reply, { provider, modelId: model }: ChosenModel): void {
  const why = unanswered[reply.finishReason];
  if (why === undefined) return;
  const said = textIn(reply).trim();
  const quote = said === "" ? "" : ` It said: ${JSON.stringify(said.slice(0, shownLength))}`;
  throw new ToolkitError("MODEL_FAILED", `The model ${provider}/${model} gave no answer: ${why}.${quote}`, {
    provider,
    model,
  });
}

const unanswered: { readonly [R in Reply["finishReason"]]?: string } = {
  "content-filter": "its provider, or the model itself, refused (content-filter)",
  error: "it stopped because of an error",
  interrupted: "its answer ended in the middle",
};

import { ToolkitError } from "../core/error.ts";
import { retryAfterMs } from "../core/retry-after.ts";
import { backoffDelay } from "../lib/backoff.ts";
import { unlimited } from "../lib/deadline.ts";
import type { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import type { RetryBudget } from "../lib/retry-budget.ts";
import { AttemptState } from "./attempt-state.ts";
import type { CallState } from "./call-state.ts";
import type { SettingsRules } from "./settings-rules.ts";
import { type ActionResult, described, type Next, type Step, type StepCall, type Target } from "./step.ts";

/** The parts of retries. */
export interface RetryOptions {
  readonly deadlines: DeadlineScheduler;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  /** The longest time without a sign of life: a server that says when it will be back is waited for no longer than that. */
  readonly timeoutMs: number;
  /** Shared by all calls. */
  readonly budget: RetryBudget;
  readonly settings: SettingsRules;
}

interface RetryPlan extends Readonly<Record<"attempts" | "baseMs" | "maxMs", number>> {
  /** To run it twice does no more than to run it once. */
  readonly isSafe: boolean;
  readonly patienceMs: number;
}

const defaults = { attempts: 4, baseMs: 100, maxMs: 2_000 };
// It takes up to 100 ms until a session that is lost is known to be: sooner, the same one would refuse again.
const settleMs = 100;

/**
 * Repeats an attempt that came to nothing, where that is safe and the budget of all calls allows it: one that surely did not run, whatever
 * the tool; one that may have run, where the tool is marked read-only or idempotent, or its own setting says so. Waiting for a connection
 * is a part of the next attempt itself.
 */
export function retryAttempt(options: RetryOptions): Step {
  return described(
    (target) => ({ ...planFor(target, options) }),
    (target, next) => {
      const plan = planFor(target, options);
      if (plan === undefined) return next;
      const { budget } = options;
      return (call) => {
        budget.deposit();
        const failed = (error: unknown) => again({ plan, call, next, options }, error, error, 1);
        try {
          const answer = next(attempt(call, plan));
          return answer instanceof Promise ? answer.catch(failed) : answer;
        } catch (error) {
          return failed(error);
        }
      };
    },
  );
}

function planFor({ entry, definition, settings }: Target, options: RetryOptions): RetryPlan | undefined {
  const { retry } = settings;
  const { kind, origin, annotations } = definition;
  const isLocal = origin === "local";
  if (retry === false || retry?.attempts === 1 || (isLocal && retry === undefined)) return undefined;
  const isNamed = options.settings.rulesFor(entry).some((rule) => rule.pattern === entry.ref && rule.settings.retry);
  const own = definition.options?.retry;
  const ownSaysSo = own !== undefined && (own === false || own.onlyUnsent !== true);
  const saysSo = isLocal && (ownSaysSo || isNamed);
  // To read and to render changes nothing.
  const isMarked = kind !== "tool" || annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  return {
    attempts: retry?.attempts ?? defaults.attempts,
    baseMs: retry?.baseMs ?? defaults.baseMs,
    maxMs: retry?.maxMs ?? defaults.maxMs,
    isSafe: retry?.onlyUnsent !== true && (saysSo || isMarked),
    patienceMs: settings.timeoutMs ?? options.timeoutMs,
  };
}

/** An attempt that is not safe has the call's own state: it is not repeated after a limit of time, which ends the call as well. */
function attempt(call: StepCall, { isSafe }: RetryPlan): StepCall {
  return isSafe ? call.on(new AttemptState(call.state)) : call;
}

interface Repeating {
  readonly plan: RetryPlan;
  readonly call: StepCall;
  readonly next: Next;
  readonly options: RetryOptions;
}

/**
 * Repeats it after an error.
 *
 * @param known - the error to give in the end: that of an attempt that may have run, whatever becomes of later ones that surely did not
 */
async function again(repeating: Repeating, error: unknown, known: unknown, attempts: number): Promise<ActionResult> {
  const { plan, call, next, options } = repeating;
  const { state } = call;
  const delayMs = attempts < plan.attempts ? delayBefore(repeating, error, attempts) : undefined;
  if (delayMs === undefined || !(isPaced(error) || options.budget.withdraw())) throw known;
  await pause(delayMs, state, options.deadlines);
  state.attempts = attempts + 1;
  try {
    return await next(attempt(call, plan));
  } catch (failed) {
    const kept = surelyDidNotRun(failed) && !surelyDidNotRun(known) ? known : failed;
    return again(repeating, failed, kept, attempts + 1);
  }
}

/** Undefined where it is not safe to repeat, or would be in vain. */
function delayBefore(
  { plan, call, options: { random } }: Repeating,
  error: unknown,
  attempts: number,
): number | undefined {
  if (!surelyDidNotRun(error) && !(plan.isSafe && mayHaveRun(error))) return undefined;
  const delayMs = Math.max(retryAfterMs(error), settleMs + backoffDelay(attempts, { ...plan, random }));
  return delayMs < (call.state.options.timeoutMs ?? plan.patienceMs) ? delayMs : undefined;
}

/** It was refused before anything ran. One that waited for its connection, or was refused by a limit of ours, would be so again. */
function surelyDidNotRun(error: unknown): boolean {
  return (ToolkitError.is(error, "UNAVAILABLE") || ToolkitError.is(error, "RATE_LIMITED")) && error.phase === "execute";
}

function mayHaveRun(error: unknown): boolean {
  if (ToolkitError.is(error, "TIMEOUT")) return error.details.limit !== "call";
  return ToolkitError.is(error, "OUTCOME_UNKNOWN");
}

/**
 * A connection that ended takes all its calls with it, and the next one is as far off as its own backoff says: that holds back the calls
 * that come with it, and a request that was never sent is no load.
 */
function isPaced(error: unknown): boolean {
  const lost = ToolkitError.is(error, "UNAVAILABLE") || ToolkitError.is(error, "OUTCOME_UNKNOWN");
  return lost && error.details.connectionLost === true;
}

/** Lets time pass, unless the call is ended. */
async function pause(delayMs: number, state: CallState, deadlines: DeadlineScheduler): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = deadlines.clock.setTimer(over.resolve, delayMs);
  timer.keepAlive(true);
  try {
    await deadlines.wait(over.promise, state, unlimited);
  } finally {
    timer.cancel();
  }
}

import type { CallSettings, RetrySetting } from "../core/call-settings.ts";
import type { Definition } from "../core/definition.ts";
import { ToolkitError } from "../core/error.ts";
import { retryAfterMs } from "../core/retry-after.ts";
import { backoffDelay } from "../lib/backoff.ts";
import { type DeadlineScheduler, unlimited } from "../lib/deadline-scheduler.ts";
import type { MaybePromise } from "../lib/promise.ts";
import type { RetryBudget } from "../lib/retry-budget.ts";
import { AttemptState } from "./attempt-state.ts";
import type { CallState } from "./call-state.ts";
import type { SettingsRules } from "./settings-rules.ts";
import { described, type Step, type Target } from "./step.ts";

/** What repeating goes by. */
export interface RetryOptions {
  readonly room: DeadlineScheduler;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  /** How long a tool may show no sign of life: nobody waits longer for a server that says when it will be back. */
  readonly timeoutMs: number;
  /** What all calls share. */
  readonly budget: RetryBudget;
  readonly settings: SettingsRules;
}

/** How one target is repeated. */
export interface RetryPlan extends Required<{ readonly [F in keyof RetrySetting]: number }> {
  /** To run it twice does no more than to run it once. */
  readonly isSafe: boolean;
  readonly patienceMs: number;
}

const defaults = { attempts: 4, baseMs: 100, maxMs: 2_000 };
// A session that is lost takes up to 100 ms to be known as such: sooner, the same one would refuse again.
const settleMs = 100;

/**
 * Repeats an attempt that came to nothing, where that is safe and the budget of all calls allows it: what surely was not run, whatever
 * the tool; what may have been run, where the tool is marked read-only or idempotent, or its own setting says so. What waits for a
 * connection is the next attempt itself.
 */
export function retry(options: RetryOptions): Step {
  const step: Step = (target, next) => {
    const plan = planFor(target, options);
    if (plan === undefined) return next;
    return (call) => repeated(plan, call.state, (state) => next(call.on(state)), options);
  };
  return described((target) => ({ ...planFor(target, options) }), step);
}

function planFor({ entry, definition, settings }: Target, options: RetryOptions): RetryPlan | undefined {
  const { retry: given } = settings;
  if (definition.origin === "local" && given === undefined) return undefined;
  const named = options.settings.rulesFor(entry).some((rule) => rule.pattern === entry.ref && rule.settings.retry);
  const saysSo = definition.origin === "local" && (definition.options?.retry !== undefined || named);
  return retryPlan(definition, settings, options, saysSo);
}

/** How something is repeated; undefined where it is not. */
export function retryPlan(
  definition: Definition,
  settings: CallSettings,
  { timeoutMs }: RetryOptions,
  saysSo = false,
): RetryPlan | undefined {
  const { retry: given = {} } = settings;
  if (given === false || given.attempts === 1) return undefined;
  const { kind, annotations } = definition;
  // To read and to render changes nothing.
  const isMarked = kind !== "tool" || annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  return {
    attempts: given.attempts ?? defaults.attempts,
    baseMs: given.baseMs ?? defaults.baseMs,
    maxMs: given.maxMs ?? defaults.maxMs,
    isSafe: saysSo || isMarked,
    patienceMs: settings.timeoutMs ?? timeoutMs,
  };
}

/** The same for what is no step. An attempt that may be followed by another has a state of its own. */
export function repeated<R>(
  plan: RetryPlan,
  state: CallState,
  attempt: (state: CallState) => MaybePromise<R>,
  options: RetryOptions,
): MaybePromise<R> {
  options.budget.deposit();
  let answer: MaybePromise<R>;
  try {
    answer = attempt(attemptState(plan, state));
  } catch (error) {
    return again({ plan, state, attempt, options }, error, error, 1);
  }
  // What is needed to repeat it is made only where it fails: this is the way of every remote call.
  return answer instanceof Promise
    ? answer.catch((error) => again({ plan, state, attempt, options }, error, error, 1))
    : answer;
}

/** What is not safe is not repeated after a limit of time: it ends the call as well. */
function attemptState({ isSafe }: RetryPlan, state: CallState): CallState {
  return isSafe ? new AttemptState(state) : state;
}

/** What is repeated. */
interface Repeating<R> {
  readonly plan: RetryPlan;
  readonly state: CallState;
  readonly attempt: (state: CallState) => MaybePromise<R>;
  readonly options: RetryOptions;
}

/** An attempt that may have run stays the news, whatever becomes of those after it that surely did not. */
async function again<R>(repeating: Repeating<R>, error: unknown, news: unknown, retries: number): Promise<R> {
  const { plan, state, attempt, options } = repeating;
  const delayMs = retries < plan.attempts ? delayBefore(repeating, error, retries) : undefined;
  if (delayMs === undefined || !(isPaced(error) || options.budget.withdraw())) throw news;
  await pause(delayMs, state, options.room);
  state.attempts = retries + 1;
  try {
    return await attempt(attemptState(plan, state));
  } catch (failed) {
    const kept = surelyDidNotRun(failed) && !surelyDidNotRun(news) ? news : failed;
    return again(repeating, failed, kept, retries + 1);
  }
}

/** Undefined where it is not safe to repeat, or would be in vain. */
function delayBefore<R>(
  { plan, state, options: { random } }: Repeating<R>,
  error: unknown,
  retries: number,
): number | undefined {
  if (!surelyDidNotRun(error) && !(plan.isSafe && mayHaveRun(error))) return undefined;
  const delayMs = Math.max(retryAfterMs(error), settleMs + backoffDelay(retries, { ...plan, random }));
  return delayMs < (state.options.timeoutMs ?? plan.patienceMs) ? delayMs : undefined;
}

/** It was refused before anything ran. What waited for its connection, or was refused by a limit of ours, would be so again. */
function surelyDidNotRun(error: unknown): boolean {
  return (ToolkitError.is(error, "UNAVAILABLE") || ToolkitError.is(error, "RATE_LIMITED")) && error.phase === "execute";
}

function mayHaveRun(error: unknown): boolean {
  if (ToolkitError.is(error, "TIMEOUT")) return error.details.limit !== "call";
  return ToolkitError.is(error, "OUTCOME_UNKNOWN");
}

/**
 * A connection that ended takes all its calls with it, and the next one is as far off as its own backoff says: that holds back what comes
 * with it, and what was never sent is no load.
 */
function isPaced(error: unknown): boolean {
  const lost = ToolkitError.is(error, "UNAVAILABLE") || ToolkitError.is(error, "OUTCOME_UNKNOWN");
  return lost && error.details.connectionLost === true;
}

/** Lets time pass, unless the call is ended. */
async function pause(delayMs: number, state: CallState, room: DeadlineScheduler): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = room.clock.setTimer(over.resolve, delayMs);
  timer.keepAlive(true);
  try {
    await room.wait(over.promise, state, unlimited);
  } finally {
    timer.cancel();
  }
}

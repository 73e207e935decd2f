import type { Definition } from "../core/definition.ts";
import { ToolkitError } from "../core/error.ts";
import { backoffDelay } from "../lib/backoff.ts";
import type { MaybePromise } from "../lib/promise.ts";
import type { WaitingRoom, WaitLimits } from "../lib/waiting-room.ts";
import type { CallState } from "./state.ts";
import type { Step } from "./step.ts";

/** What repeating goes by. */
export interface RetryOptions {
  readonly room: WaitingRoom;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  /** How long a tool may show no sign of life: nobody waits longer for a server that says when it will be back. */
  readonly timeoutMs: number;
}

/** So often an attempt is made again. */
const maxRetries = 3;
// A session that is lost takes up to 100 ms to be known as such: sooner, the same one would refuse again.
const settleMs = 100;
const backoff = { baseMs: 100, maxMs: 2_000 };
const unlimited: WaitLimits = { inactivityMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY };

/**
 * Repeats an attempt that came to nothing because the connection failed, where that is safe: it was surely not sent, or the tool is
 * marked read-only or idempotent. What waits for the connection is the next attempt itself.
 */
export function retry(options: RetryOptions): Step {
  return ({ definition, settings }, next) => {
    if (definition.origin !== "remote") return next;
    const patient = { ...options, timeoutMs: settings.timeoutMs ?? options.timeoutMs };
    return (call) => repeated(definition, call.state, () => next(call), patient);
  };
}

/** The same for what is no step. */
export function repeated<R>(
  definition: Definition,
  state: CallState,
  attempt: () => MaybePromise<R>,
  options: RetryOptions,
): MaybePromise<R> {
  const answer = attempt();
  if (!(answer instanceof Promise)) return answer;
  return answer.catch((error) => again(error, error, 1));

  // An attempt that may have run stays the news, whatever becomes of those after it that surely did not.
  async function again(error: unknown, news: unknown, retries: number): Promise<R> {
    const delayMs = retries > maxRetries ? undefined : delayBefore(error, retries);
    if (delayMs === undefined) throw news;
    await pause(delayMs, state, options.room);
    try {
      return await attempt();
    } catch (failed) {
      const surelyNot = ToolkitError.is(failed, "UNAVAILABLE") && ToolkitError.is(news, "OUTCOME_UNKNOWN");
      return again(failed, surelyNot ? news : failed, retries + 1);
    }
  }

  /** Undefined where it is not safe to repeat, or would be in vain. */
  function delayBefore(error: unknown, retries: number): number | undefined {
    if (!isRepeatable(error, definition)) return undefined;
    const wantedMs = (ToolkitError.is(error, "UNAVAILABLE") ? error.details.retryInMs : undefined) ?? 0;
    const delayMs = Math.max(wantedMs, settleMs + backoffDelay(retries, { ...backoff, random: options.random }));
    const patienceMs = state.options.timeoutMs ?? options.timeoutMs;
    return delayMs < patienceMs ? delayMs : undefined;
  }
}

function isRepeatable(error: unknown, { annotations }: Definition): boolean {
  // What says "connect" has waited for a connection in vain, as long as the caller would.
  if (ToolkitError.is(error, "UNAVAILABLE")) return error.phase === "execute";
  if (!ToolkitError.is(error, "OUTCOME_UNKNOWN")) return false;
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

/** Lets time pass, unless the call is ended. */
async function pause(delayMs: number, state: CallState, room: WaitingRoom): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = room.clock.setTimer(over.resolve, delayMs);
  timer.keepAlive(true);
  try {
    await room.wait(over.promise, state, unlimited);
  } finally {
    timer.cancel();
  }
}

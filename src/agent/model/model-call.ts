import type { LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { backoffDelay, pause } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { RetryBudget } from "../../lib/retry-budget.ts";
import { modelFailed, type ProviderFault, toProviderFault } from "./model-failure.ts";
import type { ChosenModel } from "./models.ts";
import { IncompleteAnswer, openAnswer, type PartReader } from "./part-reader.ts";
import { type ModelQuestion, withoutQuirks } from "./provider-quirks.ts";
import { Watchdog } from "./watchdog.ts";

export type { ModelQuestion } from "./provider-quirks.ts";

/** The limits and the retries of a call of a model. */
export interface ModelCall {
  /** Aborts the call at once, with its own reason. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  /** Shared by all calls of models. */
  readonly budget: RetryBudget;
  /** Attempts in all. */
  readonly modelAttempts: number;
  /** Limit of the time without a byte of the model, in milliseconds. */
  readonly modelTimeoutMs: number;
  /** The longest wait that a provider may ask for before a retry, in milliseconds. */
  readonly maxRetryWaitMs: number;
  /** Called before each wait. */
  readonly onRetry?: ((retry: ModelRetry) => void) | undefined;
}

/** A retry of a call of a model. */
export interface ModelRetry {
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly waitMs: number;
  readonly status: number | undefined;
}

const backoff = { baseMs: 500, maxMs: 10_000 };
/** Limit for the rest of a stream after its finish: reading it lets the connection be used again. */
const drainMs = 250;

/**
 * Asks a model. A provider that is overloaded, limits its rate or is not reached is asked again, after the wait it asks for or one that
 * doubles.
 *
 * @throws ToolkitError `MODEL_FAILED`, without the request and without keys; `UNAUTHORIZED` where there is no key; the reason of an abort
 */
export function generate(
  chosen: ChosenModel,
  question: ModelQuestion,
  call: ModelCall,
): Promise<LanguageModelV4GenerateResult> {
  const asked = withoutQuirks(chosen.model, question);
  return retried(chosen, call, async (watchdog) => {
    const result = await watchdog.wait(chosen.model.doGenerate({ ...asked, abortSignal: watchdog.signal }));
    if (result.finishReason.unified === "interrupted") throw new IncompleteAnswer();
    watchdog.release();
    return result;
  });
}

/**
 * Asks a model for a stream of parts, in the form of the port. It retries, as `generate` does, until the first part of the answer; a
 * failure after that ends the stream. Reading slowly slows the model down; ceasing to read ends the request.
 *
 * @throws as `generate`; also where the stream ends without a finish, or contains an error
 */
export async function* stream(
  chosen: ChosenModel,
  question: ModelQuestion,
  call: ModelCall,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const asked = withoutQuirks(chosen.model, question);
  const { head, rest, watchdog } = await retried(chosen, call, (each) => open(chosen, asked, each));
  let isOver = false;
  try {
    for (const part of head) yield part;
    isOver = yield* rest;
  } catch (error) {
    throw await asFailure(chosen, error, call);
  } finally {
    await rest.return(false);
    if (isOver) watchdog.release();
    else watchdog.end();
  }
}

/** A stream, with the parts read so far. */
interface OpenStream {
  readonly head: readonly LanguageModelV4StreamPart[];
  readonly rest: AsyncGenerator<LanguageModelV4StreamPart, boolean>;
  readonly watchdog: Watchdog;
}

async function open(chosen: ChosenModel, question: ModelQuestion, watchdog: Watchdog): Promise<OpenStream> {
  const reader = await watchdog.wait(openAnswer(chosen.model, { ...question, abortSignal: watchdog.signal }));
  const rest = read(reader, watchdog);
  const head: LanguageModelV4StreamPart[] = [];
  for (;;) {
    const next = await rest.next();
    if (next.done === true) break;
    // However long a server only says that it lives.
    if (next.value.type !== "ping") head.push(next.value);
    if (!isPreamble(next.value)) break;
  }
  return { head, rest, watchdog };
}

/** True for parts that providers send before the model answers. */
function isPreamble({ type }: LanguageModelV4StreamPart): boolean {
  return type === "stream-start" || type === "response-metadata" || type === "ping" || type === "raw";
}

/** The parts, up to the finish. It returns true where the stream has ended after that. */
async function* read(reader: PartReader, watchdog: Watchdog): AsyncGenerator<LanguageModelV4StreamPart, boolean> {
  try {
    for (;;) {
      const parts = await watchdog.wait(reader.read());
      if (parts === undefined) throw new IncompleteAnswer();
      for (const part of parts) {
        if (part.type === "error") throw part.error;
        if (part.type === "finish" && part.finishReason.unified === "interrupted") throw new IncompleteAnswer();
        yield part;
        if (part.type !== "finish") continue;
        let isDrained = false;
        const draining = drained(reader).then(() => {
          isDrained = true;
        });
        await watchdog.atMost(draining, drainMs);
        return isDrained;
      }
    }
  } finally {
    reader.cancel();
  }
}

/** Reads to the end. It never rejects: the answer is complete. */
async function drained(reader: PartReader): Promise<void> {
  try {
    while ((await reader.read()) !== undefined);
  } catch {}
}

async function retried<R>(
  chosen: ChosenModel,
  call: ModelCall,
  attempt: (watchdog: Watchdog) => Promise<R>,
): Promise<R> {
  const { signal, clock, modelTimeoutMs: limitMs, budget } = call;
  budget.deposit();
  for (let attempts = 1; ; attempts++) {
    signal.throwIfAborted();
    const watchdog = new Watchdog({ signal, clock, limitMs });
    try {
      return await attempt(watchdog);
    } catch (error) {
      watchdog.end();
      signal.throwIfAborted();
      const fault = toProviderFault(error, clock.now());
      const { waitMs, why } = nextWait(fault, attempts, call);
      if (waitMs === undefined) throw await modelFailed(chosen, error, fault, why);
      call.onRetry?.({ attempt: attempts, waitMs, status: fault.status });
      await pause(waitMs, call);
    }
  }
}

/** The wait before the next attempt, or the reason why there is none. */
function nextWait(
  { isTransient, retryAfterMs }: ProviderFault,
  attempts: number,
  { modelAttempts, maxRetryWaitMs, budget, random }: ModelCall,
): { readonly waitMs?: number; readonly why?: string } {
  if (!isTransient) return {};
  if (retryAfterMs !== undefined && retryAfterMs > maxRetryWaitMs) {
    const seconds = `${Math.ceil(retryAfterMs / 1_000)} s`;
    return { why: `It asks for a wait of ${seconds}, longer than the ${maxRetryWaitMs} ms of maxRetryWaitMs.` };
  }
  if (attempts >= modelAttempts) return { why: `It was tried ${attempts === 1 ? "once" : `${attempts} times`}.` };
  // A retry at the time that the provider names adds no load it does not expect, so it costs no budget.
  if (retryAfterMs === undefined && !budget.withdraw()) {
    return { why: "It was not tried again: too many calls of models fail at once." };
  }
  return { waitMs: Math.max(retryAfterMs ?? 0, backoffDelay(attempts, { ...backoff, random })) };
}

async function asFailure(chosen: ChosenModel, error: unknown, { signal, clock }: ModelCall): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  return modelFailed(chosen, error, toProviderFault(error, clock.now()));
}

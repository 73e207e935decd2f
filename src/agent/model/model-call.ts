import type { LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { backoffDelay, pause } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { RetryBudget } from "../../lib/retry-budget.ts";
import { CutShort, modelFailed, type ProviderFault, readFault } from "./model-failure.ts";
import { Watch } from "./model-watch.ts";
import type { ChosenModel } from "./models.ts";
import { type ModelQuestion, withoutQuirks } from "./provider-quirks.ts";

export type { ModelQuestion } from "./provider-quirks.ts";

/** How a model is called, and how patiently. */
export interface ModelCall {
  /** Ends the call at once, with its own reason. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  /** What all calls of models share. */
  readonly budget: RetryBudget;
  /** How often it is tried in all. */
  readonly modelAttempts: number;
  /** How long the model may show no sign of life, in milliseconds. */
  readonly modelTimeoutMs: number;
  /** The longest wait a provider may ask for before it is tried again, in milliseconds. */
  readonly maxRetryWaitMs: number;
  /** Told before each wait. */
  readonly onRetry?: ((retry: ModelRetry) => void) | undefined;
}

/** Why a model is called again, and when. */
export interface ModelRetry {
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly waitMs: number;
  readonly status: number | undefined;
}

const backoff = { baseMs: 500, maxMs: 10_000 };
/** What comes after the end of an answer is waited for, so that its connection can be used again; but not for long. */
const goodbyeMs = 250;

/**
 * Asks a model. What is overloaded, limits its rate or is not reached is asked again, after the wait the provider names or one that
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
  return retried(chosen, call, async (watch) => {
    const result = await watch.wait(chosen.model.doGenerate({ ...asked, abortSignal: watch.signal }));
    if (result.finishReason.unified === "interrupted") throw new CutShort();
    watch.end();
    return result;
  });
}

/**
 * Asks a model for a stream of parts, in its own form. It is asked again, as by `generate`, until something of the answer has come;
 * whatever goes wrong after that ends the stream. Reading slowly slows the model down; ceasing to read ends the request.
 *
 * @throws as `generate`; also where the stream ends without a finish, or has an error in it
 */
export async function* stream(
  chosen: ChosenModel,
  question: ModelQuestion,
  call: ModelCall,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const asked = withoutQuirks(chosen.model, question);
  const { head, rest, watch } = await retried(chosen, call, (each) => open(chosen, asked, each));
  try {
    yield* head;
    yield* rest;
  } catch (error) {
    throw await asFailure(chosen, error, call);
  } finally {
    await rest.return(undefined);
    watch.end();
  }
}

/** A stream of which something has come. */
interface Opened {
  readonly head: readonly LanguageModelV4StreamPart[];
  readonly rest: AsyncGenerator<LanguageModelV4StreamPart>;
  readonly watch: Watch;
}

async function open(chosen: ChosenModel, question: ModelQuestion, watch: Watch): Promise<Opened> {
  const { stream: parts } = await watch.wait(chosen.model.doStream({ ...question, abortSignal: watch.signal }));
  const rest = read(parts, watch);
  const head: LanguageModelV4StreamPart[] = [];
  for (;;) {
    const next = await rest.next();
    if (next.done === true) break;
    head.push(next.value);
    if (!isPreamble(next.value)) break;
  }
  return { head, rest, watch };
}

/** What providers send before the model has said anything. */
function isPreamble({ type }: LanguageModelV4StreamPart): boolean {
  return type === "stream-start" || type === "response-metadata" || type === "ping" || type === "raw";
}

/** The parts, up to the end of the answer. */
async function* read(
  parts: ReadableStream<LanguageModelV4StreamPart>,
  watch: Watch,
): AsyncGenerator<LanguageModelV4StreamPart, undefined> {
  const reader = parts.getReader();
  try {
    for (;;) {
      const { done, value: part } = await watch.wait(reader.read());
      if (done) throw new CutShort();
      if (part.type === "error") throw part.error;
      if (part.type === "finish" && part.finishReason.unified === "interrupted") throw new CutShort();
      yield part;
      if (part.type !== "finish") continue;
      await watch.atMost(drained(reader), goodbyeMs);
      return;
    }
  } finally {
    // One that has ended or failed takes no notice.
    reader.cancel().catch(() => undefined);
  }
}

/** It never rejects: the answer is there. */
async function drained(reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {}
}

async function retried<R>(chosen: ChosenModel, call: ModelCall, attempt: (watch: Watch) => Promise<R>): Promise<R> {
  const { signal, clock, modelTimeoutMs: limitMs, budget } = call;
  budget.deposit();
  for (let attempts = 1; ; attempts++) {
    signal.throwIfAborted();
    const watch = new Watch({ signal, clock, limitMs });
    try {
      return await attempt(watch);
    } catch (error) {
      watch.end();
      signal.throwIfAborted();
      const fault = readFault(error, clock.now());
      const { waitMs, why } = nextWait(fault, attempts, call);
      if (waitMs === undefined) throw await modelFailed(chosen, error, fault, why);
      call.onRetry?.({ attempt: attempts, waitMs, status: fault.status });
      await pause(waitMs, call);
    }
  }
}

/** How long to wait before the next attempt, or why there is none. */
function nextWait(
  { mayPass, retryAfterMs }: ProviderFault,
  attempts: number,
  { modelAttempts, maxRetryWaitMs, budget, random }: ModelCall,
): { readonly waitMs?: number; readonly why?: string } {
  if (!mayPass) return {};
  if (retryAfterMs !== undefined && retryAfterMs > maxRetryWaitMs) {
    const asked = `${Math.ceil(retryAfterMs / 1_000)} s`;
    return { why: `It asks to be left alone for ${asked}, longer than the ${maxRetryWaitMs} ms of maxRetryWaitMs.` };
  }
  if (attempts >= modelAttempts) return { why: `It was tried ${attempts === 1 ? "once" : `${attempts} times`}.` };
  // Who comes back when he was told to is no storm.
  if (retryAfterMs === undefined && !budget.withdraw()) {
    return { why: "It was not tried again: too many calls of models fail at once." };
  }
  return { waitMs: Math.max(retryAfterMs ?? 0, backoffDelay(attempts, { ...backoff, random })) };
}

async function asFailure(chosen: ChosenModel, error: unknown, { signal, clock }: ModelCall): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  return modelFailed(chosen, error, readFault(error, clock.now()));
}

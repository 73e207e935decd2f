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
 * failure after that ends the stream. Reading slowly slows the model down.
 */
export function stream(chosen: ChosenModel, question: ModelQuestion, call: ModelCall): AnswerStream {
  return new AnswerStream(chosen, withoutQuirks(chosen.model, question), call);
}

/** The beginning of an answer, and its rest. */
interface OpenStream {
  readonly head: readonly LanguageModelV4StreamPart[];
  readonly reader: PartReader;
  readonly watchdog: Watchdog;
}

/** The parts of an answer. One read takes what one chunk of the network brought: an iterator of single parts costs several promises for each. */
export class AnswerStream {
  readonly #chosen: ChosenModel;
  readonly #question: ModelQuestion;
  readonly #call: ModelCall;
  #open: OpenStream | undefined;
  /** Parts that were read, and not given yet. */
  #ready: readonly LanguageModelV4StreamPart[] | undefined;
  #isFinished = false;
  #isDrained = false;

  constructor(chosen: ChosenModel, question: ModelQuestion, call: ModelCall) {
    this.#chosen = chosen;
    this.#question = question;
    this.#call = call;
  }

  /**
   * The next parts, at least one; undefined after the finish.
   *
   * @throws as `generate`; also where the stream ends without a finish, or contains an error: after the parts before it
   */
  async read(): Promise<readonly LanguageModelV4StreamPart[] | undefined> {
    const { reader, watchdog } = this.#open ?? (await this.#begin());
    if (this.#isFinished) {
      await watchdog.atMost(this.#drain(reader), drainMs);
      return undefined;
    }
    try {
      const parts = this.#ready ?? (await watchdog.wait(reader.read()));
      this.#ready = undefined;
      return this.#checked(parts);
    } catch (error) {
      throw await asFailure(this.#chosen, error, this.#call);
    }
  }

  /** Ends the request, if it has not ended. To be called once, whatever happened. */
  end(): void {
    if (this.#open === undefined) return;
    const { reader, watchdog } = this.#open;
    reader.cancel();
    if (this.#isDrained) watchdog.release();
    else watchdog.end();
  }

  async #begin(): Promise<OpenStream> {
    const open = await retried(this.#chosen, this.#call, (each) => opened(this.#chosen, this.#question, each));
    this.#open = open;
    this.#ready = open.head;
    return open;
  }

  /** The parts up to the finish, or up to a failure, which is thrown the next time. */
  #checked(parts: readonly LanguageModelV4StreamPart[] | undefined): readonly LanguageModelV4StreamPart[] {
    if (parts === undefined) throw new IncompleteAnswer();
    const at = parts.findIndex((part) => part.type === "finish" || part.type === "error");
    const last = parts[at];
    if (last === undefined) return parts;
    const failure = failureIn(last);
    if (failure !== undefined && at === 0) throw failure.error;
    this.#isFinished = failure === undefined;
    if (failure !== undefined) this.#ready = parts.slice(at);
    return parts.slice(0, failure === undefined ? at + 1 : at);
  }

  async #drain(reader: PartReader): Promise<void> {
    await drained(reader);
    this.#isDrained = true;
  }
}

/** Reads the parts before the answer, and the beginning of that. */
async function opened(chosen: ChosenModel, question: ModelQuestion, watchdog: Watchdog): Promise<OpenStream> {
  const reader = await watchdog.wait(openAnswer(chosen.model, { ...question, abortSignal: watchdog.signal }));
  const head: LanguageModelV4StreamPart[] = [];
  try {
    for (;;) {
      const parts = await watchdog.wait(reader.read());
      if (parts === undefined) throw new IncompleteAnswer();
      for (const [at, part] of parts.entries()) {
        const failure = failureIn(part);
        if (failure !== undefined) throw failure.error;
        if (!isPreamble(part)) return { head: [...head, ...parts.slice(at)], reader, watchdog };
        // However long a server only says that it lives.
        if (part.type !== "ping") head.push(part);
      }
    }
  } catch (error) {
    reader.cancel();
    throw error;
  }
}

/** True for parts that providers send before the model answers. */
function isPreamble({ type }: LanguageModelV4StreamPart): boolean {
  return type === "stream-start" || type === "response-metadata" || type === "ping" || type === "raw";
}

function failureIn(part: LanguageModelV4StreamPart): { readonly error: unknown } | undefined {
  if (part.type === "error") return part;
  const isBroken = part.type === "finish" && part.finishReason.unified === "interrupted";
  return isBroken ? { error: new IncompleteAnswer() } : undefined;
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

import { callStateOf } from "../call/call-port.ts";
import { errorText } from "../call/trace/attributes.ts";
import { unharmed } from "../call/trace/trace.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { errorFromJson, errorToJson } from "../core/error-json.ts";
import type { CallContext } from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import type { ServedToolkit, SuspendedPrompt } from "../core/served-toolkit.ts";
import type { Clock } from "../lib/clock.ts";
import { loadOpenTelemetry } from "../lib/lazy-libraries.ts";
import { type CallingStep, stepCall } from "./step-call.ts";
import { endsRun, RunBroken, RunWaits, shownInput, stepFailed } from "./step-failure.ts";
import type { RunJournal, StepRecord } from "./step-record.ts";
import { resultOf } from "./step-result.ts";

/** The limits of what is kept of a run. */
export interface RunSizes {
  /** The most bytes of the result of one step, as JSON. */
  readonly maxResultBytes: number;
  /** The most bytes of the results of all steps. */
  readonly maxRunBytes: number;
}

/** The parts of the work of steps. */
export interface StepWorkOptions extends RunSizes {
  /** Of the workflow. */
  readonly ref: string;
  readonly context: CallContext;
  readonly journal: RunJournal;
  readonly clock: Clock;
  /** The calls and prompts that wait; undefined where the run cannot wait. */
  readonly served: Pick<ServedToolkit, "approvals" | "suspendedPrompt"> | undefined;
  isSecret(key: string): boolean;
}

/** A step that has something done outside of the workflow. */
export interface WorkingStep extends CallingStep {
  /** @throws Error of a reference */
  input(): unknown;
}

/** Makes the calls of steps, unless it is known already what they came to. */
export class StepWork {
  readonly #options: StepWorkOptions;

  constructor(options: StepWorkOptions) {
    this.#options = options;
  }

  /** Keeps a state that is for people alone. */
  note(path: string, state: "skipped"): void {
    const now = this.#now;
    void this.#options.journal.write(path, { state, startedAt: now, endedAt: now }, false);
  }

  /**
   * The result of a step.
   *
   * @throws ToolkitError `STEP_FAILED`; RunWaits; RunBroken; the reason of the step's signal
   */
  async do(path: string, step: WorkingStep): Promise<unknown> {
    const known = this.#options.journal.read(path);
    if (known?.state === "succeeded") return known.result ?? null;
    if (known?.state === "waiting") return this.#settle(path, known, step);
    if (known?.state === "failed" || known?.state === "cancelled") throw this.#error(path, known);
    if (known?.state === "running" && known.isRepeatable !== true) {
      const failed = {
        ...known,
        error: errorToJson(this.#unknown(path)),
        state: "failed",
        endedAt: this.#now,
      } as const;
      await this.#write(path, failed, true);
      throw this.#error(path, failed);
    }
    return this.#begin(path, step, known);
  }

  /** Runs a step in a span of its own, inside that of the workflow. */
  async observed<R>(path: string, run: () => Promise<R>): Promise<R> {
    const { ref, context } = this.#options;
    const trace = callStateOf(context)?.trace;
    const { tracer, recorder } = trace?.parts ?? {};
    if (trace === undefined || tracer === undefined) return run();
    const { context: contexts, SpanStatusCode, trace: spans } = loadOpenTelemetry();
    const outer = trace.context ?? contexts.active();
    const step = path.replaceAll(/\[\d+\]/g, "");
    const attributes = { "toolweave.workflow": ref, "toolweave.step": path };
    const span = tracer.startSpan(`workflow_step ${step}`, { attributes }, outer);
    try {
      return await contexts.with(spans.setSpan(outer, span), run);
    } catch (error) {
      unharmed(() => {
        const isWaiting = error instanceof RunWaits;
        span.setAttribute("error.type", isWaiting ? "PENDING" : ToolkitError.is(error) ? error.code : "_OTHER");
        if (!isWaiting)
          span.setStatus({ code: SpanStatusCode.ERROR, message: errorText(error, recorder !== undefined) });
      });
      throw error;
    } finally {
      unharmed(() => span.end());
    }
  }

  async #begin(path: string, step: WorkingStep, before: StepRecord | undefined): Promise<unknown> {
    const { context, isSecret } = this.#options;
    const { signal } = step;
    let record: StepRecord = { state: "running", startedAt: before?.startedAt ?? this.#now };
    try {
      const input = step.input();
      record = { ...record, input: shownInput(input, isSecret) };
      const { isRepeatable, make } = await stepCall(step, input, context);
      signal.throwIfAborted();
      if (isRepeatable) record = { ...record, isRepeatable };
      await this.#write(path, record, !isRepeatable);
      signal.throwIfAborted();
      return await this.#succeed(path, record, await make());
    } catch (error) {
      throw await this.#fail(path, record, { error, step });
    }
  }

  /** The outcome of a call that waited. */
  async #settle(path: string, record: StepRecord, step: WorkingStep): Promise<unknown> {
    const { served } = this.#options;
    const { approval: id = "", prompt } = record;
    const { signal } = step;
    if (served === undefined) throw new RunWaits();
    if (prompt !== undefined) return this.#goOn(path, record, step, await served.suspendedPrompt(prompt));
    try {
      const status = (await served.approvals.get(id)).status;
      if (status === "pending" || status === "running") throw new RunWaits();
      return await this.#succeed(path, record, await served.approvals.wait(id, { signal }));
    } catch (error) {
      const isForgotten = ToolkitError.is(error, "NOT_FOUND") && error.details.key === id;
      throw await this.#fail(path, record, { error: isForgotten ? this.#unknown(path) : error, step });
    }
  }

  /** The outcome of a prompt whose run waited. It is kept until it is in the journal, and the run is removed then. */
  async #goOn(path: string, record: StepRecord, step: WorkingStep, run: SuspendedPrompt | undefined): Promise<unknown> {
    const { ref, context, journal } = this.#options;
    const { signal } = step;
    const forget = () =>
      run?.forget(`the step ${path} of ${ref}, which waited for it, has ended`).catch(() => undefined);
    let result: unknown;
    try {
      if (run === undefined) throw this.#unknown(path);
      if (run.status !== "ready") throw new RunWaits();
      result = await this.#succeed(path, record, await run.resume({ toolbox: context.toolbox, signal }));
    } catch (error) {
      const isElsewhere = ToolkitError.is(error, "CONFLICT") && error.details.key === record.prompt;
      const failure = await this.#fail(path, record, { error: isElsewhere ? new RunWaits() : error, step });
      if (!endsRun(failure) && !journal.isOver) await forget();
      throw failure;
    }
    await forget();
    return result;
  }

  async #succeed(path: string, before: StepRecord, content: Content): Promise<unknown> {
    const result = await resultOf(content);
    this.#assertSize(path, result);
    const { expiresAt: _expiresAt, waitsFor: _waitsFor, ...record } = before;
    await this.#write(path, { ...record, state: "succeeded", result, endedAt: this.#now }, true);
    return result;
  }

  /** Keeps the failure of a step; gives the error to throw. */
  async #fail(
    path: string,
    before: StepRecord,
    { error, step }: { readonly error: unknown; readonly step: WorkingStep },
  ): Promise<unknown> {
    const { signal } = step;
    if (endsRun(error)) return error;
    if (this.#options.journal.isOver) return signal.aborted ? signal.reason : new RunBroken("The run has ended here.");
    const { expiresAt: _expiresAt, waitsFor: _waitsFor, ...record } = before;
    try {
      const wait = ToolkitError.is(error, "PENDING") ? await this.#waitFor(error.details, step) : undefined;
      if (wait !== undefined) {
        await this.#write(path, { ...record, state: "waiting", ...wait }, true);
        return new RunWaits();
      }
      const failure = stepFailed(error, { ref: this.#options.ref, step: path, input: record.input });
      const isCut = signal.aborted && error === signal.reason;
      const state = isCut && !ToolkitError.is(error, "TIMEOUT") ? "cancelled" : "failed";
      await this.#write(path, { ...record, state, error: causeToJson(error), endedAt: this.#now }, !isCut);
      return isCut ? error : failure;
    } catch (cause) {
      return cause instanceof RunBroken ? cause : new RunBroken(messageOf(cause), { cause });
    }
  }

  /** The thing that a call waits for, where it is known when that is settled; undefined where it is not. */
  async #waitFor(
    { id, expiresAt }: ToolkitError<"PENDING">["details"],
    { action }: WorkingStep,
  ): Promise<Pick<StepRecord, "approval" | "prompt" | "waitsFor" | "expiresAt"> | undefined> {
    const { served } = this.#options;
    if (served === undefined) return undefined;
    try {
      await served.approvals.get(id);
      return { approval: id, expiresAt };
    } catch (error) {
      if (!ToolkitError.is(error, "NOT_FOUND")) throw error;
    }
    // The outcome of a prompt that a tool executes is not that of the tool.
    const run = action.kind === "run" ? await served.suspendedPrompt(id) : undefined;
    if (run === undefined) return undefined;
    await run.keep();
    return { prompt: id, waitsFor: run.waitsFor, expiresAt };
  }

  /** The error of a step that ended before: the same as then. */
  #error(path: string, { error, input }: StepRecord): unknown {
    let cause: unknown;
    try {
      cause = errorFromJson(error);
    } catch {
      cause = this.#unknown(path);
    }
    return stepFailed(cause, { ref: this.#options.ref, step: path, input });
  }

  #unknown(path: string): ToolkitError<"OUTCOME_UNKNOWN"> {
    const { ref } = this.#options;
    const message = `It is not known whether the step ${path} of ${ref} was done: the process that did it is gone, and it is not safe to repeat. Check that before the workflow is run again.`;
    return new ToolkitError("OUTCOME_UNKNOWN", message, { namespace: ref.slice(0, ref.indexOf(".")) }, { ref });
  }

  /** @throws ToolkitError `LIMIT_EXCEEDED` */
  #assertSize(path: string, result: unknown): void {
    const { maxResultBytes, maxRunBytes, journal } = this.#options;
    const size = Buffer.byteLength(JSON.stringify(result));
    for (const [limit, max, actual] of [
      ["maxResultBytes", maxResultBytes, size],
      ["maxRunBytes", maxRunBytes, size + journal.bytes],
    ] as const) {
      if (actual <= max) continue;
      const message = `The result of the step ${path} has ${size} bytes: with it there are ${actual}, and ${limit} is ${max}.`;
      throw new ToolkitError("LIMIT_EXCEEDED", message, { limit, max, actual });
    }
  }

  async #write(path: string, record: StepRecord, isNeeded: boolean): Promise<void> {
    try {
      await this.#options.journal.write(path, record, isNeeded);
    } catch (cause) {
      // A result that no store takes is a failure of its step.
      if (ToolkitError.is(cause, "INVALID_INPUT") || ToolkitError.is(cause, "LIMIT_EXCEEDED")) throw cause;
      throw new RunBroken(`The state of the step ${path} could not be kept.`, { cause });
    }
  }

  get #now(): number {
    return Math.floor(this.#options.clock.now());
  }
}

/** The cause of a failure, for a record. */
function causeToJson(cause: unknown): unknown {
  return ToolkitError.is(cause) ? errorToJson(cause) : { code: "TOOL_FAILED", message: messageOf(cause), details: {} };
}

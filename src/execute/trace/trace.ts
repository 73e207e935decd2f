import {
  type Attributes,
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace as spans,
  type Tracer,
} from "@opentelemetry/api";
import { ToolkitError } from "../../core/error.ts";
import type { Entry } from "../../core/item.ts";
import type { CallOptions } from "../../core/session.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MaybePromise } from "../../lib/promise.ts";
import {
  errorText,
  isRemote,
  itemAttributes,
  metricAttributes,
  type Operation,
  type Outcome,
  operationOf,
  spanAttributes,
  spanName,
  type Verb,
} from "./attributes.ts";
import type { Instruments } from "./instruments.ts";
import { type Carrier, carry, contextIn } from "./propagation.ts";
import type { Recorder } from "./recorder.ts";

/** A call as its trace sees it. */
export interface TracedCall {
  readonly depth: number;
  readonly trace: Trace | undefined;
  readonly signal: AbortSignal;
  readonly attempts?: number;
  readonly cached?: boolean;
  readonly mends?: readonly unknown[];
}

/** What somebody wants done. */
export interface Wish {
  readonly verb: Verb;
  /** As the caller named it. */
  readonly key: string;
  readonly options: CallOptions;
  readonly parent: TracedCall | undefined;
  /** `_meta` of the call and of its session: what a far caller says of its own trace. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

/** Where a trace goes: a tracer, instruments, or both. */
export interface TraceParts {
  readonly tracer: Tracer | undefined;
  readonly instruments: Instruments | undefined;
  /** Undefined where content is not recorded. */
  readonly recorder: Recorder | undefined;
  readonly clock: Clock;
}

/**
 * One call, read or render as it is seen from outside: from before its lookup to its end, whatever that is. Its span begins when it is
 * known what is called, so that a sampler knows it too.
 */
export class Trace {
  readonly #parts: TraceParts;
  readonly #wish: Wish;
  readonly #beganAt: number;
  #entry: Entry | undefined;
  #call: TracedCall | undefined;
  #operation: Operation;
  #span: Span | undefined;
  #context: Context | undefined;

  constructor(parts: TraceParts, wish: Wish) {
    this.#parts = parts;
    this.#wish = wish;
    this.#beganAt = parts.clock.now();
    this.#operation = operationOf(wish.verb, undefined);
    parts.instruments?.active.add(1, { "toolweave.verb": wish.verb });
  }

  /** The id of its span, where that is recorded. */
  get id(): string | undefined {
    return this.#span?.isRecording() === true ? this.#span.spanContext().spanId : undefined;
  }

  /** What is active inside it, where it has a span. */
  get context(): Context | undefined {
    return this.#context;
  }

  /** It is known what is called. Runs that with its span active. */
  within<R>(entry: Entry, call: TracedCall, input: unknown, run: () => MaybePromise<R>): MaybePromise<R> {
    this.#entry = entry;
    this.#call = call;
    this.#begin();
    const { recorder } = this.#parts;
    if (recorder !== undefined && this.id !== undefined && input !== undefined)
      this.describe({ [this.#contentKey("arguments")]: recorder.record(input) });
    return this.#context === undefined ? run() : context.with(this.#context, run);
  }

  /** Ends with what it comes to. */
  follow<R>(result: MaybePromise<R>): void {
    if (result instanceof Promise) {
      result.then(
        (value) => this.succeed(value),
        (error) => this.fail(error),
      );
    } else this.succeed(result);
  }

  /** It has ended well. */
  succeed(result: unknown): void {
    const { recorder } = this.#parts;
    if (recorder !== undefined && this.id !== undefined)
      this.describe({ [this.#contentKey("result")]: recorder.record(result) });
    this.#end("ok");
  }

  /** It has ended with an error, or was aborted. */
  fail(error: unknown): void {
    if (this.#entry === undefined) this.#begin();
    const outcome = this.#outcomeOf(error);
    const aborted = outcome === "aborted";
    const message = aborted ? "Whoever called it ended it." : errorText(error, this.#parts.recorder !== undefined);
    this.#span?.setStatus({ code: SpanStatusCode.ERROR, message });
    this.#end(outcome);
  }

  /** Says more of it. */
  describe(attributes: Attributes): void {
    this.#span?.setAttributes(attributes);
  }

  /** Puts into a carrier, such as headers, by which the far side knows whose part it is. */
  inject<C extends Carrier>(carrier: C): C {
    return this.#context === undefined ? carrier : carry(this.#context, carrier);
  }

  /** A request to an MCP server began. Gives what tells that it ended. */
  request(attributes: Attributes): (more: Attributes) => void {
    const { instruments, clock } = this.#parts;
    if (instruments === undefined) return ignore;
    const beganAt = clock.now();
    return (more) => instruments.mcpRequest.record((clock.now() - beganAt) / 1_000, { ...attributes, ...more });
  }

  #begin(): void {
    const { tracer, clock } = this.#parts;
    const { verb, key } = this.#wish;
    const entry = this.#entry;
    this.#operation = operationOf(verb, entry);
    if (tracer === undefined) return;
    const outer = this.#outerContext();
    const waitedMs = clock.now() - this.#beganAt;
    const kind = isRemote(entry) ? SpanKind.CLIENT : SpanKind.INTERNAL;
    const attributes = { ...spanAttributes(this.#operation, entry, key), ...this.#place() };
    // To give a start costs precision: only where a lookup was waited for.
    const startTime = waitedMs > 1 ? { startTime: Date.now() - waitedMs } : {};
    const span = tracer.startSpan(spanName(this.#operation, entry), { kind, attributes, ...startTime }, outer);
    if (!spans.isSpanContextValid(span.spanContext())) return;
    this.#span = span;
    this.#context = spans.setSpan(outer, span);
  }

  #place(): Attributes {
    const { parent, options } = this.#wish;
    const { toolCallId, session } = options;
    return {
      "toolweave.depth": parent === undefined ? 0 : parent.depth + 1,
      ...(toolCallId === undefined ? {} : { "gen_ai.tool.call.id": toolCallId }),
      ...(session === undefined ? {} : { "toolweave.session.id": session.id }),
    };
  }

  /** Whose part it is: of what is active here, of the call it was made in, or of what a far caller says. */
  #outerContext(): Context {
    const active = context.active();
    if (spans.getSpan(active) !== undefined) return active;
    const { parent, meta } = this.#wish;
    // Without a context manager nothing stays active.
    return parent?.trace?.context ?? contextIn(meta, active);
  }

  #outcomeOf(error: unknown): Outcome {
    const { options, parent } = this.#wish;
    if ([options.signal, parent?.signal].some((signal) => signal?.aborted === true && signal.reason === error))
      return "aborted";
    if (ToolkitError.is(error)) return error.code;
    return "_OTHER";
  }

  #end(outcome: Outcome): void {
    const failure = outcome === "ok" ? {} : { "error.type": outcome };
    const { attempts = 1, cached, mends } = this.#call ?? {};
    this.describe({
      ...failure,
      ...(attempts === 1 ? {} : { "toolweave.attempts": attempts }),
      ...(cached === true ? { "toolweave.cached": true } : {}),
      ...(mends === undefined || mends.length === 0 ? {} : { "toolweave.mends": mends.length }),
    });
    this.#span?.end();
    this.#measure(outcome, failure);
  }

  #measure(outcome: Outcome, failure: Attributes): void {
    const { instruments, clock } = this.#parts;
    if (instruments === undefined) return;
    const entry = this.#entry;
    const operation = this.#operation;
    const item = metricAttributes(operation, entry);
    const { attempts = 1, cached = false } = this.#call ?? {};
    instruments.active.add(-1, { "toolweave.verb": this.#wish.verb });
    instruments.calls.add(1, { ...item, "toolweave.outcome": outcome });
    if (cached) instruments.cacheHits.add(1, item);
    if (attempts > 1) instruments.retries.add(attempts - 1, item);
    if (entry === undefined) return;
    const duration = operation === "execute_tool" ? instruments.executeTool : instruments.invokeAgent;
    if (operation !== "execute_tool" && operation !== "invoke_agent") return;
    duration.record((clock.now() - this.#beganAt) / 1_000, {
      "gen_ai.operation.name": operation,
      ...itemAttributes(operation, entry),
      "toolweave.namespace": entry.namespace,
      ...failure,
    });
  }

  /** The conventions have a name for the arguments and results of tools alone. */
  #contentKey(what: "arguments" | "result"): string {
    return this.#operation === "execute_tool" ? `gen_ai.tool.call.${what}` : `toolweave.${what}`;
  }
}

function ignore(): void {
  // Nobody measures.
}

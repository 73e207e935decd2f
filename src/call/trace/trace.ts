import type { Attributes, Context, Span, TextMapGetter, Tracer } from "@opentelemetry/api";
import { definitionOf } from "../../core/entry.ts";
import { ToolkitError } from "../../core/error.ts";
import type { Entry } from "../../core/item.ts";
import type { Verb } from "../../core/middleware.ts";
import type { CallOptions } from "../../core/session.ts";
import type { Clock } from "../../lib/clock.ts";
import { loadOpenTelemetry } from "../../lib/lazy-libraries.ts";
import type { MaybePromise } from "../../lib/promise.ts";
import {
  type CallOutcome,
  errorText,
  isRemote,
  type Operation,
  operationOf,
  spanAttributes,
  spanName,
} from "./attributes.ts";
import type { Instruments } from "./instruments.ts";
import type { Recorder } from "./recorder.ts";

/** The carrier of a context, such as headers or `_meta`. */
type Carrier = Record<string, unknown>;

/** The texts of a carrier that a remote caller filled in: other values are its own. */
const texts: TextMapGetter<Readonly<Carrier>> = {
  keys: (carrier) => Object.keys(carrier),
  get(carrier, key) {
    const value = Object.hasOwn(carrier, key) ? carrier[key] : undefined;
    return typeof value === "string" ? value : undefined;
  },
};

/** A call as its trace sees it. */
export interface TracedCall {
  readonly depth: number;
  readonly trace: Trace | undefined;
  readonly signal: AbortSignal;
  readonly attempts?: number;
  readonly cached?: boolean;
  readonly repairs?: readonly unknown[];
}

/** The call that a trace is begun for. */
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
  /** Where it goes. */
  readonly parts: TraceParts;
  readonly #wish: Wish;
  readonly #beganAt: number;
  #entry: Entry | undefined;
  #call: TracedCall | undefined;
  #operation: Operation;
  #span: Span | undefined;
  #context: Context | undefined;

  constructor(parts: TraceParts, wish: Wish) {
    this.parts = parts;
    this.#wish = wish;
    this.#beganAt = parts.clock.now();
    this.#operation = operationOf(wish.verb, undefined);
    unharmed(() => parts.instruments?.began(wish.verb));
  }

  /** The id of its span, where that is recorded. */
  get id(): string | undefined {
    return this.#span?.isRecording() === true ? this.#span.spanContext().spanId : undefined;
  }

  /** The OpenTelemetry context inside it, if it has a span. */
  get context(): Context | undefined {
    return this.#context;
  }

  /** It is known what is called. Runs that with its span active. */
  within<R>(entry: Entry, call: TracedCall, input: unknown, run: () => MaybePromise<R>): MaybePromise<R> {
    this.#entry = entry;
    this.#call = call;
    unharmed(() => this.#begin());
    if (input !== undefined) this.#record("arguments", input);
    return this.#context === undefined ? run() : loadOpenTelemetry().context.with(this.#context, run);
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
    this.#record("result", result);
    unharmed(() => this.#end("ok"));
  }

  /** It has ended with an error, or was aborted. */
  fail(error: unknown): void {
    const outcome = this.#outcomeOf(error);
    const aborted = outcome === "aborted";
    const message = aborted ? "Its caller ended it." : errorText(error, this.parts.recorder !== undefined);
    unharmed(() => {
      if (this.#entry === undefined) this.#begin();
      this.#span?.setStatus({ code: loadOpenTelemetry().SpanStatusCode.ERROR, message });
      this.#end(outcome);
    });
  }

  /** Says more of it. */
  describe(attributes: Attributes): void {
    unharmed(() => this.#span?.setAttributes(attributes));
  }

  /** Puts into a carrier, such as headers, by which the far side knows whose part it is. */
  inject<C extends Carrier>(carrier: C): C {
    const { context: own } = this;
    if (own !== undefined) unharmed(() => loadOpenTelemetry().propagation.inject(own, carrier));
    return carrier;
  }

  /** A request to an MCP server began. Call the returned function when it has ended. */
  request(attributes: Attributes): (more: Attributes) => void {
    const { instruments, clock } = this.parts;
    if (instruments === undefined) return ignore;
    const beganAt = clock.now();
    return (more) => {
      const seconds = (clock.now() - beganAt) / 1_000;
      unharmed(() => instruments.requested(seconds, { ...attributes, ...more }));
    };
  }

  #begin(): void {
    const { tracer, clock } = this.parts;
    const { verb, key } = this.#wish;
    const entry = this.#entry;
    this.#operation = operationOf(verb, entry);
    if (tracer === undefined) return;
    const outer = this.#outerContext();
    const waitedMs = clock.now() - this.#beganAt;
    const { SpanKind, trace: spans } = loadOpenTelemetry();
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

  /** Its parent: the active span, that of the call around it, or the one that a remote caller names. */
  #outerContext(): Context {
    const { context, propagation, trace: spans } = loadOpenTelemetry();
    const active = context.active();
    if (spans.getSpan(active) !== undefined) return active;
    const { parent, meta } = this.#wish;
    // Without a context manager nothing stays active.
    return parent?.trace?.context ?? (meta === undefined ? active : propagation.extract(active, meta, texts));
  }

  #outcomeOf(error: unknown): CallOutcome {
    const { options, parent } = this.#wish;
    if ([options.signal, parent?.signal].some((signal) => signal?.aborted === true && signal.reason === error))
      return "aborted";
    if (ToolkitError.is(error)) return error.code;
    return "_OTHER";
  }

  #end(outcome: CallOutcome): void {
    const failure = outcome === "ok" ? {} : { "error.type": outcome };
    const { attempts = 1, cached = false, repairs } = this.#call ?? {};
    this.describe({
      ...failure,
      ...(attempts === 1 ? {} : { "toolweave.attempts": attempts }),
      ...(cached ? { "toolweave.cached": true } : {}),
      ...(repairs === undefined || repairs.length === 0 ? {} : { "toolweave.input_repairs": repairs.length }),
    });
    this.#span?.end();
    const { instruments, clock } = this.parts;
    const seconds = (clock.now() - this.#beganAt) / 1_000;
    const ended = { verb: this.#wish.verb, operation: this.#operation, entry: this.#entry, seconds, attempts, cached };
    instruments?.ended(outcome, ended);
  }

  #redact(): readonly string[] | undefined {
    return this.#entry === undefined ? undefined : definitionOf(this.#entry).options?.redact;
  }

  #record(what: "arguments" | "result", value: unknown): void {
    const { recorder } = this.parts;
    if (recorder === undefined || this.id === undefined) return;
    // The conventions have a name for those of tools alone.
    const prefix = this.#operation === "execute_tool" ? "gen_ai.tool.call" : "toolweave";
    this.describe({ [`${prefix}.${what}`]: recorder.record(value, this.#redact()) });
  }
}

/** Telemetry must not harm a call: errors of an SDK go where OpenTelemetry has its own. */
export function unharmed(run: () => void): void {
  try {
    run();
  } catch (error) {
    loadOpenTelemetry().diag.error("toolweave: the SDK failed", error);
  }
}

function ignore(): void {
  // Nothing is measured.
}

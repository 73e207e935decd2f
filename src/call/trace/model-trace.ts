import type { Attributes, Context, Span } from "@opentelemetry/api";
import type { TokenUsage } from "../../core/agent-event.ts";
import { ToolkitError } from "../../core/error.ts";
import type { CallContext } from "../../core/item.ts";
import type { ModelSettings } from "../../core/model-settings.ts";
import { loadOpenTelemetry } from "../../lib/lazy-libraries.ts";
import { present } from "../../lib/value.ts";
import { callStateOf } from "../call-port.ts";
import { errorText } from "./attributes.ts";
import { type TraceParts, unharmed } from "./trace.ts";

/** A request to a model. */
export interface ModelAsked {
  readonly provider: string;
  readonly model: string;
  readonly settings: ModelSettings;
  readonly stream: boolean;
  /** The messages, which are content. */
  readonly input: unknown;
}

/** The answer of a model. */
export interface ModelAnswered {
  readonly finishReason: string;
  readonly usage: TokenUsage;
  /** The message, which is content. */
  readonly output: unknown;
}

/**
 * Asks a model in a span of its own, `chat <model>`, inside that of the call, and measures it. A call without a trace only asks.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 */
export async function tracedModel<R extends ModelAnswered>(
  caller: CallContext,
  asked: ModelAsked,
  ask: () => Promise<R>,
): Promise<R> {
  const trace = callStateOf(caller)?.trace;
  if (trace === undefined) return ask();
  const model = new ModelTrace(trace.parts, trace.context, asked);
  try {
    const answered = await model.within(ask);
    model.succeed(answered);
    return answered;
  } catch (error) {
    model.fail(error, caller.signal);
    throw error;
  }
}

class ModelTrace {
  readonly #parts: TraceParts;
  readonly #asked: ModelAsked;
  readonly #beganAt: number;
  #span: Span | undefined;
  #context: Context | undefined;

  constructor(parts: TraceParts, outer: Context | undefined, asked: ModelAsked) {
    this.#parts = parts;
    this.#asked = asked;
    this.#beganAt = parts.clock.now();
    unharmed(() => this.#begin(outer ?? loadOpenTelemetry().context.active()));
  }

  within<R>(ask: () => Promise<R>): Promise<R> {
    return this.#context === undefined ? ask() : loadOpenTelemetry().context.with(this.#context, ask);
  }

  succeed({ finishReason, usage, output }: ModelAnswered): void {
    const { instruments, recorder } = this.#parts;
    unharmed(() => {
      this.#span?.setAttributes({
        "gen_ai.response.finish_reasons": [finishReason],
        "gen_ai.usage.input_tokens": usage.inputTokens,
        "gen_ai.usage.output_tokens": usage.outputTokens,
        ...(usage.cachedInputTokens === 0 ? {} : { "gen_ai.usage.cache_read.input_tokens": usage.cachedInputTokens }),
        ...(usage.cost === undefined ? {} : { "toolweave.cost": usage.cost }),
      });
      if (recorder !== undefined && this.#span !== undefined)
        this.#span.setAttribute("gen_ai.output.messages", recorder.record([output]));
      this.#span?.end();
      instruments?.spoke(usage, this.#common());
      instruments?.answered(this.#seconds(), this.#common());
    });
  }

  fail(error: unknown, signal: AbortSignal): void {
    const aborted = signal.aborted && signal.reason === error;
    const type = aborted ? "aborted" : ToolkitError.is(error) ? error.code : "_OTHER";
    const message = aborted ? "Its caller ended it." : errorText(error, this.#parts.recorder !== undefined);
    unharmed(() => {
      this.#span?.setStatus({ code: loadOpenTelemetry().SpanStatusCode.ERROR, message });
      this.#span?.setAttribute("error.type", type);
      this.#span?.end();
      this.#parts.instruments?.answered(this.#seconds(), { ...this.#common(), "error.type": type });
    });
  }

  #begin(outer: Context): void {
    const { tracer, recorder } = this.#parts;
    if (tracer === undefined) return;
    const { model, settings, stream, input } = this.#asked;
    const { temperature, maxOutputTokens, topP, topK, seed } = settings;
    const attributes: Attributes = present({
      ...this.#common(),
      "gen_ai.request.temperature": temperature,
      "gen_ai.request.max_tokens": maxOutputTokens,
      "gen_ai.request.top_p": topP,
      "gen_ai.request.top_k": topK,
      "gen_ai.request.seed": seed,
      "gen_ai.request.stream": stream || undefined,
    });
    const { SpanKind, trace: spans } = loadOpenTelemetry();
    const span = tracer.startSpan(`chat ${model}`, { kind: SpanKind.CLIENT, attributes }, outer);
    if (!spans.isSpanContextValid(span.spanContext())) return;
    if (recorder !== undefined) span.setAttribute("gen_ai.input.messages", recorder.record(input));
    this.#span = span;
    this.#context = spans.setSpan(outer, span);
  }

  #common(): Attributes {
    const { provider, model } = this.#asked;
    return { "gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": model };
  }

  #seconds(): number {
    return (this.#parts.clock.now() - this.#beganAt) / 1_000;
  }
}

import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { w3cPropagator } from "../../example/tracing/w3c.ts";

/** The records of the SDK. */
export interface RecordedSpans {
  readonly provider: TracerProvider;
  /** Those that have ended, in the order in which they did. */
  readonly spans: readonly ReadableSpan[];
  /** The only span of that name. */
  span(name: string): ReadableSpan;
}

/** A tracer provider that keeps its spans. */
export function recordSpans(sampler?: Sampler): RecordedSpans {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    ...(sampler === undefined ? {} : { sampler }),
  });
  return {
    provider,
    get spans() {
      return exporter.getFinishedSpans();
    },
    span(name) {
      const found = exporter.getFinishedSpans().filter((span) => span.name === name);
      const [only] = found;
      if (only !== undefined && found.length === 1) return only;
      const names = exporter.getFinishedSpans().map((span) => span.name);
      throw new Error(`There are ${found.length} spans ${name} among ${names.join(", ")}.`);
    },
  };
}

/** One measured value, and of what. */
export interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a histogram the number of measurements. */
  readonly value: number;
}

/** A meter provider that is read when it is asked. */
export function recordMetrics() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  const provider = new MeterProvider({ readers: [reader] });
  return {
    provider,
    /** The measurements now, by the name of the metric. */
    async read(): Promise<ReadonlyMap<string, readonly Point[]>> {
      exporter.reset();
      await reader.forceFlush();
      const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
      return new Map(
        all.map(({ descriptor, dataPoints }) => [
          descriptor.name,
          dataPoints.map(({ attributes, value }) => ({
            attributes,
            value: typeof value === "number" ? value : value.count,
          })),
        ]),
      );
    },
  };
}

/** Nothing is registered any more. */
export function unregister(): void {
  for (const api of [trace, context, propagation, metrics]) api.disable();
}

/** Registers what a service's SDK does beside its providers: what keeps a context active, and carries it on. */
export function registerContext(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(w3cPropagator);
}

import type { Meter, Tracer } from "@opentelemetry/api";
import type { Connection } from "../../core/connection.ts";
import type { ToolkitEvent } from "../../core/event.ts";
import type { TelemetryOptions } from "../../core/telemetry-options.ts";
import type { Clock } from "../../lib/clock.ts";
import { loadOpenTelemetry } from "../../lib/lazy-libraries.ts";
import { packageVersion } from "../../lib/package.ts";
import { type Gauges, Instruments } from "./instruments.ts";
import { Recorder } from "./recorder.ts";
import { Trace, type Wish } from "./trace.ts";

/** The parts of telemetry. */
export interface TelemetryParts {
  readonly options: TelemetryOptions;
  readonly clock: Clock;
  readonly gauges: () => Gauges;
}

const scope = "toolweave";
/** The providers that are registered, as all copies of the API of version 1 keep them in the global object. */
interface Registry {
  readonly trace?: unknown;
  readonly metrics?: unknown;
}

const registryKey = Symbol.for("opentelemetry.js.api.1");
const nothing: Registry = {};

/**
 * Begins traces where they go somewhere: a tracer or a meter was given, or an OpenTelemetry SDK is registered. It is asked at each call, so
 * that an SDK may be registered at any time; where there is none that costs some nanoseconds, and the API is not loaded.
 */
export class Telemetry {
  readonly #parts: TelemetryParts;
  readonly #recorder: Recorder | undefined;
  readonly #connected = new WeakSet<Connection>();
  /** The providers that were registered when they were looked at last. */
  #traceProvider: unknown;
  #meterProvider: unknown;
  #tracer: Tracer | undefined;
  #instruments: Instruments | undefined;

  constructor(parts: TelemetryParts) {
    const { tracer, meter, recordContent = false, redact = [] } = parts.options;
    this.#parts = parts;
    this.#recorder = recordContent ? new Recorder(redact) : undefined;
    if (tracer) this.#tracer = tracer;
    if (meter) this.#instruments = new Instruments(meter, parts.gauges);
    this.look();
  }

  /** The inputs and results of tools may be recorded. */
  get recordsContent(): boolean {
    return this.#recorder !== undefined;
  }

  /** True where a tracer or a meter is there. */
  get isOn(): boolean {
    this.look();
    return this.#tracer !== undefined || this.#instruments !== undefined;
  }

  begin(wish: Wish): Trace {
    const { clock } = this.#parts;
    return new Trace({ tracer: this.#tracer, instruments: this.#instruments, recorder: this.#recorder, clock }, wish);
  }

  /** Looks for an SDK that is registered now, by whichever copy of the API. */
  look(): void {
    const { trace, metrics } = (globalThis as { readonly [registryKey]?: Registry })[registryKey] ?? nothing;
    const { tracer, meter } = this.#parts.options;
    if (trace !== this.#traceProvider && tracer === undefined) {
      this.#traceProvider = trace;
      this.#tracer = trace === undefined ? undefined : registeredTracer();
    }
    if (metrics === this.#meterProvider || meter !== undefined) return;
    this.#meterProvider = metrics;
    this.#instruments?.close();
    const found = metrics === undefined ? undefined : registeredMeter();
    this.#instruments = found && new Instruments(found, this.#parts.gauges);
  }

  /** Counts what becomes of connections. */
  observe(event: ToolkitEvent): void {
    if (event.type !== "connectorConnected") return;
    this.look();
    const { connection, namespace } = event;
    if (this.#connected.has(connection)) this.#instruments?.reconnected(namespace);
    else this.#connected.add(connection);
  }

  /** Nothing is collected from here any more. */
  close(): void {
    this.#instruments?.close();
  }
}

/** Undefined where what is registered is of another version of the API. */
function registeredTracer(): Tracer | undefined {
  const { trace, ProxyTracerProvider } = loadOpenTelemetry();
  const provider = trace.getTracerProvider();
  const tracers = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  const none = new ProxyTracerProvider().getDelegate();
  return tracers === none ? undefined : tracers.getTracer(scope, packageVersion());
}

function registeredMeter(): Meter | undefined {
  const { metrics, createNoopMeter } = loadOpenTelemetry();
  const meter = metrics.getMeterProvider().getMeter(scope, packageVersion());
  return meter === createNoopMeter() ? undefined : meter;
}

import {
  createNoopMeter,
  type MeterProvider,
  metrics,
  ProxyTracerProvider,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { Connection } from "../../core/connection.ts";
import type { ToolkitEvent } from "../../core/event.ts";
import type { TelemetryOptions } from "../../core/telemetry-options.ts";
import type { Clock } from "../../lib/clock.ts";
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
const noTracers: TracerProvider = new ProxyTracerProvider().getDelegate();

/**
 * Begins traces where they go somewhere: a tracer or a meter was given, or an OpenTelemetry SDK is registered. It is asked at each call, so
 * that an SDK may be registered at any time; where there is none that costs some nanoseconds.
 */
export class Telemetry {
  readonly #parts: TelemetryParts;
  readonly #recorder: Recorder | undefined;
  readonly #connected = new WeakSet<Connection>();
  /** The proxy behind which an SDK is registered. Undefined while one is: then it is looked up each time. */
  #idle: ProxyTracerProvider | undefined;
  #tracers: TracerProvider | undefined;
  #tracer: Tracer | undefined;
  #meters: MeterProvider | undefined;
  #instruments: Instruments | undefined;

  constructor(parts: TelemetryParts) {
    const { tracer, meter, recordContent = false, redact = [] } = parts.options;
    this.#parts = parts;
    this.#recorder = recordContent ? new Recorder(redact) : undefined;
    // Behind one of our own nothing will be registered.
    if (tracer !== undefined) this.#idle = new ProxyTracerProvider();
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
    if (this.#idle?.getDelegate() !== noTracers) this.#findTracer();
    if (this.#parts.options.meter === undefined) this.#findMeter();
    return this.#tracer !== undefined || this.#instruments !== undefined;
  }

  begin(wish: Wish): Trace {
    const { clock } = this.#parts;
    return new Trace({ tracer: this.#tracer, instruments: this.#instruments, recorder: this.#recorder, clock }, wish);
  }

  /** Looks for an SDK that is registered now: also by another copy of the API, which does not notify ours. */
  look(): void {
    if (this.#parts.options.tracer === undefined) this.#findTracer();
    if (this.#parts.options.meter === undefined) this.#findMeter();
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

  #findTracer(): void {
    const provider = trace.getTracerProvider();
    const isProxy = provider instanceof ProxyTracerProvider;
    const tracers = isProxy ? provider.getDelegate() : provider;
    this.#idle = isProxy && tracers === noTracers ? provider : undefined;
    if (tracers === this.#tracers) return;
    this.#tracers = tracers;
    this.#tracer = tracers === noTracers ? undefined : tracers.getTracer(scope, packageVersion());
  }

  #findMeter(): void {
    const meters = metrics.getMeterProvider();
    if (meters === this.#meters) return;
    this.#meters = meters;
    this.#instruments?.close();
    const meter = meters.getMeter(scope, packageVersion());
    this.#instruments = meter === createNoopMeter() ? undefined : new Instruments(meter, this.#parts.gauges);
  }
}

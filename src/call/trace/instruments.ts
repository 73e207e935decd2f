import type { Attributes, BatchObservableResult, Counter, Histogram, Meter, UpDownCounter } from "@opentelemetry/api";
import type { TokenUsage } from "../../core/agent-event.ts";
import type { Connection, ConnectionState } from "../../core/connection.ts";
import type { Entry } from "../../core/item.ts";
import type { Verb } from "../../core/middleware.ts";
import { type CallOutcome, itemAttributes, metricAttributes, type Operation } from "./attributes.ts";

/** The values that are observed whenever metrics are collected. */
export interface Gauges {
  readonly connections: readonly Connection[];
  /** Calls that wait for their turn. */
  readonly queued: number;
}

/** A call, read or render that has ended. */
export interface Ended {
  readonly verb: Verb;
  readonly operation: Operation;
  /** Undefined where nothing was found. */
  readonly entry: Entry | undefined;
  readonly seconds: number;
  readonly attempts: number;
  readonly cached: boolean;
}

/** In seconds: what the conventions advise for MCP. A tool in this process may take less. */
const remoteBoundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const boundaries = [0.0001, 0.001, ...remoteBoundaries];

/** As the conventions advise. */
const tokenBoundaries = Array.from({ length: 14 }, (_, power) => 4 ** power);

const states: readonly ConnectionState[] = ["idle", "connecting", "connected", "waiting"];

/** Every instrument, of one meter. */
export class Instruments {
  readonly #calls: Counter;
  readonly #active: UpDownCounter;
  readonly #cacheHits: Counter;
  readonly #retries: Counter;
  readonly #reconnects: Counter;
  readonly #durations: Readonly<Partial<Record<Operation, Histogram>>>;
  readonly #mcpRequest: Histogram;
  readonly #tokens: Histogram;
  readonly #model: Histogram;
  readonly #cost: Counter;
  readonly #forget: () => void;

  constructor(meter: Meter, gauges: () => Gauges) {
    const duration = (name: string, description: string, explicitBucketBoundaries = boundaries) =>
      meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries } });
    const counter = (name: string, unit: string, description: string) =>
      meter.createCounter(name, { unit, description });
    this.#calls = counter("toolweave.calls", "{call}", "Calls, reads and renders that ended, by outcome.");
    this.#active = meter.createUpDownCounter("toolweave.calls.active", {
      unit: "{call}",
      description: "Calls, reads and renders that have begun and not ended.",
    });
    this.#cacheHits = counter("toolweave.cache.hits", "{call}", "Calls that were answered from the cache.");
    this.#retries = counter("toolweave.retries", "{attempt}", "Attempts of calls beyond the first.");
    this.#reconnects = counter("toolweave.connector.reconnects", "{connection}", "Connections after the first.");
    this.#durations = {
      execute_tool: duration("gen_ai.execute_tool.duration", "The duration of a single tool execution."),
      invoke_agent: duration("gen_ai.invoke_agent.duration", "The duration of a prompt that was executed."),
    };
    this.#mcpRequest = duration(
      "mcp.client.operation.duration",
      "The duration of a request to an MCP server.",
      remoteBoundaries,
    );
    this.#tokens = meter.createHistogram("gen_ai.client.token.usage", {
      unit: "{token}",
      description: "Tokens of requests to models, and of their answers.",
      advice: { explicitBucketBoundaries: tokenBoundaries },
    });
    this.#model = duration(
      "gen_ai.client.operation.duration",
      "The duration of a request to a model.",
      remoteBoundaries,
    );
    this.#cost = counter("toolweave.model.cost", "{cost}", "The cost of requests to models whose prices are known.");
    this.#forget = watch(meter, gauges);
  }

  /** A call, read or rendering has begun. */
  began(verb: Verb): void {
    this.#active.add(1, { "toolweave.verb": verb });
  }

  /** It has ended. */
  ended(outcome: CallOutcome, { verb, operation, entry, seconds, attempts, cached }: Ended): void {
    const item = metricAttributes(operation, entry);
    this.#active.add(-1, { "toolweave.verb": verb });
    this.#calls.add(1, { ...item, "toolweave.outcome": outcome });
    if (cached) this.#cacheHits.add(1, item);
    if (attempts > 1) this.#retries.add(attempts - 1, item);
    if (entry === undefined) return;
    this.#durations[operation]?.record(seconds, {
      "gen_ai.operation.name": operation,
      ...itemAttributes(operation, entry),
      "toolweave.namespace": entry.namespace,
      ...(outcome === "ok" ? {} : { "error.type": outcome }),
    });
  }

  /** A request to an MCP server has ended. */
  requested(seconds: number, attributes: Attributes): void {
    this.#mcpRequest.record(seconds, attributes);
  }

  /** A model was asked, with success or without. */
  answered(seconds: number, attributes: Attributes): void {
    this.#model.record(seconds, attributes);
  }

  /** A model was given and gave so much. */
  spoke({ inputTokens, outputTokens, cost }: TokenUsage, attributes: Attributes): void {
    this.#tokens.record(inputTokens, { ...attributes, "gen_ai.token.type": "input" });
    this.#tokens.record(outputTokens, { ...attributes, "gen_ai.token.type": "output" });
    if (cost !== undefined) this.#cost.add(cost, attributes);
  }

  /** A connector is connected once more. */
  reconnected(namespace: string): void {
    this.#reconnects.add(1, { "toolweave.namespace": namespace });
  }

  /** Nothing is there to look at any more. */
  close(): void {
    this.#forget();
  }
}

const nothing: Gauges = { connections: [], queued: 0 };

function watch(meter: Meter, gauges: () => Gauges): () => void {
  const state = meter.createObservableGauge("toolweave.connector.state", {
    description: "1 for the state a connector is in, 0 for the others.",
  });
  const requests = meter.createObservableGauge("toolweave.connector.requests.active", {
    unit: "{request}",
    description: "Requests that wait for the answer of a connector.",
  });
  const queued = meter.createObservableGauge("toolweave.calls.queued", {
    unit: "{call}",
    description: "Calls that wait for their turn under a limit of calls at once.",
  });
  const observed = [state, requests, queued];
  const known = new Set<string>();
  // Weak: a meter outlives the toolkits it observes, those too that were dropped without being closed.
  let observedBy: WeakRef<() => Gauges> | undefined = new WeakRef(gauges);
  const collect = (result: BatchObservableResult) => {
    const look = observedBy?.deref();
    const now = look?.() ?? nothing;
    const current = new Map(now.connections.map((connection) => [connection.namespace, connection]));
    for (const namespace of current.keys()) known.add(namespace);
    // An SDK goes on showing what was observed last: of what is gone that has to be zero.
    for (const name of known) {
      const connection = current.get(name);
      const namespace = { "toolweave.namespace": name };
      for (const each of states)
        result.observe(state, connection?.state === each ? 1 : 0, { ...namespace, "toolweave.connector.state": each });
      result.observe(requests, connection?.callsInFlight ?? 0, namespace);
    }
    result.observe(queued, now.queued);
    if (look === undefined) queueMicrotask(() => meter.removeBatchObservableCallback(collect, observed));
  };
  meter.addBatchObservableCallback(collect, observed);
  return () => {
    observedBy = undefined;
  };
}

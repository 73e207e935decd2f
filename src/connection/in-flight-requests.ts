import { type CallPort, callStateOf } from "../call/call-port.ts";
import type { ConnectorSession } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Session } from "../core/session.ts";
import type { Clock } from "../lib/clock.ts";
import { named, unanswered } from "./connection-error.ts";
import type { RemoteGeneration, Watcher } from "./generation.ts";

/** One request, and whose it is. */
export interface InFlightRequest<T> {
  readonly options: ReadOptions;
  send(session: ConnectorSession): Promise<T>;
  /** The code of the error where the session ends and the request is not answered. */
  readonly lost: "UNAVAILABLE" | "OUTCOME_UNKNOWN";
}

interface InFlight {
  /** The call it is made for. Taken when it is made: what its context is by then need not be looked at again. */
  readonly call: CallPort | undefined;
}

/** A request on its way in one generation. */
class Flight<T> implements InFlight, Watcher {
  readonly call: CallPort | undefined;
  readonly #lost: InFlightRequest<T>["lost"];
  readonly #requests: InFlightRequests;
  readonly #generation: RemoteGeneration;
  readonly #resolve: (result: T) => void;
  readonly #reject: (error: unknown) => void;
  readonly #startedAt: number;

  constructor(
    requests: InFlightRequests,
    generation: RemoteGeneration,
    request: InFlightRequest<T>,
    resolve: (result: T) => void,
    reject: (error: unknown) => void,
  ) {
    this.call = callStateOf(request.options);
    this.#lost = request.lost;
    this.#requests = requests;
    this.#generation = generation;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#startedAt = requests.clock.now();
  }

  succeed(result: T): void {
    this.#over();
    this.#requests.answered(this.#requests.clock.now() - this.#startedAt);
    this.#resolve(result);
  }

  fail(error: unknown): void {
    this.#over();
    this.#reject(named(error, this.#requests.namespace()));
  }

  cut(why: Error | undefined): void {
    this.fail(unanswered(this.#lost, this.#requests.namespace(), why));
  }

  #over(): void {
    this.#requests.over(this);
    this.#generation.forget(this);
  }
}

/** The requests a connection has in flight. */
export class InFlightRequests {
  /** @internal */
  readonly clock: Clock;
  /** @internal */
  readonly namespace: () => string;
  readonly #max: number;
  readonly #inFlight = new Set<InFlight>();
  #latencyMs: number | undefined;

  /** @param max - how many there may be, `maxConcurrentCalls` */
  constructor(clock: Clock, namespace: () => string, max: number) {
    this.#max = max;
    this.clock = clock;
    this.namespace = namespace;
  }

  get size(): number {
    return this.#inFlight.size;
  }

  /** Of the last one that was answered, in milliseconds. */
  get latencyMs(): number | undefined {
    return this.#latencyMs;
  }

  /** Something was answered, after so many milliseconds. */
  answered(latencyMs: number): void {
    this.#latencyMs = latencyMs;
  }

  /** The calls in flight, the oldest first: a server does not always say to which of them something belongs. */
  get calls(): readonly CallPort[] {
    const calls: CallPort[] = [];
    for (const { call } of this.#inFlight) if (call !== undefined) calls.push(call);
    return calls;
  }

  /** Whoever is calling now and wants to hear logs: a server does not say whose call a message belongs to. */
  get listeners(): ReadonlySet<Session> {
    const listeners = new Set<Session>();
    for (const { call } of this.#inFlight) {
      const listener = call?.loggingSession;
      if (listener !== undefined) listeners.add(listener);
    }
    return listeners;
  }

  // One promise, one object and no more: this is the way of every remote call.
  make<T>(generation: RemoteGeneration, request: InFlightRequest<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#inFlight.size >= this.#max) return reject(this.#full());
      const flight = new Flight<T>(this, generation, request, resolve, reject);
      this.#inFlight.add(flight);
      generation.watch(flight);
      try {
        request.send(generation.session).then(
          (result) => flight.succeed(result),
          (error) => flight.fail(error),
        );
      } catch (error) {
        flight.fail(error);
      }
    });
  }

  /** One is over. */
  over(flight: InFlight): void {
    this.#inFlight.delete(flight);
  }

  #full(): ToolkitError<"LIMIT_EXCEEDED"> {
    const message = `${this.namespace()} has ${this.#max} calls in flight, as many as maxConcurrentCalls allows: nothing was sent. Raise the limit, or call less at once.`;
    return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxConcurrentCalls", max: this.#max });
  }
}

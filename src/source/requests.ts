import type { ConnectorSession } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Session } from "../core/session.ts";
import { CallState } from "../execute/state.ts";
import type { Clock } from "../lib/clock.ts";
import { named, unanswered } from "./connection-error.ts";
import type { Cut, RemoteGeneration } from "./generation.ts";

/** One request, and whose it is. */
export interface Request<T> {
  readonly options: ReadOptions;
  send(session: ConnectorSession): Promise<T>;
  /** The code of the error where the session ends and the request is not answered. */
  readonly lost: "UNAVAILABLE" | "OUTCOME_UNKNOWN";
}

/** The requests a connection has in flight. */
export class Requests {
  readonly #clock: Clock;
  readonly #namespace: () => string;
  readonly #max: number;
  readonly #inFlight = new Set<Request<unknown>>();
  #latencyMs: number | undefined;

  /** @param max - how many there may be, `maxConcurrentCalls` */
  constructor(clock: Clock, namespace: () => string, max: number) {
    this.#max = max;
    this.#clock = clock;
    this.#namespace = namespace;
  }

  get size(): number {
    return this.#inFlight.size;
  }

  /** Of the last one that was answered, in milliseconds. */
  get latencyMs(): number | undefined {
    return this.#latencyMs;
  }

  /** Something that is no request of ours here was answered, after so many milliseconds. */
  answered(latencyMs: number): void {
    this.#latencyMs = latencyMs;
  }

  /** The calls in flight, the oldest first: a server does not always say to which of them something belongs. */
  get calls(): readonly CallState[] {
    const calls: CallState[] = [];
    for (const { options } of this.#inFlight) if (options instanceof CallState) calls.push(options);
    return calls;
  }

  /** Whoever is calling now and wants to hear logs: a server does not say whose call a message belongs to. */
  get listeners(): ReadonlySet<Session> {
    const listeners = new Set<Session>();
    for (const { options } of this.#inFlight) {
      const listener = options instanceof CallState ? options.listeningSession : undefined;
      if (listener !== undefined) listeners.add(listener);
    }
    return listeners;
  }

  // One promise and no more: this is the way of every remote call.
  make<T>(generation: RemoteGeneration, request: Request<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const startedAt = this.#clock.now();
      const over = () => {
        this.#inFlight.delete(request);
        generation.forget(cut);
      };
      const fail = (error: unknown) => {
        over();
        reject(named(error, this.#namespace()));
      };
      const cut: Cut = (why) => fail(unanswered(request.lost, this.#namespace(), why));
      if (this.#inFlight.size >= this.#max) return reject(this.#full());
      this.#inFlight.add(request);
      generation.watch(cut);
      try {
        request.send(generation.session).then((result) => {
          over();
          this.#latencyMs = this.#clock.now() - startedAt;
          resolve(result);
        }, fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  #full(): ToolkitError<"LIMIT_EXCEEDED"> {
    const message = `${this.#namespace()} has ${this.#max} calls in flight, as many as maxConcurrentCalls allows: nothing was sent. Raise the limit, or call less at once.`;
    return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxConcurrentCalls", max: this.#max });
  }
}

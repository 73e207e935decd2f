import { setImmediate } from "node:timers/promises";
import { type CallPort, callStateOf } from "../call/call-port.ts";
import type { ConnectorSession } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Session } from "../core/session.ts";
import type { Clock } from "../lib/clock.ts";
import { Latch } from "../lib/latch.ts";
import { inNamespace, unanswered } from "./connection-error.ts";

/** One request to the server. */
export interface ConnectionRequest<T> {
  /** Options of the caller; the context of the call where it is one. */
  readonly options: ReadOptions;
  send(session: ConnectorSession): Promise<T>;
  /** Code of the error where the session ends without an answer. */
  readonly lost: "UNAVAILABLE" | "OUTCOME_UNKNOWN";
}

/** The connection that the requests belong to. */
export interface RequestsHost {
  readonly namespace: string;
  /** Connects, if it has not begun to. */
  start(): void;
  /** The error that says why it is not connected. */
  unavailable(): ToolkitError;
}

/** Options of the requests of a connection. */
export interface RequestsOptions {
  readonly clock: Clock;
  /** The most requests that may be in flight. */
  readonly maxConcurrentCalls: number;
  /** Time that a request without a limit of its own waits for the connection, in milliseconds. */
  readonly waitMs: number;
}

interface InFlightRequest {
  /** The call it is made for. */
  readonly call: CallPort | undefined;
  readonly session: ConnectorSession;
  readonly lost: "UNAVAILABLE" | "OUTCOME_UNKNOWN";
  reject(error: unknown): void;
}

/** The requests of a connection: those in flight, and those that wait until it is connected. */
export class ConnectionRequests {
  readonly #connection: RequestsHost;
  readonly #options: RequestsOptions;
  readonly #inFlight = new Set<InFlightRequest>();
  /** Open while there is a session. */
  readonly #connected = new Latch();
  #session: ConnectorSession | undefined;
  /** Of the last request or ping that was answered, in milliseconds. */
  latencyMs: number | undefined = undefined;

  constructor(connection: RequestsHost, options: RequestsOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** The current session, where it is connected. */
  get session(): ConnectorSession | undefined {
    return this.#session;
  }

  /** Number of requests in flight. */
  get size(): number {
    return this.#inFlight.size;
  }

  /** The calls in flight, the oldest first. A server does not always say to which of them its own requests and log messages belong. */
  get calls(): readonly CallPort[] {
    return [...this.#inFlight].map(({ call }) => call).filter((call) => call !== undefined);
  }

  /** The sessions of the calls in flight that take log messages. */
  get loggingSessions(): ReadonlySet<Session> {
    return new Set(this.calls.map(({ loggingSession }) => loggingSession).filter((session) => session !== undefined));
  }

  /** It is connected: requests are made in this session from now on, and so are those that wait. */
  resume(session: ConnectorSession): void {
    this.#session = session;
    this.#connected.open();
  }

  /** It is not connected any more: requests wait from now on. */
  pause(): void {
    this.#session = undefined;
    this.#connected.shut();
  }

  /** It has stopped for good: requests are rejected from now on, and so are those that wait. */
  stop(error: Error): void {
    this.pause();
    this.#connected.break(error);
  }

  /** Resolves when it is connected. Rejects with the reason of a signal that aborts, or when it has stopped. */
  connected(...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    return this.#connected.wait(...signals);
  }

  /**
   * Makes a request in the current session, or in the next one: then the caller waits as long as its own limits allow.
   *
   * @throws ToolkitError `UNAVAILABLE` where the connection was awaited in vain, `LIMIT_EXCEEDED` for one too many in flight; why it
   *   has stopped; whatever the session throws
   */
  send<T>(request: ConnectionRequest<T>): Promise<T> {
    if (this.#session !== undefined) return this.#sendIn(this.#session, request);
    return this.#nextSession(request.options).then((next) => this.#sendIn(next, request));
  }

  /** Fails the requests that are in flight in a session which gives no more answers. */
  fail(session: ConnectorSession, cause: Error | undefined): void {
    for (const request of this.#inFlight) {
      if (request.session !== session) continue;
      this.#inFlight.delete(request);
      request.reject(unanswered(request.lost, this.#connection.namespace, cause));
    }
  }

  /** As `fail`, after the errors that the session itself gives at its end: those are more precise. */
  async failUnanswered(session: ConnectorSession): Promise<void> {
    if (![...this.#inFlight].some((request) => request.session === session)) return;
    await setImmediate();
    this.fail(session, undefined);
  }

  // Every remote call takes this way: one promise, one object and no more.
  #sendIn<T>(session: ConnectorSession, { options, lost, send }: ConnectionRequest<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { clock, maxConcurrentCalls } = this.#options;
      if (this.#inFlight.size >= maxConcurrentCalls) return reject(this.#full(maxConcurrentCalls));
      const request: InFlightRequest = { call: callStateOf(options), session, lost, reject };
      const sentAt = clock.now();
      const failed = (error: unknown) => {
        this.#inFlight.delete(request);
        reject(inNamespace(error, this.#connection.namespace));
      };
      this.#inFlight.add(request);
      try {
        send(session).then((result) => {
          this.#inFlight.delete(request);
          this.latencyMs = clock.now() - sentAt;
          resolve(result);
        }, failed);
      } catch (error) {
        failed(error);
      }
    });
  }

  async #nextSession(options: ReadOptions): Promise<ConnectorSession> {
    const { clock, waitMs } = this.#options;
    const connection = this.#connection;
    const unavailable = () => connection.unavailable();
    const patience = new AbortController();
    const timer = clock.setTimer(() => patience.abort(unavailable()), waitMs);
    timer.keepAlive(true);
    const call = callStateOf(options);
    if (call !== undefined) call.waitingFor = unavailable;
    try {
      connection.start();
      for (;;) {
        await this.connected(options.signal, patience.signal);
        // It may have been lost again before this runs.
        if (this.#session !== undefined) return this.#session;
      }
    } finally {
      timer.cancel();
      if (call !== undefined) call.waitingFor = undefined;
    }
  }

  #full(max: number): ToolkitError<"LIMIT_EXCEEDED"> {
    const message = `${this.#connection.namespace} has ${max} calls in flight, as many as maxConcurrentCalls allows: nothing was sent. Raise the limit, or call less at once.`;
    return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxConcurrentCalls", max });
  }
}

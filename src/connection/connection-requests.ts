import { setImmediate } from "node:timers/promises";
import { type CallPort, callStateOf, turnOwner } from "../call/call-port.ts";
import type { ConnectorSession } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import { type Session, sessionKey } from "../core/session.ts";
import type { Clock } from "../lib/clock.ts";
import { ConcurrencyLimit, ConcurrencyQueue } from "../lib/concurrency-queue.ts";
import { Latch } from "../lib/latch.ts";
import { type Link, LinkedList } from "../lib/linked-list.ts";
import { inNamespace, unanswered } from "./connection-error.ts";
import { LateLoggers } from "./late-loggers.ts";

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
  /** The most requests that may be in flight; others wait for their turn. */
  readonly maxConcurrentCalls: number;
  /** The most requests that may wait for their turn. */
  readonly maxQueuedCalls: number;
  /** Time that a request without a limit of its own waits for the connection, or for its turn, in milliseconds. */
  readonly waitMs: number;
}

class InFlightRequest implements Link<InFlightRequest> {
  /** The call it is made for. */
  readonly call: CallPort | undefined;
  readonly session: ConnectorSession;
  readonly lost: "UNAVAILABLE" | "OUTCOME_UNKNOWN";
  readonly reject: (error: unknown) => void;
  isActive = false;
  previous: InFlightRequest | undefined;
  next: InFlightRequest | undefined;

  constructor(
    call: CallPort | undefined,
    session: ConnectorSession,
    lost: "UNAVAILABLE" | "OUTCOME_UNKNOWN",
    reject: (error: unknown) => void,
  ) {
    this.call = call;
    this.session = session;
    this.lost = lost;
    this.reject = reject;
  }
}

/** The requests of a connection: those in flight, those that wait for their turn, and those that wait until it is connected. */
export class ConnectionRequests {
  readonly #connection: RequestsHost;
  readonly #options: RequestsOptions;
  readonly #inFlight = new LinkedList<InFlightRequest>();
  readonly #late: LateLoggers;
  /** A place for each request in flight. Principals have their turns one after another. */
  readonly #places: ConcurrencyQueue;
  /** Open while there is a session. */
  readonly #connected = new Latch();
  #session: ConnectorSession | undefined;
  /** Of the last request or ping that was answered, in milliseconds. */
  latencyMs: number | undefined = undefined;

  constructor(connection: RequestsHost, options: RequestsOptions) {
    this.#connection = connection;
    this.#options = options;
    const { maxConcurrentCalls, maxQueuedCalls } = options;
    this.#late = new LateLoggers(options.clock);
    this.#places = new ConcurrencyQueue([new ConcurrencyLimit(maxConcurrentCalls, 0)], maxQueuedCalls);
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
    const calls = [...this.#inFlight].map(({ call }) => call).filter((call) => call !== undefined);
    return calls.reverse();
  }

  /**
   * The sessions of the calls in flight, and of those just answered, that take log messages. None where these are of several principals: a
   * message may be of a call of either, and must not reach the other.
   */
  get loggingSessions(): readonly Session[] {
    const { calls } = this;
    const late = this.#late.sessions;
    const callers = [...calls.map(({ givenSession }) => givenSession), ...late];
    if (new Set(callers.map((session) => session?.principal)).size > 1) return [];
    const logging = [...late, ...calls.map(({ loggingSession }) => loggingSession)];
    return [
      ...new Map(
        logging.flatMap((session) => (session === undefined ? [] : [[sessionKey(session), session]])),
      ).values(),
    ];
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

  /** It is not connected, and no attempt is planned: requests are rejected until one begins, and so are those that wait. */
  rest(error: Error): void {
    this.#connected.break(error);
  }

  /** An attempt begins: requests wait for it. */
  wake(): void {
    this.#connected.repair();
  }

  /** It has stopped for good: requests are rejected from now on, and so are those that wait. */
  stop(error: Error): void {
    this.pause();
    this.#late.clear();
    this.#connected.break(error);
  }

  /** Resolves when it is connected. Rejects with the reason of a signal that aborts, or when it has stopped. */
  connected(...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    return this.#connected.wait(...signals);
  }

  /**
   * Makes a request in the current session, or in the next one, when it is its turn: the caller waits as long as its own limits allow.
   *
   * @throws ToolkitError `UNAVAILABLE` where the connection was awaited in vain, `LIMIT_EXCEEDED` where a turn was; why it has stopped;
   *   whatever the session throws
   */
  send<T>(request: ConnectionRequest<T>): Promise<T> {
    if (this.#session !== undefined && this.#places.take()) return this.#sendIn(this.#session, request);
    return this.#sendLater(request);
  }

  /** Fails the requests that are in flight in a session which gives no more answers. */
  fail(session: ConnectorSession, cause: Error | undefined): void {
    for (const request of [...this.#inFlight].reverse()) {
      if (request.session !== session) continue;
      this.#end(request);
      request.reject(unanswered(request.lost, this.#connection.namespace, cause));
    }
  }

  /** As `fail`, after the errors that the session itself gives at its end: those are more precise. */
  async failUnanswered(session: ConnectorSession): Promise<void> {
    if (![...this.#inFlight].some((request) => request.session === session)) return;
    await setImmediate();
    this.fail(session, undefined);
  }

  /** It is over: its place is free, unless it was over already. */
  #end(request: InFlightRequest): void {
    if (!this.#inFlight.remove(request)) return;
    this.#places.give();
    const session = request.call?.loggingSession;
    if (session !== undefined) this.#late.ended(session);
  }

  async #sendLater<T>(request: ConnectionRequest<T>): Promise<T> {
    for (;;) {
      if (this.#session === undefined) await this.#nextSession(request.options);
      if (!this.#places.take()) await this.#turn(request.options);
      // It may have been lost while this waited for its turn, which the next one has then.
      if (this.#session !== undefined) return this.#sendIn(this.#session, request);
      this.#places.give();
    }
  }

  // Every remote call takes this way: one promise, one object and no more. It has its place.
  #sendIn<T>(session: ConnectorSession, { options, lost, send }: ConnectionRequest<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { clock } = this.#options;
      const request = new InFlightRequest(callStateOf(options), session, lost, reject);
      const sentAt = clock.now();
      const failed = (error: unknown) => {
        this.#end(request);
        reject(inNamespace(error, this.#connection.namespace));
      };
      this.#inFlight.add(request);
      this.#late.began(request.call?.loggingSession);
      try {
        send(session).then((result) => {
          this.#end(request);
          this.latencyMs = clock.now() - sentAt;
          resolve(result);
        }, failed);
      } catch (error) {
        failed(error);
      }
    });
  }

  async #nextSession(options: ReadOptions): Promise<void> {
    const connection = this.#connection;
    await this.#waiting(
      options,
      () => connection.unavailable(),
      async (...signals) => {
        connection.start();
        // It may be lost again before this runs.
        while (this.#session === undefined) await this.connected(...signals);
      },
    );
  }

  /** Waits until a place is taken for a request. */
  async #turn(options: ReadOptions): Promise<void> {
    const turn = new Latch();
    let granted = false;
    const entry = {
      owner: turnOwner(callStateOf(options) ?? { givenSession: undefined }),
      granted: () => {
        granted = true;
        turn.open();
      },
      refused: () => turn.break(this.#tooMany()),
    };
    if (!this.#places.enter(entry)) throw this.#tooMany();
    try {
      await this.#waiting(
        options,
        () => this.#full(),
        (...signals) => turn.wait(...signals),
      );
    } catch (error) {
      if (granted) this.#places.give();
      else this.#places.leave(entry);
      throw error;
    }
  }

  /** Waits as long as the caller does; one without a limit of its own `waitMs`. Then `late` says why it waited in vain. */
  async #waiting(
    options: ReadOptions,
    late: () => Error,
    wait: (...signals: readonly (AbortSignal | undefined)[]) => Promise<void>,
  ): Promise<void> {
    const { clock, waitMs } = this.#options;
    const patience = new AbortController();
    const timer = clock.setTimer(() => patience.abort(late()), waitMs);
    timer.keepAlive(true);
    const call = callStateOf(options);
    if (call !== undefined) call.waitingFor = late;
    try {
      await wait(options.signal, patience.signal);
    } finally {
      timer.cancel();
      if (call !== undefined) call.waitingFor = undefined;
    }
  }

  #full(): ToolkitError<"LIMIT_EXCEEDED"> {
    const { maxConcurrentCalls: max } = this.#options;
    const message = `${this.#connection.namespace} has ${max} calls in flight, as many as maxConcurrentCalls allows, and none ended in time: nothing was sent. Raise the limit, or call less at once.`;
    return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxConcurrentCalls", max });
  }

  #tooMany(): ToolkitError<"LIMIT_EXCEEDED"> {
    const { maxQueuedCalls: max } = this.#options;
    const message = `${max} calls wait for their turn at ${this.#connection.namespace} already, as many as maxQueuedCalls allows: nothing was sent. Call less at once.`;
    return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxQueuedCalls", max });
  }
}

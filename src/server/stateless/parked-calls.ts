import { randomUUID } from "node:crypto";
import { ToolkitError } from "../../core/error.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { invalidParams } from "../wire/error-form.ts";
import type { RequestEnvelope } from "./request-envelope.ts";
import type { CallAddress } from "./request-state.ts";

type Fields = Readonly<Record<string, unknown>>;

/** One request of a client for a call: the first, or one that comes back with answers. */
export interface CallRound {
  readonly envelope: RequestEnvelope;
  /** Aborts when the client gives this request up: the call is cancelled then. */
  readonly signal: AbortSignal;
  /** Sends a notification on the stream of this request. */
  notify(method: string, params: Fields): void;
}

/** A round with the answers to the questions of the one before, by their keys. */
export interface AnswerRound extends CallRound {
  readonly responses: Fields;
}

/** A call that waits for the answers of a client which has gone to ask for them. */
export interface ParkedCall {
  readonly id: string;
  readonly principal: string | undefined;
  /** The number of the round whose answers it waits for; undefined while it runs. */
  readonly awaitedRound: number | undefined;
  /** Goes on with the answers, at once where they make sense. Gives its result, or the next questions. @throws RpcError for answers that make no sense; the call's error */
  resume(round: AnswerRound): Promise<Fields>;
  /** Cancels it. */
  drop(reason: Error): void;
}

/** The calls that wait for answers, by their id. Replicas put theirs together behind this port. */
export interface ParkedCalls {
  /** The process that has the calls which are parked here, as states name it. */
  readonly replica: string;
  /** Keeps a call until it is answered or forgotten, or is late. Again for each round. @throws ToolkitError `LIMIT_EXCEEDED` */
  park(call: ParkedCall): void;
  /**
   * Gives answers to a call, wherever it is.
   *
   * @throws RpcError where the round was answered already, or the call has ended; ToolkitError `OUTCOME_UNKNOWN` where its process is gone;
   *   whatever the call throws
   */
  answer(address: CallAddress, round: AnswerRound): Promise<Fields>;
  /** The call is over. */
  forget(id: string): void;
  /** Drops every call, which cancels it. */
  end(): void;
}

/** The limits of parked calls. */
export interface ParkedCallLimits {
  readonly maxParkedCalls: number;
  readonly maxParkedCallsPerPrincipal: number;
  /** The time for an answer, in milliseconds. */
  readonly inputTimeoutMs: number;
  readonly clock: Clock;
}

interface KeptCall {
  readonly call: ParkedCall;
  timer: Timer | undefined;
}

/** The parked calls of this process. */
export class LocalParkedCalls implements ParkedCalls {
  readonly replica = randomUUID();
  readonly #limits: ParkedCallLimits;
  readonly #byId = new Map<string, KeptCall>();
  readonly #counts = new Map<string | undefined, number>();

  constructor(limits: ParkedCallLimits) {
    this.#limits = limits;
  }

  park(call: ParkedCall): void {
    const { clock, inputTimeoutMs } = this.#limits;
    const kept = this.#byId.get(call.id) ?? this.#keep(call);
    kept.timer?.cancel();
    kept.timer = clock.setTimer(() => {
      this.forget(call.id);
      call.drop(new Error(`No answer came within inputTimeoutMs (${inputTimeoutMs}).`));
    }, inputTimeoutMs);
  }

  async answer({ replica, call: id, round }: CallAddress, answers: AnswerRound): Promise<Fields> {
    if (replica !== this.replica) throw outcomeUnknown();
    const kept = this.#byId.get(id);
    if (kept === undefined)
      throw invalidParams("The call of this requestState has ended: it was answered, cancelled, or its time was over.");
    if (kept.call.awaitedRound !== round) throw invalidParams("This requestState was used already.");
    const resumed = kept.call.resume(answers);
    // One that did not take the answers goes on waiting, and no longer than before.
    if (kept.call.awaitedRound === undefined) kept.timer?.cancel();
    return resumed;
  }

  forget(id: string): void {
    const kept = this.#byId.get(id);
    if (kept === undefined) return;
    this.#byId.delete(id);
    kept.timer?.cancel();
    const { principal } = kept.call;
    const count = (this.#counts.get(principal) ?? 1) - 1;
    if (count === 0) this.#counts.delete(principal);
    else this.#counts.set(principal, count);
  }

  end(): void {
    for (const { call } of [...this.#byId.values()]) {
      this.forget(call.id);
      call.drop(new Error("The server is shutting down."));
    }
  }

  #keep(call: ParkedCall): KeptCall {
    const { maxParkedCalls, maxParkedCallsPerPrincipal } = this.#limits;
    const own = this.#counts.get(call.principal) ?? 0;
    if (own >= maxParkedCallsPerPrincipal) throw tooMany("maxParkedCallsPerPrincipal", maxParkedCallsPerPrincipal);
    if (this.#byId.size >= maxParkedCalls) throw tooMany("maxParkedCalls", maxParkedCalls);
    const kept: KeptCall = { call, timer: undefined };
    this.#byId.set(call.id, kept);
    this.#counts.set(call.principal, own + 1);
    return kept;
  }
}

/** The process that had a call is gone, and nothing says how far it got: it is not run again. */
export function outcomeUnknown(): ToolkitError<"OUTCOME_UNKNOWN"> {
  const message = "The process that asked for this input is gone, and its call with it. It may have run.";
  return new ToolkitError("OUTCOME_UNKNOWN", message, { namespace: "" });
}

function tooMany(limit: string, max: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `So many calls wait for input that no further one may (${limit}, ${max}).`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit, max });
}

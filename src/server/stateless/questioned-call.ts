import { randomUUID } from "node:crypto";
import type { LogEntry } from "../../core/session.ts";
import { isRecord, present } from "../../lib/value.ts";
import { modernCodes } from "../../mcp/modern/revision.ts";
import { RpcError } from "../../mcp/rpc/rpc-error.ts";
import type { RpcId } from "../../mcp/rpc/rpc-message.ts";
import { type ClientFacts, type ClientPort, ServedRequest } from "../request-session.ts";
import { logLevels } from "../serve-options.ts";
import { invalidParams } from "../wire/error-form.ts";
import type { AnswerRound, CallRound, ParkedCall, ParkedCalls } from "./parked-calls.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The parts of a call. */
export interface QuestionedCallParts {
  readonly sessionId: string;
  readonly principal: string | undefined;
  /** False for a method whose result may not ask. */
  readonly canAsk: boolean;
  readonly parked: ParkedCalls;
  /** Makes the result that puts questions, with the state that leads back to their round. */
  required(call: string, round: number, inputRequests: Fields): Fields;
}

interface Question {
  readonly method: string;
  readonly params: Fields;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

type Outcome = { readonly result: Fields } | { readonly error: unknown };

/** The capability that a client needs for a question. */
const neededFor: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/**
 * One call of a client without a session, over all requests that it takes. It runs once. Where it asks, the request is answered with its
 * questions, the call waits, and goes on with the next request, which brings the answers.
 */
export class QuestionedCall implements ClientPort, ParkedCall {
  readonly id = randomUUID();
  readonly sessionId: string;
  readonly principal: string | undefined;
  readonly canAsk: boolean;
  readonly facts: ClientFacts;
  readonly #parts: QuestionedCallParts;
  readonly #abort = new AbortController();
  readonly #questions = new Map<string, Question>();
  #round: CallRound;
  #answer: PromiseWithResolvers<Fields> | undefined;
  #outcome: Outcome | undefined;
  #rounds = 0;
  #asked = 0;
  #isGathering = false;

  constructor(parts: QuestionedCallParts, round: CallRound) {
    const { sessionId, principal, canAsk } = parts;
    this.#parts = parts;
    this.#round = round;
    this.sessionId = sessionId;
    this.principal = principal;
    this.canAsk = canAsk;
    this.facts = round.envelope;
  }

  get awaitedRound(): number | undefined {
    return this.#answer === undefined ? this.#rounds : undefined;
  }

  /** Begins it. Gives its result, or the first questions. */
  run(
    id: RpcId,
    params: Fields,
    work: (request: ServedRequest, signal: AbortSignal) => Promise<Fields>,
  ): Promise<Fields> {
    const answered = this.#await(this.#round);
    work(new ServedRequest(id, params, this), this.#abort.signal).then(
      (result) => this.#settle({ result }),
      (error: unknown) => this.#settle({ error }),
    );
    return answered;
  }

  async resume(round: AnswerRound): Promise<Fields> {
    const { responses, envelope } = round;
    const lacking = [...this.#questions.values()].map(({ method }) => neededFor[method] ?? method);
    const required = lacking.filter((capability) => envelope.capabilities[capability] === undefined);
    if (required.length > 0) throw missingCapability(required);
    for (const key of this.#questions.keys()) {
      if (responses[key] !== undefined && !isRecord(responses[key]))
        throw invalidParams(`Invalid params: inputResponses.${key} must be an object.`);
    }
    const answered = this.#await(round);
    for (const [key, { resolve }] of [...this.#questions]) {
      if (responses[key] === undefined) continue;
      this.#questions.delete(key);
      resolve(responses[key]);
    }
    this.#proceed();
    return answered;
  }

  drop(reason: Error): void {
    this.#abort.abort(reason);
  }

  ask(method: string, params: Fields, { signal }: { readonly signal: AbortSignal }): Promise<unknown> {
    this.#asked += 1;
    const key = `${this.#asked}`;
    // The revision has no word for the end of a visit.
    const { elicitationId: _id, ...asked } = params;
    return new Promise((resolve, reject) => {
      const withdraw = () => {
        this.#questions.delete(key);
        reject(signal.reason);
      };
      if (signal.aborted) return withdraw();
      signal.addEventListener("abort", withdraw, { once: true });
      const settled = () => signal.removeEventListener("abort", withdraw);
      this.#questions.set(key, {
        method,
        params: asked,
        resolve: (answer) => {
          settled();
          resolve(answer);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      this.#proceed();
    });
  }

  notify(method: string, params: Fields): void {
    // Between two requests there is no stream, as if the client were not reading.
    if (this.#answer === undefined) return;
    const { envelope, notify } = this.#round;
    if (method !== "notifications/progress") notify(method, params);
    else if (envelope.progressToken !== undefined) notify(method, { ...params, progressToken: envelope.progressToken });
  }

  log({ level, logger, data }: LogEntry): void {
    const least = this.#round.envelope.logLevel;
    if (least === undefined || logLevels.indexOf(level) < logLevels.indexOf(least)) return;
    this.notify("notifications/message", present({ level, logger, data }));
  }

  onRootsChange(): void {
    // Its revision announces none: they are asked for anew with each call.
  }

  /** The answer to a request: the outcome, or questions. A client that gives it up gives up the call. */
  async #await(round: CallRound): Promise<Fields> {
    const answer = Promise.withResolvers<Fields>();
    this.#round = round;
    this.#answer = answer;
    const { signal } = round;
    const onAbort = () => {
      this.drop(signal.reason);
      answer.reject(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await answer.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #settle(outcome: Outcome): void {
    this.#outcome = outcome;
    this.#proceed();
  }

  #proceed(): void {
    const answer = this.#answer;
    const outcome = this.#outcome;
    if (outcome !== undefined) {
      // A call that ended while it was parked keeps its outcome for the client that comes back.
      if (answer === undefined) return;
      this.#parts.parked.forget(this.id);
      if ("error" in outcome) answer.reject(outcome.error);
      else answer.resolve(outcome.result);
    } else if (this.#questions.size > 0 && !this.#isGathering) {
      this.#isGathering = true;
      // Questions that are put at once go together.
      setImmediate(() => {
        this.#isGathering = false;
        if (this.#outcome === undefined && this.#questions.size > 0) this.#putQuestions();
      });
    }
  }

  #putQuestions(): void {
    const answer = this.#answer;
    if (answer === undefined || this.#abort.signal.aborted) return;
    try {
      this.#parts.parked.park(this);
    } catch (error) {
      for (const [key, { reject }] of [...this.#questions]) {
        this.#questions.delete(key);
        reject(error);
      }
      return;
    }
    this.#rounds += 1;
    this.#answer = undefined;
    const questions = [...this.#questions].map(([key, { method, params }]) => [key, { method, params }] as const);
    answer.resolve(this.#parts.required(this.id, this.#rounds, Object.fromEntries(questions)));
  }
}

/** The error for a client that cannot do what a request needs. */
export function missingCapability(names: readonly string[]): RpcError {
  const requiredCapabilities = Object.fromEntries(names.map((name) => [name, {}]));
  return new RpcError({
    code: modernCodes.missingCapability,
    message: `This request needs a capability that the client did not declare: ${names.join(", ")}.`,
    data: { requiredCapabilities },
  });
}

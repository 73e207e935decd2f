import { setTimeout as delay } from "node:timers/promises";
import { ToolkitError } from "../../core/error.ts";
import type { CallContext } from "../../core/item.ts";
import { isRecord } from "../../lib/value.ts";
import { type Cancellation, Cancelled } from "../rpc/cancellation.ts";
import { ConnectionLostError, RpcError, sentence } from "../rpc/rpc-error.ts";
import type { ServerRequestHandler } from "../server-request.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The requests whose results may say that input is required. */
const asking: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);
/** So many times a server may require input before it answers one request. */
const maxRounds = 16;
/** So many questions it may put at once. */
const maxQuestions = 32;
/** So long a state it may have sent back to it, in characters: it goes both ways in each round. */
const maxStateLength = 1024 * 1024;
/** The wait before a request is sent again without an answer to give, in milliseconds; it doubles. */
const waitMs = 250;
const maxWaitMs = 8_000;

/** One request that a server may answer with questions. */
export interface AskedRequest {
  readonly method: string;
  readonly params: Fields;
  readonly context: CallContext | undefined;
  readonly cancellation: Cancellation | undefined;
  /** Sends it, under an id of its own each time. */
  send(params: Fields): Promise<unknown>;
}

/**
 * Requests in several rounds: a server that needs input says so in its result, the caller is asked, and the request is made again with
 * the answers and the state of the server, which is not looked into.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export class InputRounds {
  readonly #answer: ServerRequestHandler;
  readonly #server: string;
  readonly #asking = new Set<AbortController>();

  /** @param server - its name, for errors */
  constructor(answer: ServerRequestHandler, server: string) {
    this.#answer = answer;
    this.#server = server;
  }

  /**
   * The result of a request that is complete.
   *
   * @throws ToolkitError `REMOTE_ERROR` for a result that makes no sense, `LIMIT_EXCEEDED` for one question too many, `NO_DELEGATE` where
   *   there is no model to ask; Cancelled; whatever `send` throws
   */
  async completed(first: unknown, request: AskedRequest): Promise<unknown> {
    const { method, params } = request;
    let result = first;
    for (let round = 0; ; round += 1) {
      const fields = isRecord(result) ? result : {};
      const { resultType = "complete", requestState: state } = fields;
      if (resultType === "complete") return result;
      if (resultType !== "input_required" || !asking.has(method)) throw this.#bad(method, "of a type it does not have");
      if (round >= maxRounds) {
        throw tooMany(`requires input again after ${maxRounds} rounds`, { limit: "inputRounds", max: maxRounds });
      }
      const questions = this.#questionsOf(method, fields.inputRequests);
      if (state === undefined && questions.length === 0) throw this.#bad(method, "that requires input and names none");
      if (state !== undefined) this.#assertState(method, state);
      const inputResponses =
        questions.length === 0 ? await this.#pause(round, request) : await this.#ask(questions, request);
      result = await request.send({
        ...params,
        ...(inputResponses === undefined ? {} : { inputResponses }),
        ...(state === undefined ? {} : { requestState: state }),
      });
    }
  }

  /** The connection has ended: its questions are withdrawn. */
  end(): void {
    for (const controller of this.#asking) {
      controller.abort(new ConnectionLostError("the connection was closed while input was awaited", { sent: false }));
    }
  }

  async #ask(questions: readonly Question[], { method: asked, context, cancellation }: AskedRequest): Promise<Fields> {
    return this.#within(cancellation, async (signal) => {
      const answers = questions.map(async ([key, method, params]): Promise<[string, Fields]> => {
        try {
          const answer = await this.#answer(method, params, { signal, context });
          if (answer !== undefined) return [key, answer];
        } catch (error) {
          if (error instanceof RpcError) throw this.#bad(asked, `that requires ${sentence(error.message)}`);
          throw error;
        }
        throw this.#bad(asked, "that requires input of a kind that was not offered");
      });
      return Object.fromEntries(await Promise.all(answers));
    });
  }

  /** Some servers ask for nothing but time. */
  async #pause(round: number, { cancellation }: AskedRequest): Promise<undefined> {
    await this.#within(cancellation, (signal) =>
      delay(Math.min(waitMs * 2 ** round, maxWaitMs), undefined, { signal }),
    );
    return undefined;
  }

  #questionsOf(method: string, inputRequests: unknown): readonly Question[] {
    if (inputRequests === undefined) return [];
    if (!isRecord(inputRequests)) throw this.#bad(method, "whose inputRequests are no object");
    const entries = Object.entries(inputRequests);
    const { length } = entries;
    if (length > maxQuestions) {
      const what = `puts ${length} questions at once, more than ${maxQuestions}`;
      throw tooMany(what, { limit: "inputRequests", max: maxQuestions, actual: length });
    }
    return entries.map(([key, value]) => {
      const { method: wanted, params } = isRecord(value) ? value : {};
      if (typeof wanted !== "string") throw this.#bad(method, "with an input request that has no method");
      return [key, wanted, isRecord(params) ? params : {}];
    });
  }

  #assertState(method: string, state: unknown): void {
    if (typeof state !== "string") throw this.#bad(method, "whose requestState is no text");
    if (state.length <= maxStateLength) return;
    const { length } = state;
    const what = `wants a requestState of ${length} characters back, more than ${maxStateLength}`;
    throw tooMany(what, { limit: "requestState", max: maxStateLength, actual: length });
  }

  #bad(method: string, how: string): ToolkitError<"REMOTE_ERROR"> {
    const message = sentence(`${this.#server} answered ${method} with a result ${how}`);
    return new ToolkitError("REMOTE_ERROR", message, { server: this.#server });
  }

  /** Runs until the caller gives up, or the connection ends. Whatever still runs after a failure is ended. */
  async #within<T>(cancellation: Cancellation | undefined, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = Promise.withResolvers<never>();
    const onAbort = (reason: unknown) => {
      aborted.reject(new Cancelled(reason));
      controller.abort(reason);
    };
    signal.addEventListener("abort", () => aborted.reject(signal.reason));
    this.#asking.add(controller);
    cancellation?.onAbort(onAbort);
    try {
      return await Promise.race([run(signal), aborted.promise]);
    } catch (error) {
      controller.abort(error);
      throw error;
    } finally {
      cancellation?.offAbort(onAbort);
      this.#asking.delete(controller);
    }
  }
}

type Question = readonly [key: string, method: string, params: Fields];

function tooMany(
  what: string,
  details: { readonly limit: string; readonly max: number; readonly actual?: number },
): ToolkitError<"LIMIT_EXCEEDED"> {
  return new ToolkitError("LIMIT_EXCEEDED", `The server ${what}: the request was given up.`, details);
}

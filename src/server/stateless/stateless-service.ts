import { messageOf, ToolkitError } from "../../core/error.ts";
import { digest } from "../../lib/canonical.ts";
import { isRecord, present } from "../../lib/value.ts";
import { RpcError, rpcCodes } from "../../mcp/rpc/rpc-error.ts";
import type { RpcId } from "../../mcp/rpc/rpc-message.ts";
import type { Audience } from "../audiences.ts";
import { itemMethods } from "../item-methods.ts";
import type { RequestAudit } from "../request-audit.ts";
import type { ServedRequest } from "../request-session.ts";
import type { ReadServeOptions } from "../serve-options.ts";
import { errorKey, failedCall, invalidParams, rpcError } from "../wire/error-form.ts";
import { type CacheHints, inputRequired, statelessError, statelessResult } from "../wire/revision-form.ts";
import { listenToChanges } from "./change-stream.ts";
import { LocalParkedCalls, type ParkedCalls } from "./parked-calls.ts";
import { missingCapability, QuestionedCall } from "./questioned-call.ts";
import { type RequestEnvelope, spokenRevisions } from "./request-envelope.ts";
import { type CallAddress, StateSeal } from "./request-state.ts";

type Fields = Readonly<Record<string, unknown>>;

/** One request of a client without a session. */
export interface StatelessRequest {
  readonly id: RpcId;
  readonly method: string;
  readonly params: Fields;
  readonly envelope: RequestEnvelope;
  readonly principal: string | undefined;
  /** The id for tools. */
  readonly sessionId: string;
  readonly audience: Audience;
  /** Aborts when the client gives it up. */
  readonly signal: AbortSignal;
  notify(method: string, params: Fields): void;
}

/** The methods whose results may ask for input. */
const asking: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);
/** The facts of a server do not change while it runs. */
const discoverTtlMs = 60_000;

/** Answers requests of 2026-07-28: each says who asks and what its client can do, and a call that asks takes several. */
export class StatelessService {
  readonly #options: ReadServeOptions;
  readonly #audit: RequestAudit;
  readonly #parked: ParkedCalls;
  readonly #seal: StateSeal;
  /** The ends of the streams that are open. */
  readonly #streams = new Set<() => void>();
  #isEnding = false;

  constructor(options: ReadServeOptions, audit: RequestAudit, parked: ParkedCalls = new LocalParkedCalls(options)) {
    this.#options = options;
    this.#audit = audit;
    this.#parked = parked;
    this.#seal = new StateSeal(options.stateKey);
  }

  knows(method: string): boolean {
    return method === "server/discover" || method === "subscriptions/listen" || Object.hasOwn(itemMethods, method);
  }

  /** Answers a request. @throws RpcError; the reason where the client gave it up */
  async answer(request: StatelessRequest): Promise<Fields> {
    const { method, params, principal, sessionId: session, signal } = request;
    const audited = { method, params, principal, session, signal };
    return this.#audit.run(audited, async () => {
      try {
        return await this.#run(request);
      } catch (error) {
        signal.throwIfAborted();
        throw this.#failure(error, method);
      }
    });
  }

  /** Ends the streams of notifications, which last for as long as their clients want. */
  endStreams(): void {
    this.#isEnding = true;
    for (const end of this.#streams) end();
  }

  /** Ends it: calls that wait for input are cancelled. */
  end(): void {
    this.endStreams();
    this.#parked.end();
  }

  async #run(request: StatelessRequest): Promise<Fields> {
    const { method, params } = request;
    if (method === "server/discover") return this.#complete(request, this.#discovered());
    if (method === "subscriptions/listen") return this.#complete(request, await this.#listen(request));
    const run = Object.hasOwn(itemMethods, method) ? itemMethods[method] : undefined;
    if (run === undefined)
      throw new RpcError({ code: rpcCodes.methodNotFound, message: `Method not found: ${method}` });
    if (params.requestState !== undefined) return this.#resume(request, params.requestState);
    const call = this.#callOf(request);
    const { host, catalog } = request.audience;
    const work = ({ session, meta, onProgress }: ServedRequest, signal: AbortSignal) =>
      run({ params, host, catalog, session, signal, meta, onProgress }).then(
        (result) => this.#complete(request, assertAsked(result, request.envelope)),
        (error: unknown) => {
          throw error instanceof RpcError ? statelessError(assertAsked(error, request.envelope)) : error;
        },
      );
    return call.run(request.id, params, work);
  }

  #callOf(request: StatelessRequest): QuestionedCall {
    const { sessionId, principal, method } = request;
    const { clock, inputTimeoutMs } = this.#options;
    const required = (call: string, round: number, inputRequests: Fields) => {
      const address = { replica: this.#parked.replica, call, round };
      const expiresAt = clock.now() + inputTimeoutMs;
      const requestState = this.#seal.seal({ ...address, principal, expiresAt, digest: digestOf(request) });
      return inputRequired({ inputRequests, requestState }, this.#options.server);
    };
    const parts = { sessionId, principal, canAsk: asking.has(method), parked: this.#parked, required };
    return new QuestionedCall(parts, request);
  }

  /** The result of a method, whatever an upstream server says of it: only a call here asks its client. */
  #complete(request: StatelessRequest, result: Fields): Fields {
    return statelessResult(request.method, result, this.#options.server, this.#hintsFor(request));
  }

  /** Goes on with a call. @throws RpcError for a state that is none, or another's, or too old: nothing ran */
  async #resume(request: StatelessRequest, state: unknown): Promise<Fields> {
    const { method, params } = request;
    const address = this.#opened(state, request);
    const { inputResponses: responses = {} } = params;
    if (!isRecord(responses)) throw invalidParams("Invalid params: inputResponses must be an object.");
    try {
      return await this.#parked.answer(address, { ...request, responses });
    } catch (error) {
      request.signal.throwIfAborted();
      if (!ToolkitError.is(error, "OUTCOME_UNKNOWN") || method !== "tools/call") throw error;
      this.#options.logger.warn(`A client came back with answers: ${error.message}`);
      return this.#complete(request, failedCall(error, String(params.name)));
    }
  }

  #opened(state: unknown, request: StatelessRequest): CallAddress {
    const facts = typeof state === "string" ? this.#seal.open(state) : undefined;
    if (facts === undefined || facts.principal !== request.principal)
      throw invalidParams(
        "Invalid requestState: it is not one of this server's, or was altered. Begin again without it.",
      );
    if (facts.digest !== digestOf(request))
      throw invalidParams(
        "Invalid requestState: it is that of another call. Send it with the same method, name and arguments.",
      );
    if (facts.expiresAt <= this.#options.clock.now())
      throw invalidParams("The requestState has expired, and its call was cancelled. Begin again without it.");
    return facts;
  }

  #discovered(): Fields {
    const { instructions, protocol } = this.#options;
    const capabilities = {
      ...{ tools: { listChanged: true }, prompts: { listChanged: true } },
      ...{ resources: { subscribe: true, listChanged: true }, completions: {}, logging: {} },
    };
    return present({ supportedVersions: spokenRevisions(protocol), capabilities, instructions });
  }

  #listen(request: StatelessRequest): Promise<Fields> {
    const { sessionId: id, principal, envelope } = request;
    const { clientInfo, capabilities } = envelope;
    const session = { id, ...present({ principal, clientInfo, capabilities }) };
    const onEnd = (listener: () => void) => {
      this.#streams.add(listener);
      if (this.#isEnding) listener();
      return () => void this.#streams.delete(listener);
    };
    return listenToChanges({ ...request, session, options: this.#options, onEnd });
  }

  #hintsFor({ method, principal }: StatelessRequest): CacheHints {
    if (method === "server/discover") return { ttlMs: discoverTtlMs, cacheScope: "public" };
    const isShared = principal === undefined && this.#options.selection === undefined;
    return { ttlMs: this.#options.listTtlMs, cacheScope: isShared ? "public" : "private" };
  }

  #failure(error: unknown, method: string): RpcError {
    if (!(error instanceof RpcError) && !ToolkitError.is(error))
      this.#options.logger.error(`The request ${method} failed: ${messageOf(error)}`, { error });
    return rpcError(error);
  }
}

function digestOf({ method, params }: StatelessRequest): string {
  return digest([method, params.name ?? params.uri ?? null, params.arguments ?? {}]);
}

/** A call that failed because there is no model to ask says so to a client that declares none. @throws RpcError */
function assertAsked<T extends Fields | RpcError>(ended: T, { capabilities }: RequestEnvelope): T {
  const facts = ended instanceof RpcError ? ended.data : ended._meta;
  if (isRecord(facts) && facts[errorKey] === "NO_DELEGATE" && capabilities.sampling === undefined)
    throw missingCapability(["sampling"]);
  return ended;
}

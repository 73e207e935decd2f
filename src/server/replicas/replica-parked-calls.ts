import { createHash, randomUUID } from "node:crypto";
import { messageOf, ToolkitError } from "../../core/error.ts";
import type { BusSubscription, MessageBus } from "../../core/message-bus.ts";
import type { Logger } from "../../core/session.ts";
import { isRecord, present } from "../../lib/value.ts";
import { RpcError, rpcCodes } from "../../mcp/rpc/rpc-error.ts";
import type { ReadServeOptions } from "../serve-options.ts";
import {
  type AnswerRound,
  LocalParkedCalls,
  outcomeUnknown,
  type ParkedCall,
  type ParkedCalls,
} from "../stateless/parked-calls.ts";
import type { RequestEnvelope } from "../stateless/request-envelope.ts";
import type { CallAddress } from "../stateless/request-state.ts";
import { rpcError } from "../wire/error-form.ts";
import { isReplicaId, type LineEvents, type ReplicaLine } from "./replica-link.ts";
import type { Replicas } from "./replicas.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The channel on which replicas find out whether they open each other's states. */
const keysChannel = "replica-keys";

/** Names each store that is open here: several endpoints of one toolkit are no replicas of each other. */
const storeNames = new WeakMap<MessageBus, string>();

/** The parked calls of all replicas: an answer goes to the one that has the call. */
export class ReplicaParkedCalls implements ParkedCalls {
  readonly replica: string;
  readonly #local: LocalParkedCalls;
  readonly #replicas: Replicas;
  readonly #logger: Logger;
  /** Digests of the keys: the first seals, each opens. */
  readonly #keys: readonly string[];
  /** The endpoint that it is, among others that may share the store, and the store as it is open here. */
  readonly #server: string;
  readonly #store: string;
  readonly #subscription: BusSubscription;
  #isWarned = false;

  constructor(options: ReadServeOptions, replicas: Replicas) {
    this.replica = replicas.link.id;
    this.#local = new LocalParkedCalls(options);
    this.#replicas = replicas;
    this.#logger = options.logger;
    this.#keys = options.stateKey?.map(digestOf) ?? [];
    this.#server = options.server.name;
    this.#store = storeNames.get(replicas.bus) ?? randomUUID();
    storeNames.set(replicas.bus, this.#store);
    replicas.accept("answer", (payload, line) => this.#accept(payload, line));
    this.#subscription = replicas.bus.subscribe(keysChannel, (event) => {
      if (event.type === "message") this.#compare(event.message);
      else this.#announceKeys();
    });
    void this.#subscription.ready.then(() => this.#announceKeys()).catch(() => undefined);
  }

  park(call: ParkedCall): void {
    this.#local.park(call);
  }

  async answer(address: CallAddress, round: AnswerRound): Promise<Fields> {
    const { replica, call, round: number } = address;
    if (replica === this.replica) return this.#local.answer({ ...address, replica: this.#local.replica }, round);
    if (!isReplicaId(replica)) throw outcomeUnknown();
    const { envelope, responses } = round;
    const answered = new RemoteAnswer(round);
    let line: ReplicaLine | undefined;
    try {
      line = await this.#replicas.link.open(replica, "answer", { call, round: number, envelope, responses }, answered);
    } catch (error) {
      // Too large: it was not sent. All else may have been.
      if (ToolkitError.is(error, "LIMIT_EXCEEDED")) throw error;
      this.#logger.error(`An answer could not be forwarded to the replica of its call: ${messageOf(error)}`, { error });
      throw outcomeUnknown();
    }
    if (line === undefined) throw outcomeUnknown();
    return answered.settled(line);
  }

  forget(id: string): void {
    this.#local.forget(id);
  }

  end(): void {
    this.#subscription.end();
    this.#local.end();
  }

  #accept(payload: unknown, line: ReplicaLine): LineEvents | undefined {
    if (!isRecord(payload)) return undefined;
    const { call, round, envelope, responses } = payload;
    if (typeof call !== "string" || typeof round !== "number" || !isRecord(envelope) || !isRecord(responses)) {
      return undefined;
    }
    const gone = new AbortController();
    const notify = (method: string, params: Fields) => line.send({ method, params });
    const facts = envelope as unknown as RequestEnvelope;
    const address = { replica: this.#local.replica, call, round };
    void this.#local
      .answer(address, { envelope: facts, responses, notify, signal: gone.signal })
      .then(
        (result) => line.send({ result }),
        (error: unknown) => {
          if (!(error instanceof RpcError) && !ToolkitError.is(error))
            this.#logger.error(`A call that waited for input failed: ${messageOf(error)}`, { error });
          const { code, message, data } = rpcError(error);
          line.send({ error: present({ code, message, data }) });
        },
      )
      .finally(() => line.end());
    const reason = new Error("The client is gone, or the replica that it was connected to.");
    return { data: () => undefined, ended: () => gone.abort(reason) };
  }

  /** Others compare their keys with those of this one. @param to - the one that is to; default: all, each of which answers */
  #announceKeys(to?: unknown): void {
    const said = { from: this.replica, server: this.#server, store: this.#store, keys: this.#keys, to };
    this.#replicas.bus.publish(keysChannel, said).catch(() => undefined);
  }

  #compare(message: unknown): void {
    if (!isRecord(message) || message.server !== this.#server || message.store === this.#store) return;
    const { from, to, keys } = message;
    if (!Array.isArray(keys) || (to !== undefined && to !== this.replica)) return;
    if (to === undefined) this.#announceKeys(from);
    const [sealing] = this.#keys;
    if ((this.#keys.includes(String(keys[0])) && keys.includes(sealing)) || this.#isWarned) return;
    this.#isWarned = true;
    const problem =
      sealing === undefined ? "and this one has no stateKey" : "and they do not have the same keys in stateKey";
    this.#logger.error(
      `Several replicas serve with this store, ${problem}: an answer to a question that reaches another replica than the question came from is refused. Give all the same stateKey, such as createMcpHandler(toolkit, { stateKey: process.env.STATE_KEY }).`,
    );
  }
}

/** The result of a call of another replica, for the client that has answered here. */
class RemoteAnswer implements LineEvents {
  readonly #round: AnswerRound;
  readonly #result = Promise.withResolvers<Fields>();

  constructor(round: AnswerRound) {
    this.#round = round;
    // It may fail before it is waited for.
    this.#result.promise.catch(() => undefined);
  }

  /** Resolves to the result. A client that goes cancels the call. */
  async settled(line: ReplicaLine): Promise<Fields> {
    const { signal } = this.#round;
    const onAbort = () => {
      line.end();
      this.#result.reject(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.#result.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  data(message: unknown): void {
    if (!isRecord(message)) return;
    const { result, error, method, params } = message;
    if (isRecord(result)) this.#result.resolve(result);
    else if (isRecord(error)) this.#result.reject(errorIn(error));
    else if (typeof method === "string" && isRecord(params)) this.#round.notify(method, params);
  }

  ended(): void {
    // After its result that changes nothing.
    this.#result.reject(outcomeUnknown());
  }
}

function errorIn({ code, message, data }: Fields): RpcError {
  const number = typeof code === "number" ? code : rpcCodes.internalError;
  return new RpcError({ code: number, message: String(message), data });
}

function digestOf(key: string): string {
  return createHash("sha256").update(`toolweave stateKey ${key}`).digest("base64url").slice(0, 22);
}

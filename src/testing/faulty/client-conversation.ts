import { pause } from "../../lib/backoff.ts";
import { isRecord } from "../../lib/value.ts";
import { AnswerFaults } from "./answer-faults.ts";
import {
  type ClientChannel,
  ClientRequests,
  type JsonRpcId,
  type MethodOutcome,
  type RelatedRequest,
} from "./client-channel.ts";
import type { FaultName, FaultTransport } from "./faults.ts";
import type { FaultyState } from "./faulty-state.ts";
import { Flood, type FloodMessage, floods } from "./flood.ts";
import { outcomeOf, runTool } from "./methods.ts";
import { completed, earlierAnswers, InputQuestions, ListenRequests, revisionError, wantsLogs } from "./stateless.ts";

type Params = Readonly<Record<string, unknown>>;

/** The faults that freeze connections. */
export const freezing = ["half-open", "black-hole"] as const satisfies readonly FaultName[];

/** The messages with one client, in one connection. */
export class ClientConversation {
  readonly channel: ClientChannel;
  readonly #state: FaultyState;
  readonly #client: ClientRequests;
  readonly #running = new Map<JsonRpcId, AbortController>();
  readonly #floods = new Map<FaultName, Flood>();
  readonly #subscriptions = new Set<string>();
  /** Of a client without a session. */
  readonly #listens = new ListenRequests();
  #open = true;
  #frozen = false;
  #ready = false;

  constructor(state: FaultyState, channel: ClientChannel) {
    this.#state = state;
    this.channel = channel;
    this.#client = new ClientRequests((message, about) => this.#write(message, about));
    if (freezing.some((name) => state.faults.take(name) !== undefined)) this.freeze();
    if (state.isStateless) this.#begin();
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** The URIs that the client subscribed to. */
  get subscriptions(): ReadonlySet<string> {
    return this.#state.isStateless ? this.#listens.uris : this.#subscriptions;
  }

  /** The number of streams of notifications that are open to a client without a session. */
  get listens(): number {
    return this.#listens.count;
  }

  /** Receives a parsed message of the client. It never throws. */
  receive(message: unknown): void {
    if (!this.#open || this.#frozen || !isRecord(message)) return;
    const { id, method } = message;
    const params = isRecord(message.params) ? message.params : {};
    if (typeof method !== "string") this.#client.answered(message);
    else if (typeof id === "string" || typeof id === "number") void this.#request(id, method, params);
    else this.#notified(method, params);
  }

  /** Sends a notification, once the handshake is done. */
  notify(method: string, params?: object, about?: RelatedRequest): void {
    if (this.#state.isStateless && about === undefined) {
      for (const [request, message] of this.#listens.copiesOf(method, { ...params }))
        this.#write(message, { request, answer: false });
    } else if (this.#ready) this.#write({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) }, about);
  }

  /** Sends a request, and gives its result. @throws Error with the answer of the client, or when the connection ends first */
  request(method: string, params?: object, about?: RelatedRequest): Promise<unknown> {
    return this.#client.request(method, params, about);
  }

  /** Stops reading and writing. */
  freeze(): void {
    this.#frozen = true;
    this.channel.freeze();
  }

  /** A fault was switched on or off that happens without a request. */
  faultChanged(name: FaultName): void {
    const flood = floods[name];
    if (flood === undefined || !this.#ready) return;
    this.#floods.get(name)?.stop();
    this.#floods.delete(name);
    if (!this.#open || this.#state.faults.find(name) === undefined) return;
    const write = (message: FloodMessage) => {
      if (this.#state.isStateless && message.id === undefined) this.notify(message.method, message.params);
      else this.#write(message);
    };
    this.#floods.set(name, new Flood({ name, state: this.#state, write, message: flood }));
  }

  /** The connection has ended. */
  end(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const flood of this.#floods.values()) flood.stop();
    for (const controller of this.#running.values()) controller.abort(new Error("The connection ended."));
    this.#client.end();
  }

  #notified(method: string, params: Params): void {
    if (method === "notifications/cancelled")
      this.#running.get(params.requestId as JsonRpcId)?.abort(new Error("cancelled"));
    if (method === "notifications/initialized" && !this.#ready) this.#begin();
  }

  /** From now on it may be notified. */
  #begin(): void {
    this.#ready = true;
    for (const name of Object.keys(floods)) this.faultChanged(name as FaultName);
  }

  async #request(id: JsonRpcId, method: string, params: Params): Promise<void> {
    const { faults, clock } = this.#state;
    const kind = { method, tool: method === "tools/call" ? String(params.name) : undefined };
    if (faults.take("die-before", kind) !== undefined) return this.channel.kill();
    if (faults.take("hang", kind) !== undefined) return;
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const outcome = await this.#outcome(id, method, params, controller.signal);
      if (!this.#open || controller.signal.aborted) return this.channel.done(id);
      if (faults.take("die-after", kind) !== undefined) return this.channel.kill();
      if (faults.take("end-stream", kind) !== undefined) return this.channel.done(id);
      const slow = faults.take("slow", kind);
      if (slow !== undefined) await pause(slow.ms ?? 1_000, { clock, signal: controller.signal });
      const { progressToken } = isRecord(params._meta) ? params._meta : {};
      for (const [text, answer] of new AnswerFaults(faults, kind).texts({ id, outcome, progressToken })) {
        this.#send(text, { request: id, answer });
      }
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    } finally {
      this.#running.delete(id);
    }
    this.channel.done(id);
  }

  async #outcome(id: JsonRpcId, method: string, params: Params, signal: AbortSignal): Promise<MethodOutcome> {
    if (this.#state.isStateless) return this.#stateless(id, method, params, signal);
    if (method === "tools/call") return this.#call(id, params, signal);
    const { uri } = params;
    if (method === "resources/subscribe") this.#subscriptions.add(String(uri));
    if (method === "resources/unsubscribe") this.#subscriptions.delete(String(uri));
    return outcomeOf(this.#state, method, params);
  }

  async #stateless(id: JsonRpcId, method: string, params: Params, signal: AbortSignal): Promise<MethodOutcome> {
    const refused = revisionError(params);
    if (refused !== undefined) return refused;
    if (method === "subscriptions/listen") return this.#listen(id, params, signal);
    if (method !== "tools/call") return completed(outcomeOf(this.#state, method, params), method);
    const earlier = earlierAnswers(params);
    if (earlier === undefined) return { error: { code: -32602, message: "Invalid requestState" } };
    const questions = new InputQuestions(earlier, params);
    const outcome = await this.#call(id, params, signal, questions);
    return questions.required ?? completed(outcome, method);
  }

  /** Goes on until the client ends it, or the connection ends. */
  async #listen(id: JsonRpcId, params: Params, signal: AbortSignal): Promise<MethodOutcome> {
    this.#write(this.#listens.open(id, params), { request: id, answer: false });
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    this.#listens.end(id);
    return { result: {} };
  }

  async #call(id: JsonRpcId, params: Params, signal: AbortSignal, questions?: InputQuestions): Promise<MethodOutcome> {
    const about = { request: id, answer: false };
    const { progressToken } = isRecord(params._meta) ? params._meta : {};
    const context = {
      signal,
      progress: (progress: number, total?: number, message?: string) => {
        if (progressToken === undefined || signal.aborted) return;
        this.notify("notifications/progress", { progressToken, progress, total, message }, about);
      },
      notify: (method: string, more?: object) => {
        const isWanted = questions === undefined || method !== "notifications/message" || wantsLogs(params);
        if (isWanted) this.notify(method, more, about);
      },
      request: (method: string, more?: object) => questions?.ask(method, more) ?? this.request(method, more, about),
    };
    return runTool(this.#state, params, context);
  }

  #write(message: object, about?: RelatedRequest): void {
    this.#send(JSON.stringify(message), about);
  }

  #send(text: string, about?: RelatedRequest): void {
    if (this.#open && !this.#frozen) this.channel.write(text, about);
  }
}

/** A transport by which clients reach a faulty server. */
export interface Endpoint {
  readonly transport: FaultTransport;
  readonly conversations: Iterable<ClientConversation>;
  /** Open connections and running processes, each in a few words. */
  running(): readonly string[];
  /** A fault was switched on or off. Resolves when the change is in force. */
  faultChanged(name: FaultName): Promise<void>;
  /** Ends everything. */
  close(): Promise<void>;
}

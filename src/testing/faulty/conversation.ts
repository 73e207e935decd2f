import { isRecord } from "../../lib/value.ts";
import { AnswerFaults } from "./answer-faults.ts";
import { AskedClient } from "./asked-client.ts";
import type { FaultName } from "./faults.ts";
import { runTool } from "./faulty-tool-run.ts";
import { Flood, floods } from "./flood.ts";
import type { About, Line, RequestId } from "./line.ts";
import { type Outcome, outcomeOf } from "./methods.ts";
import { pause } from "./pause.ts";
import type { Script } from "./script.ts";

type Params = Readonly<Record<string, unknown>>;

/** What is said with one client in one connection. */
export class Conversation {
  readonly line: Line;
  readonly #script: Script;
  readonly #client: AskedClient;
  readonly #running = new Map<RequestId, AbortController>();
  readonly #floods = new Map<FaultName, Flood>();
  readonly #subscriptions = new Set<string>();
  #open = true;
  #frozen = false;
  #ready = false;

  constructor(script: Script, line: Line) {
    this.#script = script;
    this.line = line;
    this.#client = new AskedClient((message, about) => this.#write(message, about));
    if (script.faults.take("half-open") !== undefined) this.freeze();
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** What the client subscribed to. */
  get subscriptions(): ReadonlySet<string> {
    return this.#subscriptions;
  }

  /** Takes a message of the client, parsed and otherwise unknown. It never throws. */
  receive(message: unknown): void {
    if (!this.#open || this.#frozen || !isRecord(message)) return;
    const { id, method } = message;
    const params = isRecord(message.params) ? message.params : {};
    if (typeof method !== "string") this.#client.answered(message);
    else if (typeof id === "string" || typeof id === "number") void this.#request(id, method, params);
    else this.#notified(method, params);
  }

  /** Tells the client something, once its handshake is done. */
  notify(method: string, params?: object, about?: About): void {
    if (this.#ready) this.#write({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) }, about);
  }

  /** Asks the client. @throws Error with what it answered instead of a result, or when the connection ends first */
  request(method: string, params?: object, about?: About): Promise<unknown> {
    return this.#client.request(method, params, about);
  }

  /** From now on nothing is read or written. */
  freeze(): void {
    this.#frozen = true;
    this.line.freeze();
  }

  /** A fault came on or went off that happens without being asked. */
  faultChanged(name: FaultName): void {
    const flood = floods[name];
    if (flood === undefined || !this.#ready) return;
    this.#floods.get(name)?.stop();
    this.#floods.delete(name);
    if (!this.#open || this.#script.faults.find(name) === undefined) return;
    const write = (message: object) => this.#write(message);
    this.#floods.set(name, new Flood({ name, script: this.#script, write, message: flood }));
  }

  /** The connection is over. */
  end(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const flood of this.#floods.values()) flood.stop();
    for (const controller of this.#running.values()) controller.abort(new Error("The connection ended."));
    this.#client.end();
  }

  #notified(method: string, params: Params): void {
    if (method === "notifications/cancelled")
      this.#running.get(params.requestId as RequestId)?.abort(new Error("cancelled"));
    if (method !== "notifications/initialized" || this.#ready) return;
    this.#ready = true;
    for (const name of Object.keys(floods)) this.faultChanged(name as FaultName);
  }

  async #request(id: RequestId, method: string, params: Params): Promise<void> {
    const { faults, clock } = this.#script;
    const kind = { method, tool: method === "tools/call" ? String(params.name) : undefined };
    if (faults.take("die-before", kind) !== undefined) return this.line.kill();
    if (faults.take("hang", kind) !== undefined) return;
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const outcome = await this.#outcome(id, method, params, controller.signal);
      if (!this.#open || controller.signal.aborted) return this.line.done(id);
      if (faults.take("die-after", kind) !== undefined) return this.line.kill();
      if (faults.take("end-stream", kind) !== undefined) return this.line.done(id);
      const slow = faults.take("slow", kind);
      if (slow !== undefined) await pause(clock, slow.ms ?? 1_000, controller.signal);
      const { progressToken } = isRecord(params._meta) ? params._meta : {};
      for (const [text, answer] of new AnswerFaults(faults, kind).texts({ id, outcome, progressToken })) {
        this.#send(text, { request: id, answer });
      }
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    } finally {
      this.#running.delete(id);
    }
    this.line.done(id);
  }

  async #outcome(id: RequestId, method: string, params: Params, signal: AbortSignal): Promise<Outcome> {
    if (method === "tools/call") return this.#call(id, params, signal);
    const { uri } = params;
    if (method === "resources/subscribe") this.#subscriptions.add(String(uri));
    if (method === "resources/unsubscribe") this.#subscriptions.delete(String(uri));
    return outcomeOf(this.#script, method, params);
  }

  async #call(id: RequestId, params: Params, signal: AbortSignal): Promise<Outcome> {
    const about = { request: id, answer: false };
    const { progressToken } = isRecord(params._meta) ? params._meta : {};
    const context = {
      signal,
      progress: (progress: number, total?: number, message?: string) => {
        if (progressToken === undefined || signal.aborted) return;
        this.notify("notifications/progress", { progressToken, progress, total, message }, about);
      },
      notify: (method: string, more?: object) => this.notify(method, more, about),
      request: (method: string, more?: object) => this.request(method, more, about),
    };
    return runTool(this.#script, params, context);
  }

  #write(message: object, about?: About): void {
    this.#send(JSON.stringify(message), about);
  }

  #send(text: string, about?: About): void {
    if (this.#open && !this.#frozen) this.line.write(text, about);
  }
}

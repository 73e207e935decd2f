import { setTimeout as delay } from "node:timers/promises";
import type { ConnectorTarget } from "../../src/core/target.ts";
import type { FaultName, FaultOptions } from "../../src/testing/faulty/faults.ts";
import { type FaultyServer, faultyServer } from "../../src/testing/index.ts";
import { RawClient } from "../server/fixture/raw-client.ts";
import { Quantiles } from "../soak/quantiles.ts";
import type { Random } from "../support/random.ts";
import type { LoadLedger, MadeCall } from "./ledger.ts";

/** An upstream server of the gateway. */
export interface Upstream {
  readonly namespace: string;
  readonly target: ConnectorTarget;
}

/** Principals that see one server alone, whose lists change. */
export const watcherPrefix = "watcher-";

/** The time in which a client must have its answer, in milliseconds. */
const answerMs = 30_000;

/** The faulty servers, by namespace, and a steady one whose lists change. */
export class Upstreams implements AsyncDisposable {
  readonly faulty: ReadonlyMap<string, FaultyServer>;
  readonly lists: FaultyServer;
  readonly #stack = new AsyncDisposableStack();

  constructor() {
    const make = () => this.#stack.use(faultyServer());
    this.faulty = new Map(["json", "sse", "child"].map((namespace) => [namespace, make()]));
    this.lists = make();
  }

  async targets(): Promise<readonly Upstream[]> {
    const list: Upstream[] = [];
    for (const [namespace, server] of this.faulty) {
      const answers = namespace === "json" ? "json" : "sse";
      const target = namespace === "child" ? await server.stdio() : { url: (await server.listen({ answers })).url };
      list.push({ namespace, target });
    }
    return [...list, { namespace: "lists", target: { url: (await this.lists.listen()).url } }];
  }

  /** The runs of a call over all servers. */
  runs(id: string): number {
    let runs = 0;
    for (const server of this.faulty.values()) runs += server.runs(id);
    return runs;
  }

  /** Has faults until the signal aborts, and counts each. */
  async trouble(random: Random, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const servers = [...this.faulty];
    while (!signal.aborted) {
      await delay(200 + random() * 800, undefined, { signal }).catch(() => undefined);
      const [namespace, server] = servers[Math.floor(random() * servers.length)] ?? [];
      if (server === undefined || signal.aborted) continue;
      const possible = namespace === "child" ? faults : [...faults, ...httpFaults];
      const [name, options, lastsMs] = possible[Math.floor(random() * possible.length)] ?? ["slow", {}, 0];
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const fault = await server.fault(name, options);
      if (lastsMs === 0) continue;
      await delay(lastsMs, undefined, { signal }).catch(() => undefined);
      await fault.off();
    }
    for (const [, server] of servers) await server.clear();
    return counts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

type PlannedFault = readonly [name: FaultName, options: FaultOptions, lastsMs: number];

/** A child that dies is killed. */
const faults: readonly PlannedFault[] = [
  ["die-before", { times: 1 }, 0],
  ["die-after", { times: 1 }, 0],
  ["slow", { times: 50, ms: 300 }, 0],
  ["hang", { times: 2 }, 0],
  ["down", {}, 700],
];
const httpFaults: readonly PlannedFault[] = [
  ["http-error", { times: 20, status: 503 }, 0],
  ["close-stream", { times: 1 }, 0],
];

/** Calls tools one after the other, with a pause between, until the signal aborts. */
export async function callOften(
  client: RawClient,
  {
    name,
    ledger,
    random,
    pauseMs,
    signal,
  }: {
    readonly name: string;
    readonly ledger: LoadLedger;
    readonly random: Random;
    readonly pauseMs: number;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const namespaces = ["json", "sse", "child"];
  for (let number = 0; !signal.aborted; number += 1) {
    const made: MadeCall = { id: `${name}.${number}`, isRecord: random() < 0.3 };
    const namespace = namespaces[Math.floor(random() * namespaces.length)] ?? "json";
    const [tool, input] = made.isRecord ? ["record", { id: made.id }] : ["echo", { message: made.id }];
    const since = performance.now();
    const late = new AbortController();
    const limit = delay(answerMs, undefined, { signal: late.signal }).then(() => {
      throw new Error(`none within ${answerMs} ms`);
    });
    limit.catch(() => undefined);
    await Promise.race([client.call(`${namespace}__${tool}`, input), limit]).then(
      (message) => ledger.answer(made, message, performance.now() - since),
      (error: unknown) => ledger.lose(made, error),
    );
    late.abort();
    await delay(random() * pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Clients that wait for changes of lists, and the time each takes to reach them. */
export class Watchers implements AsyncDisposable {
  readonly durations = new Quantiles();
  readonly breaches: string[] = [];
  readonly #clients: RawClient[] = [];
  /** Of each watcher the changes that it was notified of. */
  readonly #seen: number[] = [];
  readonly #seenAt: number[] = [];
  #changes = 0;
  #changedAt = 0;

  static async open(url: URL, count: number): Promise<Watchers> {
    const watchers = new Watchers();
    for (let index = 0; index < count; index += 1) await watchers.#add(url, index);
    return watchers;
  }

  /**
   * Changes the lists of a server again and again. Each watcher must be notified after the last change, and no more often than there were
   * changes: those that a busy machine joins are one.
   */
  async follow(server: FaultyServer, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#changes += 1;
      this.#changedAt = performance.now();
      const name = `tool${this.#changes}`;
      server.change({ tools: { [name]: { run: () => name } } });
      await delay(gapMs, undefined, { signal }).catch(() => undefined);
    }
    const end = performance.now() + answerMs;
    while (this.#seenAt.some((at) => at < this.#changedAt) && performance.now() < end) await delay(20);
    await delay(gapMs);
    for (const [index, at] of this.#seenAt.entries()) {
      const seen = this.#seen[index] ?? 0;
      if (at < this.#changedAt) this.breaches.push(`${watcherPrefix}${index} was not notified of the last change`);
      if (seen > this.#changes)
        this.breaches.push(`${watcherPrefix}${index} was notified ${seen} times of ${this.#changes} changes`);
    }
  }

  get changes(): number {
    return this.#changes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client[Symbol.asyncDispose]()));
  }

  async #add(url: URL, index: number): Promise<void> {
    this.#seen[index] = 0;
    this.#seenAt[index] = 0;
    const received = ({ method }: { readonly method?: string }) => {
      if (method !== "notifications/tools/list_changed") return;
      this.#seen[index] = (this.#seen[index] ?? 0) + 1;
      this.#seenAt[index] = performance.now();
      this.durations.add(performance.now() - this.#changedAt);
    };
    const client = await RawClient.connect({ url, headers: { "x-principal": `${watcherPrefix}${index}` }, received });
    await client.request("tools/list", () => ({}));
    this.#clients.push(client);
  }
}

/** The gap between two changes: those that come within a second of the last one are joined ever more slowly. */
const gapMs = 2_500;

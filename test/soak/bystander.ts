import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "../../src/core/tool.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { Breaches } from "./breaches.ts";
import { Quantiles } from "./quantiles.ts";
import type { Stalls } from "./stalls.ts";

/** The longest time of a builtin in all but one of a hundred calls, however ill some server is. */
const builtinMs = 500;
const everyMs = 20;
const listMs = 100;
/** A call during which the machine stalled this process so long says nothing of the call. */
const stallMs = 20;

/** Answers after one turn of the event loop. */
export const pulse = defineTool({
  name: "pulse",
  async run() {
    await setImmediate();
    return "alive";
  },
});

/** Calls another tool from within a call. */
export const relay = defineTool({
  name: "relay",
  input: {
    type: "object",
    properties: { key: { type: "string" }, call: { type: "string" } },
    required: ["key", "call"],
  },
  async run(input, { toolbox, signal }) {
    const { key, call } = input as { readonly key: string; readonly call: string };
    return (await toolbox.call(key, { call }, { signal })).text();
  },
});

/** A caller that needs no connector, and that their troubles must not delay: builtin calls, lists and lookups. */
export class Bystander {
  readonly calls = new Quantiles();
  readonly lists = new Quantiles();
  readonly #toolkit: Toolkit;
  readonly #breaches: Breaches;
  readonly #stalls: Stalls;
  #stopped = false;

  constructor(toolkit: Toolkit, breaches: Breaches, stalls: Stalls) {
    this.#toolkit = toolkit;
    this.#breaches = breaches;
    this.#stalls = stalls;
  }

  /** Until it is stopped. */
  async run(): Promise<void> {
    for (let round = 0; !this.#stopped; round++) {
      await this.#timed("a builtin", this.calls, () => this.#toolkit.call("pulse"));
      if (round % 10 === 0) await this.#timed("list", this.lists, () => this.#toolkit.list());
      if (round % 10 === 5) await this.#timed("lookup", this.lists, () => this.#toolkit.lookup("relay"));
      await sleep(everyMs);
    }
  }

  stop(): void {
    this.#stopped = true;
    const p99 = this.calls.at(0.99);
    if (p99 > builtinMs) this.#breaches.add(undefined, `a builtin call took ${Math.round(p99)} ms (p99)`);
    const listed = this.lists.at(0.99);
    if (listed > listMs) this.#breaches.add(undefined, `a list or lookup took ${Math.round(listed)} ms (p99)`);
  }

  async #timed(what: string, quantiles: Quantiles, action: () => Promise<unknown>): Promise<void> {
    const startedAt = performance.now();
    try {
      await action();
    } catch (error) {
      this.#breaches.add(undefined, `${what} failed: ${String(error)}`);
    }
    const durationMs = performance.now() - startedAt;
    if (this.#stalls.stalledSince(startedAt) > stallMs) this.#stalls.voided++;
    else quantiles.add(durationMs);
  }
}

import { getEventListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { type Toolkit, ToolkitError } from "../../../../src/index.ts";
import type { FaultyServer } from "../../../../src/testing/index.ts";

const workers = 8;
const betweenMs = 3;

interface Made {
  readonly id: string;
  readonly repeatable: boolean;
  code: string | undefined;
}

/** Calls without end, from several sides at once, until it is stopped. */
export class Load {
  worstBuiltinMs = 0;
  readonly #toolkit: Toolkit;
  readonly #timeoutMs: number;
  readonly #controller = new AbortController();
  readonly #made: Made[] = [];
  readonly #working: Promise<void>[];
  #running = true;

  constructor(toolkit: Toolkit, timeoutMs: number) {
    this.#toolkit = toolkit;
    this.#timeoutMs = timeoutMs;
    this.#working = [...Array.from({ length: workers }, (_, worker) => this.#work(worker)), this.#watch()];
  }

  get calls(): number {
    return this.#made.length;
  }

  /** Abort listeners on the signal that all calls share. */
  get listeners(): number {
    return getEventListeners(this.#controller.signal, "abort").length;
  }

  get codes(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { code = "unanswered" } of this.#made) counts[code] = (counts[code] ?? 0) + 1;
    return counts;
  }

  /** No more calls; resolves when all have ended, or should have. */
  async stop(): Promise<void> {
    this.#running = false;
    await Promise.race([Promise.all(this.#working), delay(this.#timeoutMs + 2_000, undefined, { ref: false })]);
  }

  /** The calls by their own account, beside that of the server. */
  compare(server: FaultyServer): {
    readonly unanswered: number;
    readonly twice: readonly string[];
    readonly invented: readonly string[];
    readonly denied: readonly string[];
  } {
    const runs = (id: string) => server.runs(id);
    const ids = (wrong: (made: Made) => boolean) => this.#made.filter(wrong).map(({ id }) => id);
    return {
      unanswered: this.#made.filter(({ code }) => code === undefined).length,
      twice: ids(({ id, repeatable }) => !repeatable && runs(id) > 1),
      invented: ids(({ id, code }) => code === "ok" && runs(id) === 0),
      denied: ids(({ id, code, repeatable }) => code === "UNAVAILABLE" && !repeatable && runs(id) > 0),
    };
  }

  async #work(worker: number): Promise<void> {
    const { signal } = this.#controller;
    for (let number = 0; this.#running; number++) {
      const repeatable = worker % 2 === 0;
      const made: Made = { id: `${worker}-${number}`, repeatable, code: undefined };
      this.#made.push(made);
      try {
        const options = { signal, timeoutMs: this.#timeoutMs };
        await this.#toolkit.call(repeatable ? "f.echo" : "f.record", { id: made.id }, options);
        made.code = "ok";
      } catch (error) {
        made.code = ToolkitError.is(error) ? error.code : String(error);
      }
      await delay(betweenMs);
    }
  }

  /** Whether everything else still gets its turn. */
  async #watch(): Promise<void> {
    while (this.#running) {
      const begin = performance.now();
      await delay(10);
      await this.#toolkit.call("now", {});
      this.worstBuiltinMs = Math.max(this.worstBuiltinMs, performance.now() - begin - 10);
    }
  }
}

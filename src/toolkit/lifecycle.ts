import type { LocalSource } from "../catalog/local-source.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { assertOptionNames, signalName } from "../core/options.ts";
import { readSignal } from "../core/signal.ts";
import { keepProcessAlive } from "../lib/clock.ts";
import { FirstAttempt } from "../lib/first-attempt.ts";
import { abortable } from "../lib/promise.ts";
import type { Assembly } from "./assemble.ts";

/** The longest `close`, in milliseconds. */
const closeMs = 5_000;

/** Starts and closes the parts of a toolkit. */
export class Lifecycle {
  /** The local sources that are mounted. */
  readonly sources = new Set<LocalSource>();
  /** A plain member: each lookup looks at it. */
  isClosing = false;
  readonly #parts: () => Assembly;
  readonly #ended = Promise.withResolvers<void>();
  readonly #started = Promise.withResolvers<void>();
  readonly #begunToClose = new AbortController();
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;
  #storeIsOpen = true;

  /** @param parts - the parts, which are made after this */
  constructor(parts: () => Assembly) {
    this.#parts = parts;
  }

  /** Aborts when it begins to close. */
  get closing(): AbortSignal {
    return this.#begunToClose.signal;
  }

  /** Resolves when it has started. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  /** Aborts when everything has ended. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** @throws ToolkitError `CLOSED` */
  assertOpen(): void {
    if (this.isClosing) throw new ToolkitError("CLOSED", "The toolkit is closed.", { what: "toolkit" });
  }

  /** Resolves when each connector and source has succeeded or failed once, or after `startTimeoutMs`. */
  async start(): Promise<void> {
    this.assertOpen();
    const { telemetry, userStores, connectors, ruleCheck } = this.#parts();
    telemetry?.look();
    userStores?.watch();
    await Promise.all([
      this.#readApprovals(),
      connectors.start(),
      ...[...this.sources].map((source) => source.settled()),
    ]);
    // Names in rules may be of prompts and resources, which come after the tools.
    const whole = connectors.settlingWhole;
    if (whole === undefined) ruleCheck.start();
    else void whole.then(() => ruleCheck.start());
    this.#started.resolve();
  }

  /** Starts, waits until the signal aborts or `close` is called, and closes. */
  async run(options: { readonly signal?: AbortSignal | undefined }): Promise<void> {
    const signal = readSignal(options);
    assertOptionNames(options, signalName, "of run");
    // A wait for a server that is down keeps no process alive, and a service has to stay.
    const release = keepProcessAlive(this.#parts().clock);
    try {
      await abortable(this.start(), signal);
      await abortable(this.#ended.promise, signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
    } finally {
      release();
      await this.close();
    }
  }

  /** Ends everything. Closing again gives the same promise. @throws ToolkitError `TIMEOUT` naming what did not end */
  close(): Promise<void> {
    this.isClosing = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { executor, telemetry, userStores, connectors, ruleCheck, clock, events, logger } = this.#parts();
    executor.close();
    ruleCheck.stop();
    this.#begunToClose.abort();
    telemetry?.close();
    userStores?.close();
    for (const source of this.sources) source.close();
    this.sources.clear();
    const all = Promise.all([connectors.close(), this.#closeStore()]);
    const limit = Promise.withResolvers<"late">();
    const timer = clock.setTimer(() => limit.resolve("late"), closeMs);
    timer.keepAlive(true);
    const outcome = await Promise.race([all, limit.promise]).finally(() => {
      timer.cancel();
      events.flush();
      this.#ended.resolve();
      this.#closed.abort();
    });
    if (outcome !== "late") return;
    all.catch((error) => logger.error(messageOf(error), { error }));
    const names = [...connectors.unended, ...(this.#storeIsOpen ? ["the store"] : [])].join(", ");
    const message = `Not everything ended within ${closeMs} ms: ${names}.`;
    throw new ToolkitError("TIMEOUT", message, { limit: "total", limitMs: closeMs, elapsedMs: closeMs });
  }

  /** Other processes may have left approvals in the store that are due. A store that hangs delays the start no longer than a server may. */
  async #readApprovals(): Promise<void> {
    const { clock, startTimeoutMs, pending } = this.#parts();
    const attempt = new FirstAttempt();
    attempt.limit(clock, startTimeoutMs);
    void pending.expire().then(() => attempt.settle());
    await attempt.pending;
  }

  /** The outcomes of approved calls and agent runs are recorded first. */
  async #closeStore(): Promise<void> {
    const { writing, store } = this.#parts();
    await writing.settled();
    await store.close();
    this.#storeIsOpen = false;
  }
}

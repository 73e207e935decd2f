import fc from "fast-check";
import { expect } from "vitest";
import { Supervisor, type SupervisorChange, stableAfterMs } from "../../src/connection/supervisor.ts";
import type { ConnectionState } from "../../src/core/connection.ts";
import { settle, virtualClock } from "../../src/testing/virtual-clock.ts";
import { type ScriptedAttempt, ScriptedOpener } from "../support/scripted-opener.ts";
import { verifies } from "../support/verifies.ts";

const retryMs = 2_000;
const maxRetryMs = 60_000;
const connectTimeoutMs = 3_000;

/** An event of a supervisor or of one of the attempts it made. */
type Command =
  | { readonly type: "start" }
  | { readonly type: "stop" }
  | { readonly type: "reconnect" }
  | { readonly type: "succeed" | "fail" | "lose" | "end"; readonly which: number }
  | { readonly type: "pass"; readonly ms: number };

const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<Command>({ type: "start" }) },
    { weight: 1, arbitrary: fc.constantFrom<Command>({ type: "stop" }, { type: "reconnect" }, { type: "reconnect" }) },
    {
      weight: 8,
      arbitrary: fc.record({
        type: fc.constantFrom("succeed", "succeed", "fail", "lose", "end"),
        // Counted from the newest: mostly that one, sometimes one that is long over.
        which: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) }),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant("pass"),
        ms: fc.oneof(
          fc.nat(100),
          fc.constantFrom(stableAfterMs, connectTimeoutMs, retryMs, maxRetryMs),
          fc.nat(20_000),
        ),
      }),
    },
  ) as fc.Arbitrary<Command>,
  { maxLength: 60, size: "max" },
);

/** The model of a supervisor: as plain as it can be written down. */
class Model {
  state: ConnectionState = "idle";
  /** The attempt or generation it is about. */
  current = -1;
  opened = 0;
  attempts = 0;
  failures = 0;
  flaps = 0;
  since: number;
  dueAt = Number.POSITIVE_INFINITY;
  readonly #maxAttempts: number;
  readonly #delayWithin: (boundMs: number) => number;

  constructor(now: number, maxAttempts: number, delayWithin: (boundMs: number) => number) {
    this.since = now;
    this.#maxAttempts = maxAttempts;
    this.#delayWithin = delayWithin;
  }

  connect(now: number): void {
    this.state = "connecting";
    this.since = now;
    this.current = this.opened++;
    this.attempts += 1;
    this.dueAt = now + connectTimeoutMs;
  }

  reconnect(now: number): void {
    if (this.state === "stopped") return;
    this.attempts = 0;
    this.failures = 0;
    this.flaps = 0;
    this.connect(now);
  }

  stop(): void {
    this.state = "stopped";
    this.current = -1;
    this.dueAt = Number.POSITIVE_INFINITY;
  }

  succeeded(now: number): void {
    this.state = "connected";
    this.since = now;
    this.attempts = 0;
    this.failures = 0;
    this.dueAt = Number.POSITIVE_INFINITY;
  }

  failed(now: number): void {
    this.failures = Math.max(1, this.failures);
    this.#next(now);
  }

  lost(now: number): void {
    this.flaps = now - this.since >= stableAfterMs ? 0 : this.flaps + 1;
    this.failures = Math.max(0, this.flaps - 1);
    this.#next(now);
  }

  /** The event that happens by itself at `dueAt`. */
  due(now: number): void {
    if (this.state === "connecting") this.failed(now);
    else this.connect(now);
  }

  #next(now: number): void {
    if (this.attempts >= this.#maxAttempts) {
      this.stop();
      return;
    }
    const failures = this.failures++;
    if (failures === 0) {
      this.connect(now);
      return;
    }
    this.state = "waiting";
    this.since = now;
    this.current = -1;
    this.dueAt = now + this.#delayWithin(Math.min(maxRetryMs, retryMs * 2 ** (failures - 1)));
  }
}

const legal: ReadonlySet<string> = new Set([
  "idle>connecting",
  "idle>stopped",
  "connecting>connecting",
  "connecting>connected",
  "connecting>waiting",
  "connecting>stopped",
  "connected>connecting",
  "connected>waiting",
  "connected>stopped",
  "waiting>connecting",
  "waiting>stopped",
]);

/** One supervisor and its model side by side. */
class Run {
  readonly clock = virtualClock();
  readonly opener = new ScriptedOpener();
  readonly changes: SupervisorChange<ScriptedAttempt>[] = [];
  readonly supervisor: Supervisor<ScriptedAttempt>;
  readonly model: Model;
  #stopping: { done: boolean } | undefined;

  constructor(maxAttempts: number | undefined, chances: readonly number[]) {
    this.opener.endsAtOnce = false;
    // Both are given the same chances, in the same order.
    const drawer = () => {
      let draws = 0;
      return () => chances[draws++ % chances.length] ?? 0;
    };
    const draw = drawer();
    this.model = new Model(this.clock.now(), maxAttempts ?? Number.POSITIVE_INFINITY, (boundMs) => draw() * boundMs);
    this.supervisor = new Supervisor<ScriptedAttempt>({
      open: this.opener.open,
      clock: this.clock,
      random: drawer(),
      retryMs,
      maxRetryMs,
      connectTimeoutMs,
      maxAttempts,
      timedOut: () => new Error("no answer"),
      onChange: (change) => this.changes.push(change),
      onError: (error) => {
        throw error;
      },
    });
  }

  async execute(command: Command): Promise<void> {
    const { supervisor, model, clock } = this;
    if (command.type === "pass") await this.#pass(command.ms);
    else if (command.type === "start") {
      supervisor.start();
      if (model.state === "idle") model.connect(clock.now());
    } else if (command.type === "reconnect") {
      supervisor.reconnect();
      model.reconnect(clock.now());
    } else if (command.type === "stop") {
      const stopping = { done: false };
      this.#stopping = stopping;
      void supervisor.stop().then(() => {
        stopping.done = true;
      });
      model.stop();
    } else this.#happen(command.type, this.opener.attempts.at(-1 - command.which));
    await settle();
    this.check();
  }

  /** Something happens to an attempt; only the current one is of any consequence. */
  #happen(type: "succeed" | "fail" | "lose" | "end", attempt: ScriptedAttempt | undefined): void {
    if (attempt === undefined) return;
    const { model, clock } = this;
    const current = attempt.id === model.current;
    const wasPending = attempt.pending;
    const wasOver = attempt.over;
    if (type === "succeed") {
      attempt.succeed();
      if (wasPending && current) {
        model.succeeded(clock.now());
        // It may have ended before it was there.
        if (wasOver) model.lost(clock.now());
      }
    } else if (type === "fail") {
      if (!wasPending) return;
      attempt.fail(new Error("refused"));
      if (current) model.failed(clock.now());
    } else if (type === "lose") {
      attempt.lose(new Error("gone"));
      if (current && !wasPending && !wasOver) model.lost(clock.now());
    } else if (attempt.disposed > 0) attempt.end();
  }

  async #pass(ms: number): Promise<void> {
    const { model, clock } = this;
    const end = clock.now() + ms;
    while (model.dueAt <= end) {
      const at = model.dueAt;
      await clock.advance(at - clock.now());
      model.due(at);
    }
    await clock.advance(end - clock.now());
  }

  check(): void {
    const { supervisor, model, opener } = this;
    expect(supervisor.state).toBe(model.state);
    expect(supervisor.attempts).toBe(model.attempts);
    expect(opener.attempts).toHaveLength(model.opened);
    expect(supervisor.generation?.id).toBe(model.state === "connected" ? model.current : undefined);
    expect(supervisor.nextAttemptAt).toBe(model.state === "waiting" ? model.dueAt : undefined);
    for (const { from, to, generation } of this.changes) {
      expect(legal).toContain(`${from}>${to}`);
      expect(generation !== undefined).toBe(to === "connected");
    }
    for (const attempt of opener.attempts) {
      // One that is not the current one is ended, once; the current one is not.
      if (attempt.id === model.current) expect([attempt.disposed, attempt.signal.aborted]).toEqual([0, false]);
      else if (attempt.alive) expect(attempt.disposed).toBe(1);
      else expect(attempt.disposed).toBeLessThanOrEqual(1);
      if (attempt.pending && attempt.id !== model.current) expect(attempt.signal.aborted).toBe(true);
    }
    if (model.state === "stopped") {
      expect(this.clock.timers).toBe(0);
      const left = opener.attempts.filter(({ alive, pending }) => alive || pending);
      if (this.#stopping !== undefined) expect(this.#stopping.done).toBe(left.length === 0);
    }
  }

  /** Lets everything end, and sees that it does. */
  async finish(): Promise<void> {
    await this.execute({ type: "stop" });
    for (const attempt of this.opener.attempts) {
      if (attempt.pending) attempt.succeed();
      await settle();
      if (attempt.disposed > 0) attempt.end();
    }
    await settle();
    this.check();
    expect(this.#stopping?.done).toBe(true);
  }
}

verifies(
  ["M5", "M9"],
  "whatever happens in whatever order, a supervisor is what its model is",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        commands,
        fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
        fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1, maxLength: 8 }),
        async (list, maxAttempts, chances) => {
          const run = new Run(maxAttempts, chances);
          for (const command of list) await run.execute(command);
          await run.finish();
        },
      ),
      { numRuns: 400 },
    );
  },
  120_000,
);

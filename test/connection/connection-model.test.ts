import fc from "fast-check";
import { expect } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import { ToolkitError } from "../../src/core/error.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { verifies } from "../support/verifies.ts";
import { ModelServer, type ModelSession, toolName } from "./model-server.ts";
import { Bench } from "./support.ts";

const timeoutMs = 7_000;
const maxRetryMs = 4_000;

interface ModelCall {
  readonly id: number;
  readonly abort: AbortController;
  outcome: unknown;
}

type Command =
  | { readonly type: "start" }
  | { readonly type: "reconnect" }
  | { readonly type: "remove" }
  | { readonly type: "hold" }
  | { readonly type: "release"; readonly which: number }
  | { readonly type: "call" }
  | { readonly type: "speak"; readonly which: number }
  | { readonly type: "answer"; readonly which: number }
  | { readonly type: "abort"; readonly which: number }
  | { readonly type: "succeed" | "fail" | "lose"; readonly which: number }
  | { readonly type: "offer"; readonly count: number; readonly isHeld: boolean }
  | { readonly type: "pass"; readonly ms: number };

// Counted from the newest: mostly that one, sometimes one that is long over.
const which = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) });
const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Command>({ type: "start" }) },
    { weight: 2, arbitrary: fc.constantFrom<Command>({ type: "reconnect" }, { type: "hold" }) },
    { weight: 1, arbitrary: fc.constant<Command>({ type: "remove" }) },
    { weight: 5, arbitrary: fc.constant<Command>({ type: "call" }) },
    { weight: 6, arbitrary: fc.record({ type: fc.constantFrom("succeed", "succeed", "fail", "lose"), which }) },
    { weight: 5, arbitrary: fc.record({ type: fc.constantFrom("speak", "answer", "abort", "release"), which }) },
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant("offer"), count: fc.nat(3), isHeld: fc.boolean() }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        type: fc.constant("pass"),
        ms: fc.oneof(fc.nat(100), fc.constantFrom(2_000, maxRetryMs, timeoutMs), fc.nat(9_000)),
      }),
    },
  ) as fc.Arbitrary<Command>,
  { maxLength: 50, size: "max" },
);

class Run {
  readonly bench = new Bench({ timeoutMs });
  readonly far = new ModelServer();
  readonly connection: Connection;
  readonly calls: ModelCall[] = [];

  constructor() {
    this.connection = this.bench.toolkit.addConnector(this.far, { namespace: "far", maxRetryMs, pollMs: 1e9 });
  }

  async execute(command: Command): Promise<void> {
    const { far, bench, connection } = this;
    if (command.type === "pass") await bench.clock.advance(command.ms);
    else if (command.type === "offer") await this.#offer(command);
    else if (command.type === "start") void bench.toolkit.start();
    else if (command.type === "reconnect") this.#reconnect();
    else if (command.type === "remove") void connection.close();
    else if (command.type === "hold") far.hold();
    else if (command.type === "release") await this.#release(command.which);
    else if (command.type === "call") this.#call();
    else if (command.type === "speak") await this.#speak(far.sessions.at(-1 - command.which));
    else if (command.type === "abort") this.calls.at(-1 - command.which)?.abort.abort(new Error("enough"));
    else if (command.type === "answer") {
      const delivery = [...far.pending].at(-1 - command.which);
      if (delivery !== undefined) far.answer(delivery);
    } else far.sessions.at(-1 - command.which)?.[command.type]();
    await settle();
    this.check();
  }

  /** The server has other tools and says so. The answer of the list may be held back. */
  async #offer({ count, isHeld }: { readonly count: number; readonly isHeld: boolean }): Promise<void> {
    this.far.names = [toolName, ...Array.from({ length: count }, (_, at) => `t${at}`)];
    if (isHeld) this.far.hold();
    this.far.sessions.at(-1)?.host.changed({ kind: "tool" });
    await this.bench.clock.advance(20);
  }

  /** Lists are answered: those of sessions that have ended change nothing. */
  async #release(which: number): Promise<void> {
    const { bench, connection } = this;
    const before = [bench.events.length, connection.counts.tool];
    const readers = this.far.release(which);
    await settle();
    if ([...readers].every(({ state }) => state === "disposed"))
      expect([bench.events.length, connection.counts.tool]).toEqual(before);
  }

  #reconnect(): void {
    if (this.connection.state === "stopped") expect(() => this.connection.reconnect()).toThrow();
    else this.connection.reconnect();
  }

  #call(): void {
    const call: ModelCall = { id: this.calls.length, abort: new AbortController(), outcome: undefined };
    this.calls.push(call);
    const { signal } = call.abort;
    this.bench.toolkit.call(`far.${toolName}`, { id: call.id }, { signal }).then(
      async (content) => {
        call.outcome = await content.json();
      },
      (error: unknown) => {
        call.outcome = error;
      },
    );
  }

  /** A session that is not the current one says something: nothing comes of it. */
  async #speak(session: ModelSession | undefined): Promise<void> {
    if (session === undefined) return;
    const { bench, far } = this;
    const isCurrent = session === far.sessions.at(-1) && this.connection.state === "connected";
    const before = [bench.events.length, bench.logged.length];
    session.host.changed({ kind: "tool" });
    session.host.changed({ kind: "resource", uri: "memo://map" });
    session.host.log({ level: "info", logger: undefined, data: "hello" });
    await settle();
    const after = [bench.events.length, bench.logged.length];
    if (session.state === "disposed") expect(after).toEqual(before);
    else if (isCurrent) expect(bench.events.at(-1)).toMatchObject({ type: "resourceUpdated", uri: "memo://map" });
  }

  check(): void {
    const { far, connection, calls } = this;
    expect(far.breaches).toEqual([]);
    const open = far.sessions.filter(({ state }) => state === "open");
    expect(open.length).toBeLessThanOrEqual(1);
    if (connection.state === "connected") expect(open).toEqual([far.sessions.at(-1)]);
    const inFlight = [...far.pending].filter(({ session }) => session.state === "open");
    expect(connection.callsInFlight).toBe(inFlight.length);
    const waiting = new Set([...far.pending].map(({ id }) => id));
    for (const { id, outcome, abort } of calls) {
      if (outcome === id) expect(far.delivered).toContain(id);
      if (outcome === undefined) {
        // It waits for its answer in the current session, or for the connection.
        expect(abort.signal.aborted).toBe(false);
        if (far.delivered.has(id)) expect(inFlight.map((each) => each.id)).toContain(id);
        else expect(connection.state).not.toBe("connected");
        expect(connection.state).not.toBe("stopped");
      } else if (ToolkitError.is(outcome, "OUTCOME_UNKNOWN")) expect(far.delivered).toContain(id);
      else if (ToolkitError.is(outcome, "UNAVAILABLE") || ToolkitError.is(outcome, "NOT_FOUND"))
        expect(far.delivered).not.toContain(id);
      else if (!far.delivered.has(id)) expect(waiting).not.toContain(id);
    }
  }

  /** Lets it connect: it shows what the server has. Then removes it: nothing is left. */
  async finish(): Promise<void> {
    const { far, bench, connection } = this;
    while (far.gates.length > 0) await this.#release(0);
    if (connection.state !== "stopped") {
      void bench.toolkit.start();
      for (let tries = 0; tries < 5 && connection.state !== "connected"; tries++) {
        await bench.clock.advance(maxRetryMs);
        far.sessions.at(-1)?.succeed();
        await settle();
      }
      far.sessions.at(-1)?.host.changed({ kind: "tool" });
      await bench.clock.advance(10_000);
      this.check();
      expect(connection).toMatchObject({ state: "connected", counts: { tool: far.names.length } });
    }
    void bench.toolkit.removeConnector(connection).catch(() => undefined);
    for (const session of far.sessions) session.succeed();
    await settle();
    this.check();
    const closing = bench.toolkit.close();
    await bench.clock.advance(5_000);
    await closing;
    expect(this.calls.filter(({ outcome }) => outcome === undefined)).toEqual([]);
    expect(far.sessions.filter(({ state }) => state === "open" || state === "lost")).toEqual([]);
    expect(bench.errors()).toEqual([]);
    // The timer that all deadlines share may still be set.
    expect(bench.clock.timers).toBeLessThanOrEqual(1);
    expect(bench.clock.keptAlive).toBe(0);
  }
}

verifies(
  ["M5", "M6", "M7", "M9"],
  "whatever happens in whatever order, calls settle once, an old session changes nothing, and nothing is left",
  async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (list) => {
        const run = new Run();
        for (const command of list) await run.execute(command);
        await run.finish();
      }),
      { numRuns: 200 },
    );
  },
  120_000,
);

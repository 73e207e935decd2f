import { setTimeout as sleep } from "node:timers/promises";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { Breaches } from "./breaches.ts";
import { chooseCall, outcomeOf, probeOf, type SoakCall } from "./call.ts";
import type { Chance } from "./chance.ts";
import type { Ledger } from "./ledger.ts";
import { Quantiles } from "./quantiles.ts";
import type { SoakServer } from "./server.ts";
import type { Stalls } from "./stalls.ts";
import { runsVerdict, verdictOf } from "./verdict.ts";
import type { Windows } from "./window.ts";

/** The longest time of a call that has no shorter limit of its own. */
const limitMs = 8_000;
/** This machine does other things too. */
const marginMs = 2_000;
const abortMs = 50;
/** A second run would come soon, if it came. */
const settleMs = 12_000;
const maxInFlight = 20;
const pauseMs = [40, 160] as const;
/** Stalled so long, a server may be taken for lost that is not, or take longer than a call may. */
const stallMs = 1_000;
/** The ends that a stall explains. */
const stallCodes: ReadonlySet<string> = new Set(["TIMEOUT", "UNAVAILABLE", "OUTCOME_UNKNOWN"]);
/** The time in which a server is taken for lost. */
const silenceMs = 6_000;

/** The callers, their targets, and the listener for breaches. */
export interface TrafficHost {
  readonly toolkit: Toolkit;
  readonly ledger: Ledger;
  readonly breaches: Breaches;
  readonly stalls: Stalls;
  readonly seed: string;
}

/** A call without an answer. */
interface InFlight {
  readonly server: SoakServer;
  readonly call: SoakCall;
  readonly startedAt: number;
  readonly dueAt: number;
  late: boolean;
}

/** A call with an answer, whose runs are looked at once more. */
interface Settled {
  readonly server: SoakServer;
  readonly call: SoakCall;
  readonly id: string;
  readonly ended: string;
  /** The troubles of its server meanwhile. */
  readonly troubles: string;
  readonly at: number;
}

/** All that is called, and whether each call ends as it may. */
export class Traffic {
  readonly failures = new Map<string, number>();
  /** From an abort to its rejection. */
  readonly aborts = new Quantiles();
  /** Of calls that met no trouble at their server, whatever the others had. */
  readonly untroubled = new Quantiles();
  readonly #host: TrafficHost;
  readonly #inFlight = new Map<string, InFlight>();
  #settled: Settled[] = [];
  #calls = 0;
  #stopped = false;

  constructor(host: TrafficHost) {
    this.#host = host;
  }

  get calls(): number {
    return this.#calls;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Calls a server all the time, until it is stopped. */
  async run(server: SoakServer, windows: Windows, chance: Chance): Promise<void> {
    let mine = 0;
    while (!this.#stopped) {
      if (mine < maxInFlight) {
        mine++;
        void this.#make(server, windows, chooseCall(server, chance)).finally(() => mine--);
      }
      await sleep(chance.between(...pauseMs));
    }
  }

  /** Calls a server once, to see whether it answers. @throws Error when it does not */
  async probe(server: SoakServer, windows: Windows, chance: Chance, timeoutMs: number): Promise<void> {
    const probe = {
      ...probeOf(server, chance),
      timeoutMs,
      expects: ["ok", "TIMEOUT", "UNAVAILABLE", "OUTCOME_UNKNOWN"],
    };
    const said = await this.#make(server, windows, probe);
    if (said !== undefined) throw new Error(`a call failed: ${said}`);
  }

  /** Looks for calls that are late, and once more for calls that ran too often. */
  look(): void {
    const now = performance.now();
    for (const [id, flying] of this.#inFlight) {
      const { startedAt, dueAt } = flying;
      if (flying.late || now < dueAt || now < dueAt + this.#host.stalls.extensionSince(startedAt)) continue;
      flying.late = true;
      this.#host.breaches.add(flying.server.name, `${flying.call.what} ${id} has no answer beyond its limit`);
    }
    this.#settled = this.#settled.filter((settled) => {
      if (now - settled.at < settleMs) return true;
      this.#checkRuns(settled);
      this.#host.ledger.forget(settled.id);
      return false;
    });
  }

  /** No further calls; resolves when those there are have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const untilAt = performance.now() + limitMs + marginMs;
    const isOver = () => performance.now() > untilAt + this.#host.stalls.extensionSince(untilAt - limitMs - marginMs);
    while (this.#inFlight.size > 0 && !isOver()) await sleep(50);
    this.look();
  }

  /** Looks at the runs of every call there was of late. */
  finish(): void {
    for (const settled of this.#settled) {
      this.#checkRuns(settled);
      this.#host.ledger.forget(settled.id);
    }
    this.#settled = [];
  }

  /** Gives what it failed with, in words. */
  async #make(server: SoakServer, windows: Windows, call: SoakCall): Promise<string | undefined> {
    const { toolkit, breaches, seed, stalls } = this.#host;
    const id = `${seed}-${++this.#calls}`;
    const { timeoutMs = limitMs, abortAfterMs } = call;
    const startedAt = performance.now();
    const controller = new AbortController();
    const reason = new Error("The soak has changed its mind.");
    let abortedAt: number | undefined;
    const abort = () => {
      abortedAt = performance.now();
      controller.abort(reason);
    };
    const timer = abortAfterMs === undefined || abortAfterMs === 0 ? undefined : setTimeout(abort, abortAfterMs);
    if (abortAfterMs === 0) abort();
    this.#inFlight.set(id, { server, call, startedAt, dueAt: startedAt + timeoutMs + marginMs, late: false });
    const answer = call.make(toolkit, id, { timeoutMs, signal: controller.signal });
    const outcome = await outcomeOf(answer, (said) => call.isRight(said, id), reason);
    clearTimeout(timer);
    this.#inFlight.delete(id);
    const endedAt = performance.now();
    if (abortedAt !== undefined && !outcome.ok && outcome.code === "ABORTED")
      this.#aborted(server, call, abortedAt, endedAt);
    const met = windows.since(startedAt);
    if (met.length === 0 && call.what === "echo") this.untroubled.add(endedAt - startedAt);
    const excused = new Set(met.flatMap(({ codes }) => [...codes]));
    // A call that is cut off early may have been waiting for its connection.
    const altersAnswers = met.some((window) => window.altersAnswers);
    const wrong = verdictOf({ outcome, expects: call.expects, excused, altersAnswers });
    const troubles = met.map(({ planned }) => planned.trouble).join(", ");
    const stalledMs = stalls.stalledSince(Math.min(startedAt, endedAt - silenceMs));
    const isStalled = !outcome.ok && stallCodes.has(outcome.code) && stalledMs > stallMs;
    if (wrong !== undefined && isStalled) stalls.voided++;
    else if (wrong !== undefined)
      breaches.add(server.name, `${call.what} ${id} ${wrong}${troubles === "" ? "" : ` (${troubles})`}`);
    const ended = outcome.ok ? "ok" : outcome.code;
    if (ended !== "ok") this.failures.set(ended, (this.failures.get(ended) ?? 0) + 1);
    if (call.counted === true)
      this.#settle({ server, call, id, ended: abortAfterMs === 0 ? "REFUSED" : ended, troubles, at: endedAt });
    return outcome.ok ? undefined : outcome.said;
  }

  #aborted({ name }: SoakServer, { what }: SoakCall, abortedAt: number, endedAt: number): void {
    const durationMs = endedAt - abortedAt;
    this.aborts.add(durationMs);
    if (durationMs > abortMs + marginMs + this.#host.stalls.stalledSince(abortedAt)) {
      this.#host.breaches.add(name, `${what} rejected ${Math.round(durationMs)} ms after its abort`);
    }
  }

  #settle(settled: Settled): void {
    this.#checkRuns(settled);
    this.#settled.push(settled);
  }

  #checkRuns({ server, call, id, ended, troubles }: Settled): void {
    const wrong = runsVerdict(ended, this.#host.ledger.runs(id), call.unsafe === true);
    if (wrong !== undefined) this.#host.breaches.add(server.name, `${call.what} ${id} ${wrong} (${troubles})`);
  }
}

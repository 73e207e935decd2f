import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../../src/core/connection.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { Breaches } from "./breaches.ts";
import type { Catalogues } from "./catalogue.ts";
import type { PlannedTrouble } from "./plan.ts";
import type { Recoveries } from "./recovery.ts";
import type { SoakServer } from "./server.ts";
import type { Stalls } from "./stalls.ts";
import type { Subscriber } from "./subscriber.ts";
import { describeTrouble } from "./trouble.ts";
import type { Window, Windows } from "./window.ts";

/** The promise (M7). */
const noticeMs = 5_000;
/** From the end of a trouble until all is well: to notice, the longest wait between attempts, to start a child on a busy machine. */
const healMs = 12_000;
/** This machine does other things too. */
const marginMs = 700;
const lookMs = 25;
const probeMs = 1_000;
const listMs = 500;

/** Whom it makes trouble for, and who hears of it. */
export interface TroublemakerHost {
  readonly server: SoakServer;
  readonly connection: Connection;
  readonly toolkit: Toolkit;
  readonly windows: Windows;
  readonly catalogues: Catalogues;
  readonly recoveries: Recoveries;
  readonly subscriber: Subscriber;
  readonly breaches: Breaches;
  readonly stalls: Stalls;
  /** Shows that a server answers. */
  probe(timeoutMs: number): Promise<void>;
}

/** Makes the troubles that are planned for one server, one after the other, and sees that each is noticed and heals. */
export class Troublemaker {
  readonly #host: TroublemakerHost;
  #lostAt = Number.NEGATIVE_INFINITY;

  constructor(host: TroublemakerHost) {
    this.#host = host;
    host.toolkit.on("connectorDisconnected", ({ connection }) => {
      if (connection === host.connection) this.#lostAt = performance.now();
    });
  }

  async run(plan: readonly PlannedTrouble[], startedAt: number): Promise<void> {
    for (const planned of plan) {
      const waitMs = planned.atMs - (performance.now() - startedAt);
      if (waitMs > 0) await sleep(waitMs);
      await this.#make(planned);
    }
  }

  async #make(planned: PlannedTrouble): Promise<void> {
    const { server, connection, windows } = this.#host;
    const window = windows.open(planned);
    const running = await server.begin(planned, connection);
    await running.happened;
    const happenedAt = planned.forMs === 0 ? performance.now() : window.startedAt;
    const [endedAt] = await Promise.all([
      sleep(planned.forMs)
        .then(() => running.end())
        .then(() => performance.now()),
      this.#noticed(window, happenedAt),
    ]);
    await this.#healed(window, planned.forMs === 0 ? happenedAt : endedAt);
    window.close();
  }

  async #noticed({ planned: { trouble }, startedAt }: Window, happenedAt: number): Promise<void> {
    const { server, recoveries, breaches } = this.#host;
    const { loses, survivedAt = [] } = describeTrouble(trouble);
    if (loses !== true || survivedAt.includes(server.place)) return;
    const lost = () => this.#lostAt >= startedAt;
    const limit = this.#limit(happenedAt, noticeMs + marginMs);
    while (!lost() && !limit.isOver()) await sleep(lookMs);
    limit.end();
    if (lost()) recoveries.noticedAfter(trouble, Math.max(0, this.#lostAt - happenedAt));
    else breaches.add(server.name, `${trouble} was not noticed within ${noticeMs + marginMs} ms`);
  }

  async #healed({ planned: { trouble } }: Window, endedAt: number): Promise<void> {
    const { server, recoveries, breaches } = this.#host;
    const limitMs = (describeTrouble(trouble).healMs ?? healMs) + marginMs;
    const limit = this.#limit(endedAt, limitMs);
    let why: string | undefined;
    do {
      why = await this.#unwell();
      if (why === undefined) {
        const healedAt = performance.now();
        // A list that was being read when its trouble ended may still come, and be the wrong one.
        if (describeTrouble(trouble).atLists === true) await sleep(listMs);
        why = this.#different();
        if (why === undefined) {
          limit.end();
          recoveries.healedAfter(trouble, healedAt - endedAt);
          return;
        }
      }
      await sleep(lookMs);
    } while (!limit.isOver());
    breaches.add(server.name, `${trouble} was not healed within ${limitMs} ms: ${why}`);
  }

  /** Why not all is well; undefined where it is. */
  async #unwell(): Promise<string | undefined> {
    const { connection, subscriber, probe } = this.#host;
    if (connection.state !== "connected") return `it is ${connection.state}: ${connection.lastError?.message}`;
    try {
      await probe(probeMs);
      await subscriber.check();
    } catch (error) {
      return String(error);
    }
    return connection.state === "connected" ? this.#different() : "it was lost again";
  }

  #different(): string | undefined {
    const { server, connection, catalogues } = this.#host;
    return catalogues.difference(server, connection);
  }

  /** A limit that is extended by the time in which this process, or the machine, did not run: that is the fault of no server. */
  #limit(startedAt: number, limitMs: number): { isOver(): boolean; end(): void } {
    const { stalls } = this.#host;
    return {
      isOver: () => performance.now() > startedAt + limitMs + stalls.extensionSince(startedAt),
      end: () => {
        if (performance.now() > startedAt + limitMs) stalls.stretched++;
      },
    };
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../../src/core/connection.ts";
import type { Delegate } from "../../src/core/delegate.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { isAlive } from "../e2e/support.ts";
import type { Breaches } from "./breaches.ts";
import { Bystander, pulse, relay } from "./bystander.ts";
import { Catalogues } from "./catalogue.ts";
import { chance } from "./chance.ts";
import { openFleet } from "./fleet.ts";
import { Ledger } from "./ledger.ts";
import { handlesBeside, heapMegabytes, leftOf } from "./left.ts";
import { digestOf, type PlannedTrouble, planTroubles } from "./plan.ts";
import { Recoveries } from "./recovery.ts";
import type { SoakServer } from "./server.ts";
import { Stalls } from "./stalls.ts";
import { Subscriber } from "./subscriber.ts";
import { Traffic } from "./traffic.ts";
import { Troublemaker } from "./troublemaker.ts";
import { Windows } from "./window.ts";

/** More than this after a collection is a leak, whatever it is. */
const maxGrowthMegabytes = 10;
const warmUpMs = 4_000;
const progressMs = 10_000;
const lookMs = 500;
/** So that what heals heals within seconds, and a soak sees many of them. */
const supervision = { retryMs: 100, maxRetryMs: 500, healthCheckMs: 5_000, pollMs: 2_000 };
/** Of a connector that waits for an attempt that is silent. */
const connectTimeoutMs = 8_000;

/** The duration and the seed. */
export interface SoakOptions {
  readonly seed: string;
  readonly durationMs: number;
  /** The one server to play with; undefined for all. */
  readonly only: string | undefined;
  readonly breaches: Breaches;
}

/** The result of a soak. */
export interface SoakResult {
  readonly plan: readonly PlannedTrouble[];
  readonly traffic: Traffic;
  readonly recoveries: Recoveries;
  readonly bystander: Bystander;
  readonly losses: number;
  readonly heapStart: number;
  readonly heapEnd: number;
  readonly handles: readonly string[];
  readonly processes: number;
  /** A sentence about stalls of the machine. */
  readonly stalls: string;
}

interface Member {
  readonly server: SoakServer;
  readonly connection: Connection;
  readonly windows: Windows;
  readonly subscriber: Subscriber;
}

/** The delegate answers with the question: so an answer that reached another call would be seen. */
const parrot: Delegate = {
  elicit: async ({ message }) => ({ action: "accept", content: { said: message } }),
  sample: async ({ messages: [first] }) => ({
    role: "assistant",
    content: first?.content ?? { type: "text", text: "" },
    model: "parrot",
  }),
};

/** Runs the whole of it: a fleet, calls all the time, troubles as planned, and a look at what is left. */
export async function soak({ seed, durationMs, only, breaches }: SoakOptions): Promise<SoakResult> {
  const before = process.getActiveResourcesInfo();
  using stalls = new Stalls();
  const ledger = new Ledger();
  const recoveries = new Recoveries();
  const fleet = await openFleet(ledger, only);
  const plan = planTroubles(seed, fleet.servers, durationMs);
  console.error(`seed ${seed}: ${plan.length} troubles for ${fleet.servers.length} servers, digest ${digestOf(plan)}`);
  const toolkit = new Toolkit({ items: [pulse, relay], delegate: parrot });
  const traffic = new Traffic({ toolkit, ledger, breaches, stalls, seed });
  const bystander = new Bystander(toolkit, breaches, stalls);
  const pids = new Set<number>();
  const up = new Set<Connection>();
  let losses = 0;
  toolkit.on("connectorConnected", ({ connection }) => {
    up.add(connection);
    if (connection.processId !== undefined) pids.add(connection.processId);
  });
  toolkit.on("connectorDisconnected", ({ connection }) => {
    if (up.delete(connection)) losses++;
  });
  const members = fleet.servers.map((server): Member => {
    const waits = server.place === "in-memory" ? { connectTimeoutMs } : {};
    const connection = toolkit.addConnector(server.target, { namespace: server.name, ...supervision, ...waits });
    return { server, connection, windows: new Windows(), subscriber: new Subscriber(toolkit, server, connection) };
  });
  await toolkit.start();
  await Promise.all(members.map(({ connection }) => connection.ready({ signal: AbortSignal.timeout(30_000) })));
  await Promise.all(members.map(({ subscriber }) => subscriber.subscribe()));
  const catalogues = new Catalogues();
  // server-everything has other tools right after its handshake than a moment later.
  await sleep(warmUpMs / 4);
  for (const { server, connection } of members) catalogues.remember(server, connection);

  const running = [
    bystander.run(),
    ...members.map(({ server, windows }) => traffic.run(server, windows, chance(`${seed}/calls of ${server.name}`))),
  ];
  const looking = setInterval(() => traffic.look(), lookMs);
  await sleep(warmUpMs);
  const heapStart = await heapMegabytes();
  const startedAt = performance.now();
  const telling = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const connected = members.filter(({ connection }) => connection.state === "connected").length;
    const failed = [...traffic.failures.values()].reduce((sum, count) => sum + count, 0);
    const heap = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
    console.error(
      `${seconds} s: ${traffic.calls} calls, ${failed} failed, ${traffic.inFlight} in flight; ${losses} connections lost, ` +
        `${recoveries.healed.count} of ${plan.length} troubles healed, ${connected} of ${members.length} connected; ` +
        `heap ${heap} MB; ${breaches.all.length} broken`,
    );
  }, progressMs);
  await Promise.all([
    sleep(durationMs),
    ...members.map((member) => {
      const probing = chance(`${seed}/probes of ${member.server.name}`);
      const probe = (timeoutMs: number) => traffic.probe(member.server, member.windows, probing, timeoutMs);
      const host = { ...member, toolkit, catalogues, recoveries, breaches, stalls, probe };
      return new Troublemaker(host).run(
        plan.filter(({ server }) => server === member.server.name),
        startedAt,
      );
    }),
  ]);
  bystander.stop();
  await traffic.stop();
  await Promise.all(running);
  traffic.finish();
  clearInterval(looking);
  clearInterval(telling);
  for (const { server, connection } of members) {
    const difference = catalogues.difference(server, connection);
    if (difference !== undefined) breaches.add(server.name, `at the end ${difference}`);
    if (connection.callsInFlight > 0)
      breaches.add(server.name, `at the end ${connection.callsInFlight} calls are in flight`);
  }
  const heapEnd = await heapMegabytes();
  if (heapEnd - heapStart > maxGrowthMegabytes) {
    breaches.add(undefined, `the heap grew by ${(heapEnd - heapStart).toFixed(1)} MB`);
  }
  try {
    await toolkit.close();
  } catch (error) {
    breaches.add(undefined, `close failed: ${String(error)}`);
  }
  for (const { name, running } of fleet.servers) {
    for (const left of await leftOf(running)) breaches.add(name, `after close there is ${left}`);
  }
  await fleet[Symbol.asyncDispose]();
  for (const pid of pids) if (isAlive(pid)) breaches.add(undefined, `process ${pid} is left`);
  const handles = await handlesBeside(before);
  if (handles.length > 0) breaches.add(undefined, `open handles: ${handles.join(", ")}`);
  return {
    plan,
    traffic,
    recoveries,
    bystander,
    losses,
    heapStart,
    heapEnd,
    handles,
    processes: pids.size,
    stalls: stalls.summary,
  };
}

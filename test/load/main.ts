/**
 * `npm run load -- [seconds] [--seed N] [--clients N] [--pause MS] [--no-faults]`: clients call a served Toolkit in a process of its own,
 * whose upstream servers fail and are killed meanwhile. It prints throughput, durations, errors and memory, and exits with 1 where an answer or a
 * notification was lost, doubled or another's.
 */
import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { RawClient } from "../server/fixture/raw-client.ts";
import type { Quantiles } from "../soak/quantiles.ts";
import { randomOf } from "../support/random.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import type { GatewayUse } from "./gateway-program.ts";
import { LoadLedger } from "./ledger.ts";
import { callOften, Upstreams, Watchers } from "./traffic.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    seed: { type: "string" },
    clients: { type: "string", default: "200" },
    pause: { type: "string", default: "500" },
    faults: { type: "boolean", default: true },
  },
});
const seconds = Number(positionals[0] ?? 60);
const count = Number(values.clients);
const pauseMs = Number(values.pause);
if (!(seconds > 0) || !(count > 0) || !(pauseMs >= 0) || positionals.length > 1) {
  console.error("Usage: npm run load -- [seconds] [--seed N] [--clients N] [--pause MS] [--no-faults]");
  process.exit(2);
}
const seed = Number(values.seed ?? randomInt(1_000_000));

await using upstreams = new Upstreams();
await using gateway = await startGateway(await upstreams.targets());
await using stack = new AsyncDisposableStack();
const ledger = new LoadLedger();
const clients: { readonly name: string; readonly client: RawClient }[] = [];
for (let index = 0; index < count; index += 1) {
  const name = `client-${index}`;
  clients.push({
    name,
    client: stack.use(await RawClient.connect({ url: gateway.url, headers: { "x-principal": name } })),
  });
}
const watchers = stack.use(await Watchers.open(gateway.url, 10));
const before = await gateway.use(true);
const stop = new AbortController();
const { signal } = stop;
const peak = peakOf(gateway, signal);
const trouble = values.faults ? upstreams.trouble(randomOf(seed + 1), signal) : undefined;
const following = watchers.follow(upstreams.lists, signal);
const calling = clients.map(({ name, client }, at) =>
  callOften(client, { name, ledger, random: randomOf(seed + 2 + at), pauseMs, signal }),
);
await delay(seconds * 1_000);
stop.abort();
await Promise.all([...calling, following]);
const faults = await trouble;
const after = await gateway.use(true);
ledger.settle((id) => upstreams.runs(id));
for (const { name, client } of clients)
  for (const stray of client.strays)
    ledger.breaches.push(`${name}: an answer it did not ask for: ${JSON.stringify(stray)}`);
const breaches = [...ledger.breaches, ...watchers.breaches];

const sum = (map: ReadonlyMap<string, number> = new Map()) =>
  [...map]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, times]) => `${name} ${times}`)
    .join(", ") || "none";
console.log(`${count} clients, ${seconds} s, seed ${seed}`);
console.log(`faults       ${sum(faults)}`);
console.log(`throughput   ${(ledger.answered / seconds).toFixed(0)} calls/s, ${ledger.answered} calls`);
console.log(`calls        ${durationsOf(ledger.durations)}`);
console.log(`list changes ${durationsOf(watchers.durations)} (${watchers.changes} changes, 10 watchers)`);
console.log(`errors       ${sum(ledger.errors)}`);
console.log(`gateway      ${useOf(before)} before, ${useOf(after)} after, rss ${mebibytes(await peak)} at most`);
console.log(
  `cpu          ${(((after.cpuSeconds - before.cpuSeconds) / Math.max(1, ledger.answered)) * 1_000).toFixed(2)} ms a call`,
);
for (const breach of breaches.slice(0, 20)) console.log(`BROKEN       ${breach}`);
console.log(
  breaches.length === 0 ? "nothing was lost, doubled or mixed up" : `${breaches.length} promises were broken`,
);
process.exitCode = breaches.length === 0 ? 0 : 1;

function durationsOf(durations: Quantiles): string {
  const at = (part: number) => `${durations.at(part).toFixed(1)} ms`;
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, worst ${durations.worstMs.toFixed(1)} ms`;
}

function useOf({ heap, rss }: GatewayUse): string {
  return `heap ${mebibytes(heap)}, rss ${mebibytes(rss)}`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}

async function peakOf({ use }: Gateway, until: AbortSignal): Promise<number> {
  let most = 0;
  while (!until.aborted) {
    most = Math.max(most, (await use(false)).rss);
    await delay(1_000, undefined, { signal: until }).catch(() => undefined);
  }
  return most;
}

// Stops and starts an HTTP server under load as often as its argument says, and prints what came of it. It must then end by itself.
import { setTimeout as delay } from "node:timers/promises";
import { defineTool, Toolkit } from "../../../../src/index.ts";
import { faultyServer } from "../../../../src/testing/index.ts";
import { until } from "../../../support/until.ts";
import { Load } from "./load.ts";
import { handlesNow, heapGrown, heapNow, newHandles } from "./residue.ts";

const restarts = Number(process.argv[2]);
const timeoutMs = 10_000;
const unhandled: string[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(String((reason as Error)?.stack ?? reason)));

// Once to load and compile what there is.
await play(2);
const handles = await handlesNow();
const heap = await heapNow();
const observed = await play(restarts);
const rest = { handles: await newHandles(handles), heapGrownMb: await heapGrown(heap), unhandled };
process.stdout.write(`${JSON.stringify({ ...observed, ...rest })}\n`);

async function play(times: number): Promise<object> {
  await using server = faultyServer();
  const listening = await server.listen();
  await using toolkit = new Toolkit({ items: [defineTool({ name: "now", run: () => Date.now() })] });
  const connection = toolkit.addConnector(listening.url, { namespace: "f", retryMs: 50, maxRetryMs: 200 });
  await connection.ready();
  const load = new Load(toolkit, timeoutMs);
  const noticedMs: number[] = [];
  const healedMs: number[] = [];
  for (let round = 0; round < times; round++) {
    const before = load.calls;
    await until(() => load.calls > before + 20);
    const stoppedAt = performance.now();
    await listening.stop();
    await until(() => connection.state !== "connected");
    noticedMs.push(performance.now() - stoppedAt);
    await delay(round * 5);
    await listening.start();
    const startedAt = performance.now();
    await toolkit.call("f.count", { of: "nothing" }, { timeoutMs });
    healedMs.push(performance.now() - startedAt);
  }
  await load.stop();
  const tools = connection.list("tool").map(({ name }) => name);
  const same = tools.sort().join() === server.offers.tools.join();
  await toolkit.close();
  await until(() => server.running().length === 0, 5_000).catch(() => undefined);
  const { calls, codes, listeners } = load;
  const worst = { noticedMs: Math.max(...noticedMs), healedMs: Math.max(...healedMs) };
  return { calls, codes, listeners, ...load.compare(server), ...worst, same, left: server.running() };
}

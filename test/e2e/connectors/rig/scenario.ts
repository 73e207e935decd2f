import { setTimeout as delay } from "node:timers/promises";
import type { Connection } from "../../../../src/core/connection.ts";
import { defineTool, Toolkit } from "../../../../src/index.ts";
import { mcpConnector } from "../../../../src/mcp/index.ts";
import { type FaultyServer, faultyServer } from "../../../../src/testing/index.ts";
import { until } from "../../../support/until.ts";
import type { Case, Way } from "./cases.ts";
import { Load } from "./load.ts";
import type { Report } from "./report.ts";

/** Of the connectors, small enough that faults reach them. */
const limits = { maxListSize: 100, maxMessageBytes: 1_000_000 };
const soon = { retryMs: 100, maxRetryMs: 400, healthCheckMs: 5_000 };
/** Longer than a half-open connection may go unnoticed. */
const patienceMs = 8_000;
const calmMs = 150;

/** The measurements of a case while it goes on; the remains after it are measured from outside. */
export type Observed = Omit<Report, "fault" | "way" | "handles" | "unhandled" | "heapGrownMb">;

/** Puts a fault to a toolkit under load, until it has recovered and is closed. */
export async function play(one: Case, way: Way): Promise<Observed> {
  await using server = faultyServer({ pageSize: 3 });
  const now = defineTool({ name: "now", run: () => Date.now() });
  await using toolkit = new Toolkit({ items: [now] });
  const connection = toolkit.addConnector(await connectorFor(server, way), { namespace: "f", ...soon });
  await connection.ready();
  const load = new Load(toolkit, one.timeoutMs ?? patienceMs);
  try {
    await until(() => load.calls > 50);
    const fate = await endure(one, { server, connection, toolkit });
    await delay(calmMs);
    await load.stop();
    const catalogue = await settled(() => differences(server, connection));
    const closeMs = await timeOf(() => toolkit.close());
    const left = await settled(() => server.running());
    const { calls, codes, worstBuiltinMs, listeners } = load;
    return { calls, codes, worstBuiltinMs, listeners, ...load.compare(server), ...fate, catalogue, left, closeMs };
  } finally {
    await load.stop();
  }
}

async function timeOf(run: () => Promise<void>): Promise<number> {
  const begin = performance.now();
  await run();
  return performance.now() - begin;
}

async function connectorFor(server: FaultyServer, way: Way) {
  if (way === "in-memory") return server.connector(limits);
  if (way === "stdio") return mcpConnector(await server.stdio(), limits);
  const { url } = await server.listen({ answers: way === "http with JSON" ? "json" : "sse" });
  return mcpConnector(url, limits);
}

interface Stage {
  readonly server: FaultyServer;
  readonly connection: Connection;
  readonly toolkit: Toolkit;
}

/** From the fault until all is well. */
async function endure(
  one: Case,
  stage: Stage,
): Promise<Pick<Report, "noticedMs" | "healedMs" | "happened" | "changes">> {
  const { server, connection, toolkit } = stage;
  const begin = performance.now();
  let noticedMs: number | undefined;
  const stopListening = toolkit.on("connectorDisconnected", () => {
    noticedMs ??= performance.now() - begin;
  });
  let changes = 0;
  const stopCounting = toolkit.on("toolListChanged", () => {
    changes++;
  });
  const fault = await server.fault(one.fault, one.options);
  if (one.relists === true)
    for (const kind of ["tools", "prompts", "resources"]) server.notify(`notifications/${kind}/list_changed`);
  // A fault that shows only in a new connection is put to one.
  if (one.ofProcess === true || one.fault === "unknown-version") connection.reconnect();
  if (one.forMs === undefined) await fault.happens(one.options?.times ?? 1);
  else await delay(one.forMs);
  if (one.relists === true) await fault.happens(1, { signal: AbortSignal.timeout(patienceMs) });
  await until(() => changes >= (one.changes ?? 0) / 2, patienceMs, "the change is told");
  if (one.ofProcess === true) {
    // The child that has the fault is dropped in its turn.
    await connection.ready();
    connection.reconnect();
  }
  await fault.off();
  // As an operator does it: a server of an unknown revision is not tried again by itself.
  if (one.fault === "unknown-version") {
    await until(() => connection.state === "waiting", patienceMs, "it is given up");
    connection.reconnect();
  }
  if (one.relists === true) tellOfLists(server);
  if (one.loses === true) await until(() => noticedMs !== undefined, patienceMs, "the loss is noticed");
  await until(() => connection.state === "connected", patienceMs, "connected again");
  await until(() => connection.counts.tool > 0, patienceMs, "it is listed");
  await toolkit.call("f.count", { of: "nothing" }, { timeoutMs: patienceMs });
  const healedMs = performance.now() - begin;
  await until(() => changes >= (one.changes ?? 0), patienceMs, "that it is as before is told");
  stopListening();
  stopCounting();
  return { noticedMs, healedMs, happened: fault.happened, changes };
}

function tellOfLists(server: FaultyServer): void {
  for (const kind of ["tools", "prompts", "resources"]) server.notify(`notifications/${kind}/list_changed`);
}

/** The items that the catalogue has and the server does not, or the other way round. */
function differences({ offers }: FaultyServer, connection: Connection): readonly string[] {
  const known = {
    tools: connection.list("tool").map(({ name }) => name),
    prompts: connection.list("prompt").map(({ name }) => name),
    resources: connection.list("resource").map(({ item }) => item.uri),
  };
  const drifted = connection.list("tool").filter(({ item }) => JSON.stringify(item).includes('"drift"'));
  return [
    ...(Object.keys(known) as (keyof typeof known)[]).flatMap((kind) => {
      const here = [...known[kind]].sort().join();
      const there = offers[kind].join();
      return here === there ? [] : [`${kind}: ${here} instead of ${there}`];
    }),
    ...drifted.map(({ name }) => `${name} has the schema of before`),
  ];
}

/** The faults that remain when there was time to put them right. */
async function settled(look: () => readonly string[]): Promise<readonly string[]> {
  await until(() => look().length === 0, 5_000).catch(() => undefined);
  return look();
}

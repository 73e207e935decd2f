import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { defineTool } from "../../src/core/tool.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, type Comparison, measure, type Timing, timingOf } from "./harness.ts";
import { rawHttpClient, rawInMemoryClient, startHttpServers } from "./raw.ts";
import { message, messageSchema } from "./server/tools.ts";
import { nextSession, ourCallOf, rawCallOf, together } from "./whole-call.ts";

const atOnce = 16;
/** Processes of each side, in turns. */
const processes = 3;
const effort = { rounds: 16, roundMs: 40 };
const aloneFile = fileURLToPath(new URL("./alone.ts", import.meta.url));

/**
 * One call: of a builtin, and of a connector's tool over each transport, against `Client.callTool` of the SDK. Those of connectors are made
 * as a service makes them: each with a signal of its own, for several principals, and the result is read.
 */
export const bench: Bench = {
  name: "call",
  targets: {
    "builtin sync": { of: "ratio", must: 0.1, reach: 0.03 },
    "builtin async": { of: "ratio", must: 0.1, reach: 0.05 },
    "builtin signal": { of: "ratio", must: 0.1, reach: 0.07 },
    "in-memory": { of: "ratio", must: 1 },
    stdio: { of: "ratio", must: 1 },
    http: { of: "ratio", must: 0.85, reach: 0.75 },
    // 1.6 times the throughput.
    "http at once": { of: "ratio", reach: 1 / 1.6 },
  },
  async run(_profile, show) {
    const rows: Comparison[] = [];
    const done = (row: Comparison) => {
      rows.push(row);
      show?.(row);
    };
    for (const row of await builtinCalls()) done(row);
    await httpCalls(done);
    callsAlone(done);
    return rows;
  },
};

type Done = (row: Comparison) => void;

/** Validated both ways, through the default pipeline. */
async function builtinCalls(): Promise<readonly Comparison[]> {
  await using toolkit = new Toolkit();
  const schemas = { input: messageSchema, output: messageSchema };
  toolkit.add(
    defineTool({ name: "sync", ...schemas, run: (input) => input }),
    defineTool({ name: "async", ...schemas, run: async (input) => input }),
  );
  const raw = await rawInMemoryClient();
  const { signal } = new AbortController();
  const timings = await measure(
    {
      raw: () => raw.callTool({ name: "echo", arguments: message }),
      rawWhole: rawCallOf(raw),
      whole: ourCallOf(toolkit, "builtin.async"),
      sync: () => toolkit.call("builtin.sync", message),
      async: () => toolkit.call("builtin.async", message),
      syncSignal: () => toolkit.call("builtin.sync", message, { signal }),
      asyncSignal: () => toolkit.call("builtin.async", message, { signal }),
      freshSignal: () => toolkit.call("builtin.async", message, { signal: new AbortController().signal }),
      syncJson: async () => (await toolkit.call("builtin.sync", message)).json(),
      asyncJson: async () => (await toolkit.call("builtin.async", message)).json(),
      principals: () => toolkit.call("builtin.async", message, { session: nextSession() }),
    },
    effort,
  );
  await raw.close();
  const peer = { name: "SDK in-memory", timing: timings.raw };
  return [
    { name: "builtin, sync", target: "builtin sync", ours: timings.sync, peer },
    { name: "builtin, async", target: "builtin async", ours: timings.async, peer },
    { name: "builtin, sync, signal", target: "builtin signal", ours: timings.syncSignal, peer },
    { name: "builtin, async, signal", target: "builtin signal", ours: timings.asyncSignal, peer },
    { name: "builtin, async, a new signal each", target: "builtin signal", ours: timings.freshSignal, peer },
    { name: "builtin, sync, and json()", ours: timings.syncJson, peer },
    { name: "builtin, async, and json()", ours: timings.asyncJson, peer },
    { name: "builtin, async, 100 principals", ours: timings.principals, peer },
    {
      name: "builtin, async, all of these",
      ours: timings.whole,
      peer: { name: "SDK in-memory, a new signal each", timing: timings.rawWhole },
    },
  ];
}

/** Over HTTP both sides are in one process: the network is the most of it. */
async function httpCalls(done: Done): Promise<void> {
  for (const answers of ["json", "sse"] as const) {
    await using servers = await startHttpServers({ answers });
    const [url = ""] = servers.urls;
    await using toolkit = new Toolkit();
    toolkit.addConnector(url, { namespace: "bench" });
    await toolkit.start();
    const client = await rawHttpClient(url);
    for (const count of [1, atOnce]) {
      const sides = {
        raw: together(count, rawCallOf(client)),
        ours: together(count, ourCallOf(toolkit, "bench.echo")),
      };
      const timings = await measure(sides, effort);
      const peer = { name: "SDK", timing: timings.raw };
      const name = `HTTP, ${answers}${count === 1 ? "" : `, ${count} at once`}`;
      done({ name, target: count === 1 ? "http" : "http at once", ours: timings.ours, peer });
    }
    await client.close();
  }
}

/** Each side in processes of its own. */
function callsAlone(done: Done): void {
  for (const transport of ["in-memory", "stdio"] as const) {
    const ours: AloneTimings[] = [];
    const raw: AloneTimings[] = [];
    for (let each = 0; each < processes; each++) {
      ours.push(measureAlone("ours", transport));
      raw.push(measureAlone("raw", transport));
    }
    for (const count of [1, atOnce]) {
      const name = `${transport}, ${count === 1 ? "" : `${count} at once, `}own processes`;
      const peer = { name: "SDK", timing: median(raw.map((timings) => timings[count])) };
      done({ name, target: transport, ours: median(ours.map((timings) => timings[count])), peer });
    }
  }
}

/** The timings of one process, by how many calls were made at once. */
type AloneTimings = Readonly<Record<number, Timing>>;

function measureAlone(side: "ours" | "raw", transport: "in-memory" | "stdio"): AloneTimings {
  const args = [aloneFile, side, transport === "stdio" ? "stdio" : "memory", "1", String(atOnce)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`The process of ${side} over ${transport} failed.\n${stderr}`);
  return JSON.parse(stdout);
}

function median(given: readonly (Timing | undefined)[]): Timing {
  const timings = given.filter((timing) => timing !== undefined);
  const samples = timings.reduce((sum, timing) => sum + timing.samples, 0);
  return {
    p50: timingOf(timings.map(({ p50 }) => p50)).p50,
    p99: timingOf(timings.map(({ p99 }) => p99)).p50,
    samples,
  };
}

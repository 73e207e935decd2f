import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { defineTool } from "../../src/core/tool.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, type Comparison, measure, type Operation, type Timing, timingOf } from "./harness.ts";
import { rawHttpClient, rawInMemoryClient, rawStdioClient, startHttpServers, stdioServer } from "./raw.ts";
import { createServer, message, messageSchema } from "./server/tools.ts";

const atOnce = 16;
/** The sessions of a service that serves several people. */
const sessions = Array.from({ length: 100 }, (_, at) => ({ id: `session-${at}`, principal: `principal-${at}` }));
/** Processes of each side, in turns. */
const processes = 5;
const aloneFile = fileURLToPath(new URL("./alone.ts", import.meta.url));

/** One call: of a builtin, and of a connector's tool over each transport, against `Client.callTool` of the SDK. */
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
  async run() {
    return [...(await builtinCalls()), ...(await connectorCalls()), ...callsAlone()];
  },
};

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
  let turn = 0;
  const session = () => sessions[turn++ % sessions.length];
  const timings = await measure({
    raw: () => raw.callTool({ name: "echo", arguments: message }),
    sync: () => toolkit.call("builtin.sync", message),
    async: () => toolkit.call("builtin.async", message),
    syncSignal: () => toolkit.call("builtin.sync", message, { signal }),
    asyncSignal: () => toolkit.call("builtin.async", message, { signal }),
    freshSignal: () => toolkit.call("builtin.async", message, { signal: new AbortController().signal }),
    syncJson: async () => (await toolkit.call("builtin.sync", message)).json(),
    asyncJson: async () => (await toolkit.call("builtin.async", message)).json(),
    principals: () => toolkit.call("builtin.async", message, { session: session() }),
  });
  await raw.close();
  const peer = { name: "SDK in-memory", timing: timings.raw };
  return [
    { name: "builtin, sync", target: "builtin sync", ours: timings.sync, peer },
    { name: "builtin, async", target: "builtin async", ours: timings.async, peer },
    { name: "builtin, sync, signal", target: "builtin signal", ours: timings.syncSignal, peer },
    { name: "builtin, async, signal", target: "builtin signal", ours: timings.asyncSignal, peer },
    { name: "builtin, async, a new signal each", ours: timings.freshSignal, peer },
    { name: "builtin, sync, and json()", ours: timings.syncJson, peer },
    { name: "builtin, async, and json()", ours: timings.asyncJson, peer },
    { name: "builtin, async, 100 principals", ours: timings.principals, peer },
  ];
}

async function connectorCalls(): Promise<readonly Comparison[]> {
  await using json = await startHttpServers({ answers: "json" });
  await using sse = await startHttpServers({ answers: "sse" });
  const [jsonUrl = "", sseUrl = ""] = [...json.urls, ...sse.urls];
  await using toolkit = new Toolkit();
  // The SDK declares optional properties in another strictness than ours.
  const local = inMemoryConnector((transport) => createServer("bench").connect(transport as Transport));
  toolkit.addConnector(local, { namespace: "memory" });
  toolkit.addConnector(stdioServer, { namespace: "stdio" });
  toolkit.addConnector(jsonUrl, { namespace: "json" });
  toolkit.addConnector(sseUrl, { namespace: "sse" });
  await toolkit.start();
  const raw = {
    memory: await rawInMemoryClient(),
    stdio: await rawStdioClient(),
    json: await rawHttpClient(jsonUrl),
    sse: await rawHttpClient(sseUrl),
  };
  const compare = async (transport: keyof typeof raw, target: string): Promise<Comparison> => {
    const timings = await measure({
      raw: () => raw[transport].callTool({ name: "echo", arguments: message }),
      ours: () => toolkit.call(`${transport}.echo`, message),
    });
    return { name: names[transport], target, ours: timings.ours, peer: { name: "SDK", timing: timings.raw } };
  };
  const compareAtOnce = async (transport: "json" | "sse"): Promise<Comparison> => {
    const timings = await measure({
      raw: together(() => raw[transport].callTool({ name: "echo", arguments: message })),
      ours: together(() => toolkit.call(`${transport}.echo`, message)),
    });
    const peer = { name: "SDK", timing: timings.raw };
    return { name: `${names[transport]}, ${atOnce} at once`, target: "http at once", ours: timings.ours, peer };
  };
  const comparisons = [
    await compare("memory", "in-memory"),
    await compare("stdio", "stdio"),
    await compare("json", "http"),
    await compare("sse", "http"),
    await compareAtOnce("json"),
    await compareAtOnce("sse"),
  ];
  await Promise.all(Object.values(raw).map((client) => client.close()));
  return comparisons;
}

/** Each side in processes of its own. */
function callsAlone(): readonly Comparison[] {
  return (["memory", "stdio"] as const).flatMap((transport) =>
    [1, atOnce].map((count) => {
      const ours: Timing[] = [];
      const raw: Timing[] = [];
      for (let each = 0; each < processes; each++) {
        ours.push(measureAlone("ours", transport, count));
        raw.push(measureAlone("raw", transport, count));
      }
      const name = `${names[transport]}, ${count === 1 ? "" : `${count} at once, `}own processes`;
      const peer = { name: "SDK", timing: median(raw) };
      return { name, target: transport === "memory" ? "in-memory" : "stdio", ours: median(ours), peer };
    }),
  );
}

function measureAlone(side: "ours" | "raw", transport: string, count: number): Timing {
  const { status, stdout, stderr } = spawnSync(process.execPath, [aloneFile, side, transport, String(count)], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`The process of ${side} over ${transport} failed.\n${stderr}`);
  return JSON.parse(stdout);
}

function median(timings: readonly Timing[]): Timing {
  const samples = timings.reduce((sum, timing) => sum + timing.samples, 0);
  return {
    p50: timingOf(timings.map(({ p50 }) => p50)).p50,
    p99: timingOf(timings.map(({ p99 }) => p99)).p50,
    samples,
  };
}

const names = { memory: "in-memory", stdio: "stdio", json: "HTTP, JSON", sse: "HTTP, SSE" };

function together(operation: Operation): Operation {
  return () => Promise.all(Array.from({ length: atOnce }, operation));
}

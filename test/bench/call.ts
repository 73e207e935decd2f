import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { defineTool } from "../../src/core/tool.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, type Comparison, measure, type Operation } from "./harness.ts";
import { rawHttpClient, rawInMemoryClient, rawStdioClient, startHttpServers, stdioServer } from "./raw.ts";
import { createServer, message, messageSchema } from "./server/tools.ts";

const atOnce = 16;

/** One call: of a builtin, and of a connector's tool over each transport, against `Client.callTool` of the SDK. */
export const bench: Bench = {
  name: "call",
  targets: {
    "builtin sync": { of: "ratio", must: 0.1, reach: 0.03 },
    "builtin async": { of: "ratio", must: 0.1, reach: 0.05 },
    "builtin signal": { of: "ratio", must: 0.1, reach: 0.07 },
    "in-memory": { of: "ratio", must: 1.05 },
    stdio: { of: "ratio", must: 1.05 },
    http: { of: "ratio", must: 1, reach: 0.75 },
    // 1.6 times the throughput.
    "http at once": { of: "ratio", reach: 1 / 1.6 },
  },
  async run() {
    return [...(await builtinCalls()), ...(await connectorCalls())];
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
  const timings = await measure({
    raw: () => raw.callTool({ name: "echo", arguments: message }),
    sync: () => toolkit.call("builtin.sync", message),
    async: () => toolkit.call("builtin.async", message),
    syncSignal: () => toolkit.call("builtin.sync", message, { signal }),
    asyncSignal: () => toolkit.call("builtin.async", message, { signal }),
    freshSignal: () => toolkit.call("builtin.async", message, { signal: new AbortController().signal }),
  });
  await raw.close();
  const peer = { name: "SDK in-memory", timing: timings.raw };
  return [
    { name: "builtin, sync", target: "builtin sync", ours: timings.sync, peer },
    { name: "builtin, async", target: "builtin async", ours: timings.async, peer },
    { name: "builtin, sync, signal", target: "builtin signal", ours: timings.syncSignal, peer },
    { name: "builtin, async, signal", target: "builtin signal", ours: timings.asyncSignal, peer },
    { name: "builtin, async, a new signal each", ours: timings.freshSignal, peer },
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

const names = { memory: "in-memory", stdio: "stdio", json: "HTTP, JSON", sse: "HTTP, SSE" };

function together(operation: Operation): Operation {
  return () => Promise.all(Array.from({ length: atOnce }, operation));
}

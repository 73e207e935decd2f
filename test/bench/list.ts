import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { defineTool } from "../../src/core/tool.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, type CleanUp, type Comparison, measure, measureOnce, type Timing } from "./harness.ts";
import { withLangChain } from "./langchain.ts";
import { rawHttpClient, rawInMemoryClient, startHttpServers } from "./raw.ts";
import { createServer } from "./server/tools.ts";

const tools = 20;
const offer = { tools, output: false };

/**
 * Connecting and listing servers of 20 tools, and listing them again, against the SDK's client, which has to ask each server
 * again. With BENCH_PEERS=1 also against LangChain's adapters, which keep what they know.
 */
export const bench: Bench = {
  name: "list",
  targets: {
    "cold, 50 HTTP": { of: "ratio", must: 0.65, reach: 0.5 },
    "warm, LangChain": { of: "ratio", must: 0.1 },
    "10,000": { of: "microseconds", must: 50 },
    "page of 100": { of: "microseconds", must: 10, reach: 1 },
  },
  async run() {
    const comparisons: Comparison[] = [];
    for (const count of [1, 10, 50]) comparisons.push(...(await inMemory(count)));
    for (const count of [1, 10, 50]) comparisons.push(...(await overHttp(count)));
    comparisons.push(await coldWithOutputSchemas());
    return [...comparisons, ...(await many())];
  },
};

interface Sides {
  readonly ours: () => Promise<Toolkit>;
  readonly raw: () => Promise<readonly Client[]>;
}

async function inMemory(count: number): Promise<readonly Comparison[]> {
  const named = Array.from({ length: count }, (_, at) => `bench${at}`);
  return coldAndWarm(`${count} in-memory`, count, {
    ours: () =>
      started((toolkit) => {
        for (const name of named) {
          // The SDK declares optional properties in another strictness than ours.
          const connect = (transport: unknown): Promise<void> =>
            createServer(name, offer).connect(transport as Transport);
          toolkit.addConnector(inMemoryConnector(connect), { namespace: name });
        }
      }),
    raw: () => Promise.all(named.map(() => rawInMemoryClient(offer))),
  });
}

async function overHttp(count: number): Promise<readonly Comparison[]> {
  await using servers = await startHttpServers({ count, ...offer });
  const sides = httpSides(servers.urls);
  const comparisons = await coldAndWarm(`${count} HTTP`, count, sides);
  return count === 50 ? [...comparisons, ...(await warmBesideLangChain(servers.urls, sides))] : comparisons;
}

/** The SDK's client compiles each output schema when it lists; we do when a tool is called. */
async function coldWithOutputSchemas(): Promise<Comparison> {
  await using servers = await startHttpServers({ count: 50, tools });
  const cold = await connectAndList(50, httpSides(servers.urls));
  const peer = { name: "SDK", timing: cold.raw };
  return { name: "cold, 50 HTTP, output schemas", target: "cold, 50 HTTP", ours: cold.ours, peer };
}

function httpSides(urls: readonly string[]): Sides {
  return {
    ours: () =>
      started((toolkit) => {
        urls.forEach((url, at) => {
          toolkit.addConnector(url, { namespace: `bench${at}` });
        });
      }),
    raw: () => Promise.all(urls.map(rawHttpClient)),
  };
}

async function coldAndWarm(what: string, count: number, sides: Sides): Promise<readonly Comparison[]> {
  const cold = await connectAndList(count, sides);
  const clients = await sides.raw();
  await using toolkit = await sides.ours();
  check((await toolkit.list()).count, count);
  const warm = await measure({ raw: () => listRaw(clients), ours: () => toolkit.list() });
  await closing(clients)();
  return [
    {
      name: `cold, ${what}`,
      ...(what === "50 HTTP" ? { target: "cold, 50 HTTP" } : {}),
      ours: cold.ours,
      peer: { name: "SDK", timing: cold.raw },
    },
    { name: `warm, ${what}`, ours: warm.ours, peer: { name: "SDK, asking again", timing: warm.raw } },
  ];
}

function connectAndList(count: number, sides: Sides): Promise<Readonly<Record<"ours" | "raw", Timing>>> {
  return measureOnce(
    {
      raw: async () => {
        const clients = await sides.raw();
        check(await listRaw(clients), count);
        return closing(clients);
      },
      ours: async () => {
        const toolkit = await sides.ours();
        check((await toolkit.list()).count, count);
        return () => toolkit.close();
      },
    },
    count === 50 ? 10 : 20,
  );
}

async function warmBesideLangChain(urls: readonly string[], sides: Sides): Promise<readonly Comparison[]> {
  await using toolkit = await sides.ours();
  const timings = await withLangChain(urls, (langChain) =>
    measure({ langChain: () => langChain.getTools(), ours: () => toolkit.list() }),
  );
  if (timings === undefined) return [];
  const peer = { name: "LangChain", timing: timings.langChain };
  return [{ name: "warm, 50 HTTP", target: "warm, LangChain", ours: timings.ours, peer }];
}

async function many(): Promise<readonly Comparison[]> {
  await using toolkit = new Toolkit();
  toolkit.add(...Array.from({ length: 10_000 }, (_, at) => defineTool({ name: `tool_${at}`, run: () => at })));
  let page = 0;
  const timings = await measure({
    all: () => toolkit.list(),
    page: () => {
      page = (page + 1) % 100;
      return toolkit.list({ limit: 100, offset: page * 100 });
    },
  });
  return [
    { name: "warm, 10,000 builtins", target: "10,000", ours: timings.all },
    { name: "warm, 100 of 10,000", target: "page of 100", ours: timings.page },
  ];
}

async function started(fill: (toolkit: Toolkit) => void): Promise<Toolkit> {
  const toolkit = new Toolkit();
  fill(toolkit);
  await toolkit.start();
  return toolkit;
}

async function listRaw(clients: readonly Client[]): Promise<number> {
  const lists = await Promise.all(clients.map((client) => client.listTools()));
  return lists.reduce((sum, list) => sum + list.tools.length, 0);
}

function closing(clients: readonly Client[]): CleanUp {
  return () => Promise.all(clients.map((client) => client.close()));
}

/** A side that lists less than it should would look fast. */
function check(listed: number, servers: number): void {
  if (listed !== servers * tools) throw new Error(`Listed ${listed} tools instead of ${servers * tools}.`);
}

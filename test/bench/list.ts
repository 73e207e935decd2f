import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { ListQuery, Tool } from "../../src/core/item.ts";
import { defineTool } from "../../src/core/tool.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
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
    page: { of: "microseconds", must: 50, reach: 10 },
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
  const comparisons: Comparison[] = [];
  for (const count of [10_000, 100_000]) {
    const name = `${count.toLocaleString("en")} tools`;
    const timings = Object.entries(await manyTools(count));
    for (const [what, ours] of timings)
      comparisons.push({ name: `warm, ${what}, ${name}`, target: what === "all" ? "10,000" : "page", ours });
  }
  return comparisons;
}

/** Tools of the toolkit, half as many items in a namespace beside it, and principals with a prompt each. */
async function manyTools(count: number): Promise<Readonly<Record<string, Timing>>> {
  await using toolkit = new Toolkit({ store: memoryStore() });
  toolkit.add(...toolsOf(count, "tool"));
  toolkit.addSource("half", { tool: async () => toolsOf(count / 2, "half") });
  await toolkit.start();
  const sessions = Array.from({ length: 1_000 }, (_, at) => ({ id: `${at}`, principal: `principal ${at}` }));
  for (const session of sessions) await toolkit.user.putPrompt("---\nname: own\n---\nHello.", { session });
  const views = sessions.map(({ principal }) => toolkit.view({ include: ["half.*"], exclude: ["half_1*"], principal }));
  let turn = 0;
  let added = 0;
  const page = (query: ListQuery = {}, of: Pick<Toolkit, "list"> = toolkit) => {
    turn += 1;
    return of.list({ ...query, limit: 100, offset: (turn * 7919) % (count / 2) });
  };
  const timings = await measure({
    all: () => toolkit.list(),
    page: () => page(),
    "page of a namespace": () => page({ namespace: "half" }),
    "page of two namespaces": () => page({ namespace: ["half", "user"] }),
    "page of a kind": () => page({ kind: "prompt" }),
    "three by name": () => toolkit.list({ name: ["tool_7", "half.half_8", "own"], session: sessions[turn % 1_000] }),
    "page, 2 principals in turn": () => page({ session: sessions[turn % 2] }),
    "page, 1,000 principals in turn": () => page({ session: sessions[turn % 1_000] }),
    "page, 1,000 views in turn": () => page({}, views[turn % 1_000]),
    "add, and a page": () => {
      added += 1;
      toolkit.add(...toolsOf(1, `added_${added}`));
      return page();
    },
  });
  const alone = await measure({
    add: () => {
      added += 1;
      toolkit.add(...toolsOf(1, `added_${added}`));
    },
  });
  const { "add, and a page": both, ...rest } = timings;
  return { ...rest, "page after an add": { ...both, p50: both.p50 - alone.add.p50, p99: both.p99 - alone.add.p50 } };
}

function toolsOf(count: number, name: string): readonly Tool[] {
  return Array.from({ length: count }, (_, at) => defineTool({ name: `${name}_${at}`, run: () => at }));
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

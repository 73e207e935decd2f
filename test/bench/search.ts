import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Connector, ConnectorSession } from "../../src/core/connector.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { ToolRun } from "../../src/toolset/tool-run.ts";
import { type Bench, type Comparison, measure, timingOf } from "./harness.ts";
import { type CorpusQueries, type CorpusTool, ownQueries, ownTools } from "./search-corpus.ts";

/**
 * `search_tools`: how often it finds the right tool, how long a query takes, and how long the first one after a change. The corpus is a small
 * one of our own, or with `--data FOLDER` that of its `catalogue.json` and `queries.json`, in the form of `search-corpus.ts`.
 */
export const bench: Bench = {
  name: "search",
  targets: {
    query: { of: "microseconds", must: 150 },
    large: { of: "microseconds", must: 2_000 },
    hit5: { of: "share", must: 0.7, reach: 0.75 },
    recall10: { of: "share", must: 0.45, reach: 0.55 },
  },
  async run() {
    const { values } = parseArgs({ allowPositionals: true, options: { data: { type: "string" } } });
    const folder = values.data;
    const tools = folder === undefined ? ownTools : await parsed<readonly CorpusTool[]>(folder, "catalogue.json");
    const queries = folder === undefined ? ownQueries : await parsed<CorpusQueries>(folder, "queries.json");
    const asked = queries.steps.map(({ query }) => query);
    return [
      ...(await quality(tools, queries)),
      await timed(`query, ${tools.length} tools`, "query", tools, asked),
      await timed("query, 10,000 tools", "large", multiplied(tools, 10_000), asked),
      await afterChange(multiplied(tools, 10_000)),
    ];
  },
};

async function parsed<T>(folder: string, file: string): Promise<T> {
  return JSON.parse(await readFile(join(folder, file), "utf8")) as T;
}

async function quality(tools: readonly CorpusTool[], { tasks, steps }: CorpusQueries): Promise<readonly Comparison[]> {
  await using toolkit = await filled(tools);
  const find = finder(await beginning(toolkit));
  const realNames = new Map(
    (await toolkit.toolset()).tools.map(({ alias, entry: { name } }) => [alias, name] as const),
  );
  const names = async (query: string) => (await find(query)).map((alias) => realNames.get(alias));
  let [first, five, recall] = [0, 0, 0];
  for (const { query, tool } of steps) {
    const place = (await names(query)).indexOf(tool);
    if (place === 0) first += 1;
    if (place >= 0 && place < 5) five += 1;
  }
  for (const { query, tools: wanted } of tasks) {
    const found = new Set(await names(query));
    recall += wanted.filter((name) => found.has(name)).length / wanted.length;
  }
  const share = (sum: number, all: readonly unknown[]) => timingOf([sum / all.length]);
  return [
    { name: `hit@1 of ${steps.length} steps`, unit: "share", ours: share(first, steps) },
    { name: "hit@5", target: "hit5", unit: "share", ours: share(five, steps) },
    { name: `recall@10 of ${tasks.length} tasks`, target: "recall10", unit: "share", ours: share(recall, tasks) },
  ];
}

async function timed(
  name: string,
  target: string,
  tools: readonly CorpusTool[],
  queries: readonly string[],
): Promise<Comparison> {
  await using toolkit = await filled(tools);
  const toolset = await toolkit.toolset({ maxTokens: 1 });
  let asked = 0;
  // A run of its own each: a run keeps its history.
  const ask = () => finder(toolset.begin())(queries[asked++ % queries.length] ?? "");
  const { query } = await measure({ query: ask });
  return { name, target, ours: query };
}

/** The first query after the tools of one of the servers changed, beside the first of all. */
async function afterChange(tools: readonly CorpusTool[]): Promise<Comparison> {
  const firsts: number[] = [];
  const changes: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    await using toolkit = await filled(tools);
    const first = async (times: number[]) => {
      const run = await beginning(toolkit);
      const began = performance.now();
      await finder(run)("convert a file");
      times.push((performance.now() - began) * 1_000);
    };
    await first(firsts);
    toolkit.addConnector(connectorOf(tools.slice(0, 10)), { namespace: "changed" });
    await toolkit.start();
    await first(changes);
  }
  const peer = { name: "the first query", timing: timingOf(firsts) };
  return { name: `the first query after a change, ${tools.length} tools`, ours: timingOf(changes), peer };
}

async function beginning(toolkit: Toolkit): Promise<ToolRun> {
  return (await toolkit.toolset({ maxTokens: 1 })).begin();
}

function finder(run: ToolRun): (query: string) => Promise<readonly string[]> {
  return async (query) => {
    const [answer] = await run.execute([{ id: "1", name: "search_tools", input: { query } }]);
    if (answer?.content === undefined) throw new Error("The search failed.", { cause: answer?.error });
    const { tools } = (await answer.content.json()) as { readonly tools: readonly { readonly name: string }[] };
    return tools.map(({ name }) => name);
  };
}

/** The tools again and again, of about 500 servers. */
function multiplied(tools: readonly CorpusTool[], count: number): readonly CorpusTool[] {
  const servers = Math.ceil(500 / new Set(tools.map(({ server }) => server)).size);
  return Array.from({ length: count }, (_, at) => {
    const round = Math.floor(at / tools.length);
    const tool = tools[at % tools.length] ?? tools[0];
    if (tool === undefined) throw new Error("The corpus has no tools.");
    return { ...tool, server: `${tool.server}${round % servers}`, name: `${tool.name}_${round}` };
  });
}

async function filled(tools: readonly CorpusTool[]): Promise<Toolkit> {
  const toolkit = new Toolkit();
  for (const [server, own] of Map.groupBy(tools, (tool) => tool.server)) {
    toolkit.addConnector(connectorOf(own), { namespace: namespaceOf(server) });
  }
  await toolkit.start();
  return toolkit;
}

/** Its name as one that a namespace may have. */
function namespaceOf(server: string): string {
  const safe = server.replaceAll(/[^A-Za-z0-9_-]/g, "-");
  return /^[A-Za-z]/.test(safe) ? safe : `mcp-${safe}`;
}

/** A server without a network: only what it lists counts. */
function connectorOf(tools: readonly CorpusTool[]): Connector {
  const items = tools.map(({ name, description, inputSchema }) => ({ name, description, input: inputSchema }));
  const [{ server = "", serverDescription = undefined } = {}] = tools;
  return {
    label: server,
    async connect() {
      const session: ConnectorSession = {
        server: { name: server, description: serverDescription, capabilities: {} },
        transport: "in-memory",
        closed: new Promise(() => undefined),
        list: { tool: async () => ({ items, warnings: [] }) },
        announces: new Set(["tool"] as const),
        call: () => Promise.reject(new Error("Only what is listed counts.")),
        async [Symbol.asyncDispose]() {},
      };
      return session;
    },
  };
}

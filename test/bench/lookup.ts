import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { defineTool } from "../../src/core/tool.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, type Comparison, measure, type Operation } from "./harness.ts";
import { createServer } from "./server/tools.ts";

/** One lookup among few and many tools, of a connector and of the toolkit itself, against a bare map behind a promise. */
export const bench: Bench = {
  name: "lookup",
  targets: { lookup: { of: "microseconds", must: 1, reach: 0.15 } },
  async run() {
    const comparisons: Comparison[] = [];
    for (const count of [10, 1_000, 10_000]) comparisons.push(...(await lookups(count)));
    return comparisons;
  },
};

async function lookups(count: number): Promise<readonly Comparison[]> {
  await using toolkit = new Toolkit();
  const builtins = Array.from({ length: count }, (_, at) => defineTool({ name: `builtin_${at}`, run: () => at }));
  toolkit.add(...builtins);
  // The SDK declares optional properties in another strictness than ours.
  const server = inMemoryConnector((transport) =>
    createServer("bench", { tools: count }).connect(transport as Transport),
  );
  toolkit.addConnector(server, { namespace: "remote" });
  await toolkit.start();

  const map = new Map(builtins.map((tool) => [`builtin.${tool.name}`, tool]));
  const find = async (key: string): Promise<unknown> => map.get(key);
  const timings = await measure({
    map: inTurn([...map.keys()], find),
    scoped: inTurn(numbered("remote.tool_", count), (key) => toolkit.lookup(key)),
    builtin: inTurn(numbered("builtin.builtin_", count), (key) => toolkit.lookup(key)),
    unscoped: inTurn(numbered("tool_", count), (key) => toolkit.lookup(key)),
  });
  const peer = { name: "Map.get", timing: timings.map };
  const of = `${count.toLocaleString("en")} tools`;
  return [
    { name: `remote.name, ${of}`, target: "lookup", ours: timings.scoped, peer },
    { name: `builtin.name, ${of}`, target: "lookup", ours: timings.builtin, peer },
    { name: `name, ${of}`, target: "lookup", ours: timings.unscoped, peer },
  ];
}

/** The keys from 1: the first tool of a bench server has another name. */
function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count - 1 }, (_, at) => `${prefix}${at + 1}`);
}

/** Another key each time, far from the one before. */
function inTurn(keys: readonly string[], operation: (key: string) => unknown): Operation {
  let at = 0;
  return () => {
    at = (at + 7919) % keys.length;
    return operation(keys[at] ?? "");
  };
}

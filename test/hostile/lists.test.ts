import { afterEach, expect } from "vitest";
import type { Kind } from "../../src/core/item.ts";
import { readList } from "../../src/mcp/read-list.ts";
import { noRedactor } from "../../src/mcp/redact.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { child, server } from "../support/hand-server.ts";
import { verifies } from "../support/verifies.ts";

let toolkit: Toolkit | undefined;
afterEach(() => toolkit?.close());

const ways: readonly (readonly [Kind, string, string, string])[] = [
  ["tool", "tools/list", "tools", `name: "deep", inputSchema`],
  ["prompt", "prompts/list", "prompts", `name: "deep", _meta`],
  ["resource", "resources/list", "resources", `uri: "memo://deep", name: "deep", annotations`],
  ["template", "resources/templates/list", "resourceTemplates", `uriTemplate: "memo://{deep}", name: "deep", _meta`],
];
for (const [kind, method, field, deep] of ways) {
  verifies("L4", `a ${kind} that is nested 100,000 deep is left out, and ends no service`, async () => {
    const answers = `
const lists = { "tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates" };
const flat = { name: "flat", uri: "memo://flat", uriTemplate: "flat://{id}", inputSchema: { type: "object" } };
const deep = JSON.stringify({ ${deep}: "DEEP" }).replace('"DEEP"', '{"a":'.repeat(100000) + "1" + "}".repeat(100000));
if (m.method === "${method}") process.stdout.write('{"jsonrpc":"2.0","id":' + m.id + ',"result":{"${field}":[' + deep + "," + JSON.stringify(flat) + "]}}\\n");
else if (lists[m.method]) send({ id: m.id, result: { [lists[m.method]]: [] } });`;
    toolkit = new Toolkit();
    const script = server(answers, undefined, "{ tools: {}, prompts: {}, resources: {} }");
    const connection = toolkit.addConnector(child(script), { namespace: "far" });
    await connection.ready({ signal: AbortSignal.timeout(10_000) });
    expect(connection.list(kind).map(({ name }) => name)).toEqual(["flat"]);
    expect(connection.warnings).toEqual([
      expect.stringMatching(/deep.* is left out: .*nested deeper than maxNestingDepth/),
    ]);
  });
}

verifies("L4", "1,000 cursors of 256 KiB take no memory", async () => {
  const padding = "x".repeat(2 ** 18);
  const before = process.memoryUsage().rss;
  const list = await readList("tool", {
    request: async (_method, params) => {
      const page = Number.parseInt(String(params?.cursor ?? 0), 10) + 1;
      // As a text that was parsed: in memory of its own.
      const nextCursor = page > 1_000 ? undefined : Buffer.from(`${page}${padding}`).toString("utf8");
      return { tools: [{ name: `t${page}`, inputSchema: { type: "object" } }], nextCursor };
    },
    server: "far",
    limits: { maxListSize: 10_000, maxNestingDepth: 256 },
    redactor: noRedactor,
  });
  expect(list.items).toHaveLength(1_001);
  expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
});

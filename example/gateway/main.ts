/**
 * One endpoint for several MCP servers and tools of one's own, for two principals, over HTTP and over stdio; then the same by two replicas.
 * It checks its own results.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Toolkit } from "toolweave";
import { type AuditRecord, createMcpHandler } from "toolweave/server";
import { withReplicas } from "./replicas.ts";
import { toolkit } from "./toolkit.ts";

await toolkit.start();
const env = { ADA_TOKEN: "ada-3f1c9a7d5e20", BEN_TOKEN: "ben-81d4c6b2a907" };
const records: AuditRecord[] = [];

// #region handler
const handler = createMcpHandler(toolkit, {
  server: { name: "office", version: "1.0.0" },
  tokens: { ada: env.ADA_TOKEN, ben: env.BEN_TOKEN },
  // Ada sees everything, Ben what only reads.
  selection: ({ principal }) => (principal === "ada" ? undefined : { include: ["memory.read_graph", "greet"] }),
  rateLimit: { max: 600, windowMs: 60_000 },
  audit: (record) => void records.push(record),
});
const server = createServer(handler.node).listen(0, "127.0.0.1");
// #endregion
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;

// Any MCP client will do; this one is another Toolkit.
const clients = new Toolkit();
for (const [namespace, token] of Object.entries({ ada: env.ADA_TOKEN, ben: env.BEN_TOKEN })) {
  clients.addConnector(url, { namespace, headers: { authorization: `Bearer ${token}` } });
}
const stdio = fileURLToPath(new URL("stdio.ts", import.meta.url));
clients.addConnector({ command: process.execPath, args: [stdio] }, { namespace: "child" });
await clients.start();

const names = async (namespace: string) => {
  const { entries } = await clients.list({ kind: "tool", namespace });
  return entries.map(({ name }) => name);
};
assert.ok((await names("ada")).includes("memory__create_entities"));
assert.deepEqual(await names("ben"), ["greet", "memory__read_graph"]);
assert.deepEqual(await names("child"), await names("ada"));

const entities = [{ name: "Bern", entityType: "city", observations: ["has bears"] }];
await clients.call("ada.memory__create_entities", { entities });
const graph = await clients.call("ben.memory__read_graph");
assert.match(await graph.text(), /has bears/);
assert.equal(await (await clients.call("child.greet", { name: "Ada" })).text(), "Hello, Ada!");
await assert.rejects(clients.call("ben.memory__create_entities", { entities }), { code: "NOT_FOUND" });
assert.ok(
  records.some(({ principal, target, outcome }) => `${principal} ${target} ${outcome}` === "ben memory__read_graph ok"),
);

await clients.close();
// #region close
// No new requests; those that run have drainMs to finish.
await handler.close();
server.close();
await toolkit.close();
// #endregion
console.log(`${records.length} requests through one endpoint.`);
await withReplicas();

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
// #region imports
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

// #endregion
import { Toolkit } from "toolweave";
import { server } from "./server.ts";

const counted: string[] = [];

async function before() {
  // #region before
  const client = new Client({ name: "service", version: "1.0.0" });
  await client.connect(new StdioClientTransport(server));
  const { tools } = await client.listTools();
  const result = await client.callTool({ name: "get-sum", arguments: { a: 1, b: 2 } });
  if (result.isError) throw new Error(JSON.stringify(result.content));
  await client.close();
  // #endregion
  return { tools: tools.map(({ name }) => name).sort(), content: result.content };
}

// #region after
const toolkit = new Toolkit();
const connection = toolkit.addConnector(server, { namespace: "everything" });
await toolkit.start(); // succeeds also while a server is down: it is connected when it is back
const { entries } = await toolkit.list({ kind: "tool", namespace: "everything" });
const sum = await toolkit.call(
  "everything.get-sum",
  { a: 1, b: 2 },
  { timeoutMs: 10_000, onProgress: ({ progress }) => counted.push(String(progress)) },
);
console.log(await sum.text(), sum.meta); // meta.mcp is the CallToolResult as the server sent it
// #endregion

const old = await before();
// The server shows some tools only to clients that can answer questions, as a Toolkit can.
deepStrictEqual(
  old.tools.filter((name) => !entries.some((entry) => entry.name === name)),
  [],
);
ok(JSON.stringify(old.content).includes(await sum.text()));
strictEqual(connection.state, "connected");
await toolkit.close();

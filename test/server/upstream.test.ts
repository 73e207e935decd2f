import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describe, expect } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { faultyServer } from "../../src/testing/index.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { serveOverHttp } from "./fixture/client.ts";
import { RawClient } from "./fixture/raw-client.ts";

/** A server whose tool asks a person once two calls are there. It cannot say for which of them. */
function askingServer(): McpServer {
  const server = new McpServer({ name: "asking", version: "1.0.0" });
  const both = Promise.withResolvers<void>();
  let calls = 0;
  server.registerTool("ask", {}, async () => {
    calls += 1;
    if (calls === 2) both.resolve();
    await both.promise;
    const requestedSchema = { type: "object" as const, properties: { city: { type: "string" as const } } };
    const { action } = await server.server.elicitInput({ message: "Where?", requestedSchema });
    return { content: [{ type: "text", text: action }] };
  });
  server.registerTool("picture", { _meta: { "x/tool": 1 }, annotations: { title: "P" } }, () => ({
    content: [
      { type: "text", text: "see", annotations: { audience: ["user"], priority: 0.5 }, _meta: { "x/block": [1] } },
    ],
    structuredContent: { odd: null },
    _meta: { "x/result": { deep: true } },
  }));
  server.registerResource("logo", "x://logo", logo, (uri) => ({ contents: [{ uri: uri.href, text: "L" }] }));
  return server;
}

const logo = {
  title: "Logo",
  icons: [{ src: "https://x.example/i.png", sizes: ["48x48"] }],
  annotations: { audience: ["user" as const], priority: 0.5 },
  _meta: { "x/resource": 1 },
};

async function served() {
  const toolkit = new Toolkit();
  const connector = inMemoryConnector((transport) => askingServer().connect(transport as Transport));
  toolkit.addConnector(connector, { namespace: "asking" });
  await toolkit.start();
  return toolkit;
}

describe("an upstream server", () => {
  verifies(
    ["V2", "M10"],
    "that does not say for which of two calls it asks reaches the one client of both",
    async () => {
      await using toolkit = await served();
      await using endpoint = await serveOverHttp(toolkit);
      const { client, received } = await endpoint.connect();
      const answers = await Promise.all([1, 2].map(() => client.callTool({ name: "asking__ask" })));
      expect(answers.map(({ content }) => content)).toEqual([
        [{ type: "text", text: "accept" }],
        [{ type: "text", text: "accept" }],
      ]);
      expect(received.map(({ method }) => method)).toEqual(["elicitation/create", "elicitation/create"]);
    },
  );

  verifies(["V3", "M10"], "that asks while two clients call, and does not say which, reaches neither", async () => {
    await using toolkit = await served();
    await using endpoint = await serveOverHttp(toolkit);
    const clients = [await endpoint.connect(), await endpoint.connect()];
    const answers = await Promise.all(clients.map(({ client }) => client.callTool({ name: "asking__ask" })));
    expect(answers.map(({ content }) => content)).toEqual([
      [{ type: "text", text: "decline" }],
      [{ type: "text", text: "decline" }],
    ]);
    expect(clients.flatMap(({ received }) => received)).toEqual([]);
  });

  verifies(["V2", "H4"], "may have 150 callers asked at once, of whom none waits for another's answer", async () => {
    const many = 150;
    await using server = faultyServer();
    await using toolkit = new Toolkit();
    toolkit.addConnector({ url: (await server.listen()).url }, { namespace: "up" });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit, { maxConcurrentRequests: many });
    const all = Promise.withResolvers<void>();
    let asked = 0;
    await using client = await RawClient.connect({
      url: endpoint.url,
      capabilities: { elicitation: {} },
      answer: async () => {
        asked += 1;
        if (asked === many) all.resolve();
        await all.promise;
        return { action: "accept", content: { age: 36 } };
      },
    });
    const answers = await Promise.all(Array.from({ length: many }, () => client.call("up__ask", {})));
    const texts = answers.map(({ result }) => JSON.stringify(result?.content));
    expect(texts.filter((text) => !text.includes("36"))).toEqual([]);
  });

  verifies("V2", "arrives value for value: _meta, annotations, icons, structured content", async () => {
    await using toolkit = await served();
    await using endpoint = await serveOverHttp(toolkit);
    const { client } = await endpoint.connect();
    await until(async () => (await client.listTools()).tools.length === 2);
    const tool = (await client.listTools()).tools.find(({ name }) => name === "asking__picture");
    expect(tool).toMatchObject({ _meta: { "x/tool": 1 }, annotations: { title: "P" } });
    expect(tool).not.toHaveProperty("title");
    expect((await client.listResources()).resources).toEqual([{ uri: "x://logo", name: "logo", ...logo }]);
    expect(await client.callTool({ name: "asking__picture" })).toEqual({
      content: [
        { type: "text", text: "see", annotations: { audience: ["user"], priority: 0.5 }, _meta: { "x/block": [1] } },
      ],
      structuredContent: { odd: null },
      _meta: { "x/result": { deep: true } },
    });
  });
});

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type Root, RootsListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { type FaultyServer, faultyServer, virtualClock } from "../../src/testing/index.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { serveOverHttp } from "./fixture/client.ts";

const tokens = { ada: "ada-has-a-long-token", ben: "ben-has-a-long-token" };
const own: readonly Root[] = [{ uri: "file:///srv" }];
const rootsOf = (name: string) => (): readonly Root[] => [{ uri: `file:///home/${name}`, name, _meta: { of: name } }];

/** A server whose tool asks for roots once as many calls are there as `together` says. */
function rootsServer(together: number): FaultyServer {
  const all = Promise.withResolvers<void>();
  let calls = 0;
  return faultyServer({
    tools: {
      where: {
        run: async (_input, { request }) => {
          calls += 1;
          if (calls === together) all.resolve();
          await all.promise;
          return JSON.stringify(await request("roots/list"));
        },
      },
    },
  });
}

const textOf = (answer: object): unknown => {
  const { content } = answer as { readonly content: readonly { readonly text: string }[] };
  return JSON.parse(content[0]?.text ?? "null");
};

interface Sent {
  readonly _meta: Readonly<Record<string, unknown>>;
  readonly inputResponses?: { readonly where: unknown };
}

describe("the roots of a client", () => {
  verifies(["V2", "V3", "M10"], "reach a server that asks while it works for it, and no other call's", async () => {
    await using server = rootsServer(3);
    await using toolkit = new Toolkit();
    const { url } = await server.listen();
    toolkit.addConnector({ url }, { namespace: "up", callerRoots: true });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit, { tokens });
    const people = await Promise.all([
      endpoint.connect({ authorization: `Bearer ${tokens.ada}` }, rootsOf("ada")),
      endpoint.connect({ authorization: `Bearer ${tokens.ben}` }, rootsOf("ben")),
      endpoint.connect({ authorization: `Bearer ${tokens.ben}` }),
    ]);
    const answers = await Promise.all(people.map(({ client }) => client.callTool({ name: "up__where" })));
    expect(answers.map(textOf)).toEqual([{ roots: rootsOf("ada")() }, { roots: rootsOf("ben")() }, { roots: [] }]);
  });

  verifies(["V2", "M16"], "reach a server without sessions that asks for them in its result", async () => {
    const capabilities: unknown[] = [];
    const server = createServer(async (request, response) => {
      const { id, method, params } = (await json(request)) as { id: unknown; method: string; params: Sent };
      capabilities.push(params._meta["io.modelcontextprotocol/clientCapabilities"]);
      const given = params.inputResponses?.where;
      const called = given
        ? { content: [{ type: "text", text: JSON.stringify(given) }] }
        : { resultType: "input_required", inputRequests: { where: { method: "roots/list" } } };
      const results: Readonly<Record<string, object>> = {
        "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
        "tools/list": { tools: [{ name: "where", inputSchema: { type: "object" } }] },
        "tools/call": called,
      };
      const result = { resultType: "complete", ...results[method] };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const toolkit = stack.use(new Toolkit());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    await toolkit.addConnector({ url }, { namespace: "up", callerRoots: true }).ready();
    const endpoint = stack.use(await serveOverHttp(toolkit));
    const { client } = await endpoint.connect({}, rootsOf("ada"));
    expect(textOf(await client.callTool({ name: "up__where" }))).toEqual({ roots: rootsOf("ada")() });
    expect(capabilities[0]).toMatchObject({ roots: {} });
  });

  verifies(["V3", "M10"], "reach no server that does not say for which of two clients it asks", async () => {
    await using server = rootsServer(2);
    await using toolkit = new Toolkit();
    toolkit.addConnector(await server.stdio(), { namespace: "up", callerRoots: true });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit, { tokens });
    const ada = await endpoint.connect({ authorization: `Bearer ${tokens.ada}` }, rootsOf("ada"));
    const ben = await endpoint.connect({ authorization: `Bearer ${tokens.ben}` }, rootsOf("ben"));
    const both = await Promise.all([ada, ben].map(({ client }) => client.callTool({ name: "up__where" })));
    expect(both.map(textOf)).toEqual([{ roots: [] }, { roots: [] }]);
    expect(textOf(await ada.client.callTool({ name: "up__where" }))).toEqual({ roots: rootsOf("ada")() });
  });

  verifies(
    ["M10"],
    "reach no server whose connector does not say so: it gets those of the connector, or none",
    async () => {
      await using server = rootsServer(1);
      await using toolkit = new Toolkit();
      toolkit.addConnector(server.connector({ roots: own }), { namespace: "told" });
      toolkit.addConnector(server.connector({ roots: own }), { namespace: "asked", callerRoots: true });
      toolkit.addConnector(server.connector(), { namespace: "plain" });
      await toolkit.start();
      await using endpoint = await serveOverHttp(toolkit);
      const { client } = await endpoint.connect({}, rootsOf("ada"));
      expect(textOf(await client.callTool({ name: "told__where" }))).toEqual({ roots: own });
      expect(textOf(await client.callTool({ name: "asked__where" }))).toEqual({ roots: rootsOf("ada")() });
      expect(await client.callTool({ name: "plain__where" })).toMatchObject({ isError: true });
      // Without a session, and of a session without roots.
      expect(JSON.parse(await (await toolkit.call("asked.where", {})).text())).toEqual({ roots: own });
    },
  );

  verifies(["V2", "E1"], "that change are announced to the servers that were given them, a burst once", async () => {
    let changes = 0;
    let ask: (() => Promise<unknown>) | undefined;
    const make = () => {
      const server = new McpServer({ name: "asking", version: "1.0.0" });
      server.registerTool("where", {}, async () => ({
        content: [{ type: "text", text: JSON.stringify(await server.server.listRoots()) }],
      }));
      server.server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
        changes += 1;
      });
      ask = () => server.server.listRoots();
      return server;
    };
    const clock = virtualClock();
    await using toolkit = new Toolkit({ clock });
    const connector = inMemoryConnector((transport) => make().connect(transport as Transport), { roots: own });
    toolkit.addConnector(connector, { namespace: "up", callerRoots: true });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit);
    let folder = "one";
    const { client } = await endpoint.connect({}, () => [{ uri: `file:///${folder}` }]);
    const before = await endpoint.connect({}, rootsOf("ada"));
    // It was given to no server.
    await before.client.sendRootsListChanged();
    expect(textOf(await client.callTool({ name: "up__where" }))).toEqual({ roots: [{ uri: "file:///one" }] });
    folder = "two";
    for (let index = 0; index < 5; index += 1) await client.sendRootsListChanged();
    expect(changes).toBe(0);
    await clock.advance(100);
    await until(() => changes > 0);
    expect(textOf(await client.callTool({ name: "up__where" }))).toEqual({ roots: [{ uri: "file:///two" }] });
    expect(changes).toBe(1);
    // Outside of a call it works for no client.
    expect(await ask?.()).toEqual({ roots: own });
  });

  verifies(["M10"], "are asked for so often in a call, and not for an untrusted server", async () => {
    await using server = faultyServer({
      tools: {
        greedy: {
          run: async (_input, { request }) => {
            for (let index = 0; index < 5; index += 1) await request("roots/list");
            return "never";
          },
        },
      },
    });
    await using toolkit = new Toolkit();
    toolkit.addConnector(server.connector(), { namespace: "up", callerRoots: { maxPerCall: 2 } });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit);
    let asked = 0;
    const { client } = await endpoint.connect({}, () => [{ uri: `file:///${asked++}` }]);
    expect(await client.callTool({ name: "up__greedy" })).toMatchObject({ isError: true });
    expect(asked).toBe(2);
    expect(() =>
      toolkit.addConnector(server.connector(), { namespace: "far", trust: "untrusted", callerRoots: true }),
    ).toThrow(/callerRoots/);
  });
});

import { describe, expect } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { faultyServer, virtualClock } from "../../src/testing/index.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { serveOverHttp } from "./fixture/client.ts";

const tokens = { ada: "ada-has-a-long-token", ben: "ben-has-a-long-token" };
const tool = (text: string) => ({ run: () => text });

describe("a change of the lists of an upstream server", () => {
  verifies(
    ["V1", "E1"],
    "reaches every client that may see it, a burst as one notification, with the list it is about",
    async () => {
      const clock = virtualClock();
      await using server = faultyServer({ tools: { first: tool("1") } });
      await using other = faultyServer();
      await using toolkit = new Toolkit({ clock });
      toolkit.addConnector(server.connector(), { namespace: "up" });
      toolkit.addConnector(other.connector(), { namespace: "other" });
      await toolkit.start();
      const selection = ({ principal }: { readonly principal?: string | undefined }) =>
        principal === "ben" ? { include: ["other.*"] } : undefined;
      await using endpoint = await serveOverHttp(toolkit, { clock, tokens, selection });
      const connect = (token: string) => endpoint.connect({ authorization: `Bearer ${token}` });
      const [ada, twin, ben] = [await connect(tokens.ada), await connect(tokens.ada), await connect(tokens.ben)];
      for (const { client } of [ada, twin, ben]) await client.listTools();
      const tools: Record<string, ReturnType<typeof tool>> = {};
      for (const name of ["a", "b", "c", "d"]) {
        tools[name] = tool(name);
        server.change({ tools: { ...tools } });
      }
      server.change({ prompts: { hello: { text: "Hello." } } });
      await until(async () => {
        await clock.advance(10);
        return [ada, twin].every(({ received }) => received.length === 2);
      });
      await clock.advance(5_000);
      for (const { client, received } of [ada, twin]) {
        expect(received.map(({ method }) => method).sort()).toEqual([
          "notifications/prompts/list_changed",
          "notifications/tools/list_changed",
        ]);
        const names = (await client.listTools()).tools
          .map(({ name }) => name)
          .filter((name) => name.startsWith("up__"));
        expect(names).toEqual(["up__a", "up__b", "up__c", "up__d"]);
      }
      // He sees another server's items alone, and its changes.
      await ben.client.ping();
      expect(ben.received).toEqual([]);
    },
  );

  verifies(["V1", "M6"], "is none where it is the first one, unless a client has a list without it", async () => {
    const gate = Promise.withResolvers<void>();
    const prompt = async () => {
      await gate.promise;
      return { items: [{ name: "brief" }], warnings: [] };
    };
    await using toolkit = new Toolkit();
    const connection = toolkit.addConnector(new FakeConnector({ lists: { tool: [], prompt } }), { namespace: "up" });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit, { tokens });
    const ada = await endpoint.connect({ authorization: `Bearer ${tokens.ada}` });
    const ben = await endpoint.connect({ authorization: `Bearer ${tokens.ben}` });
    const listing = ada.client.listPrompts();
    await ada.client.ping();
    gate.resolve();
    expect((await listing).prompts.map(({ name }) => name)).toEqual(["up__brief"]);
    await connection.ready();
    // One of a server that was not connected when they were listed is a change.
    const other = new FakeConnector({ label: "other", lists: { tool: [], prompt: [{ name: "more" }] } });
    toolkit.addConnector(other, { namespace: "other" });
    await until(() => ada.received.length > 0);
    await Promise.all([ada.client.ping(), ben.client.ping()]);
    expect(ada.received.map(({ method }) => method)).toEqual(["notifications/prompts/list_changed"]);
    expect(ben.received).toEqual([]);
  });

  verifies(["V1", "M10"], "of a resource that clients subscribed to reaches these alone", async () => {
    await using server = faultyServer();
    await using toolkit = new Toolkit();
    toolkit.addConnector({ url: (await server.listen()).url }, { namespace: "up" });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit, { tokens });
    const ada = await endpoint.connect({ authorization: `Bearer ${tokens.ada}` });
    const ben = await endpoint.connect({ authorization: `Bearer ${tokens.ben}` });
    await ada.client.subscribeResource({ uri: "memo://one" });
    await until(() => server.touch("memo://one") === 1);
    await until(() => ada.received.length > 0);
    expect(ada.received[0]).toEqual({ method: "notifications/resources/updated", params: { uri: "memo://one" } });
    await ben.client.ping();
    expect(ben.received).toEqual([]);
  });
});

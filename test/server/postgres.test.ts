import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { expect } from "vitest";
import { usePostgres } from "../store/postgres/support.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { call, connectClient, initialize } from "./fixture/client.ts";
import { ServedReplica, tokens } from "./fixture/served-replica.ts";
import { everyCapability, statelessBody, statelessHeaders } from "./fixture/stateless.ts";

const postgres = usePostgres();
const headersOf = (principal: keyof typeof tokens) => ({
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  authorization: `Bearer ${tokens[principal]}`,
});

/** Two processes on one database, behind a balancer that gives each request to the next. */
async function withReplicas(
  run: (replicas: readonly [ServedReplica, ServedReplica], urls: readonly [URL, URL]) => Promise<void>,
): Promise<void> {
  const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
  const module = new URL("../../src/store/postgres/index.ts", import.meta.url).href;
  const maker = { module, maker: "postgresStore", options };
  try {
    await using one = new ServedReplica(maker);
    await using other = new ServedReplica(maker);
    await run([one, other], [await one.url(), await other.url()]);
  } finally {
    await postgres.drop(options.schema);
  }
}

async function connected(urls: readonly URL[], principal: keyof typeof tokens = "ada") {
  const { authorization } = headersOf(principal);
  let requests = 0;
  const transport = new StreamableHTTPClientTransport(urls[0] ?? new URL("http://localhost"), {
    requestInit: { headers: { authorization } },
    fetch: (_url, init) => fetch(urls[requests++ % urls.length] ?? "", init),
  });
  return connectClient(transport as Transport);
}

function textIn(result: unknown): string {
  return (result as { readonly content: readonly [{ readonly text: string }] }).content[0].text;
}

verifies(
  ["V6", "K2"],
  "what one process changes is announced by all, to those whom it concerns",
  async () => {
    await withReplicas(async (_replicas, [one, other]) => {
      const ada = await connected([one]);
      const ben = await connected([one], "ben");
      const writer = await connected([other]);
      try {
        await writer.client.callTool({ name: "put_prompt", arguments: { text: "---\nname: greet\n---\nHello." } });
        await until(() => ada.received.some(({ method }) => method === "notifications/prompts/list_changed"));
        expect((await ada.client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["user__greet"]);
        await writer.client.callTool({ name: "put_note", arguments: { text: "one" } });
        await until(() => ada.received.some(({ method }) => method === "notifications/resources/list_changed"));
        await ada.client.subscribeResource({ uri: "text:note" });
        await writer.client.callTool({ name: "put_note", arguments: { text: "two" } });
        await until(() => ada.received.some(({ method }) => method === "notifications/resources/updated"));
        const { contents } = await ada.client.readResource({ uri: "text:note" });
        expect(contents).toMatchObject([{ text: "two" }]);
        expect((await ben.client.listPrompts()).prompts).toEqual([]);
        expect(ben.received).toEqual([]);
      } finally {
        await Promise.all([ada, ben, writer].map(({ client }) => client.close()));
      }
    });
  },
  120_000,
);

verifies(
  "V6",
  "an approval is decided in any process, and runs where its call was made",
  async () => {
    await withReplicas(async ([first], [one, other]) => {
      const [ada, ben] = [await connected([one]), await connected([other], "ben")];
      try {
        const pid = textIn(await ada.client.callTool({ name: "pid" }));
        const id = textIn(await ada.client.callTool({ name: "begin_transfer" }));
        const approved = await ben.client.callTool({ name: "approve", arguments: { text: id } });
        expect(textIn(approved)).toBe("succeeded");
        expect(await first.said("waited")).toBe(`waited sent by ${pid}`);
        const again = await ben.client.callTool({ name: "approve", arguments: { text: id } });
        expect(textIn(again)).toBe("succeeded");
        const orphan = textIn(await ada.client.callTool({ name: "begin_transfer" }));
        await first.kill();
        // As soon as PostgreSQL has seen that its process is gone: no other process can run it.
        const late = await ben.client.callTool({ name: "approve", arguments: { text: orphan } });
        expect(late.isError).toBe(true);
        expect(textIn(late)).toMatch(/it is void|did not follow/);
      } finally {
        await Promise.all([ada, ben].map(({ client }) => client.close()));
      }
    });
  },
  120_000,
);

verifies(
  "V6",
  "a client goes on where its requests meet any replica, and where one is killed",
  async () => {
    await withReplicas(async ([first], [one, other]) => {
      const { client } = await connected([one, other]);
      try {
        const pids = new Set<string>();
        for (let count = 0; count < 6; count++) pids.add(textIn(await client.callTool({ name: "pid" })));
        expect(pids.size).toBe(1);
      } finally {
        await client.close();
      }
      const post = (url: URL, message: object, session: object = {}) =>
        fetch(url, { method: "POST", headers: { ...headersOf("ada"), ...session }, body: JSON.stringify(message) });
      const begun = await post(one, initialize());
      const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
      await begun.text();
      const hanging = post(other, call(1, "hang"), session);
      await first.said("hanging");
      await first.kill();
      const text = await (await hanging).text();
      expect(JSON.parse(text.slice(text.lastIndexOf('{"jsonrpc')))).toMatchObject({
        id: 1,
        result: { isError: true, _meta: { "toolweave/code": "OUTCOME_UNKNOWN" } },
      });
      expect((await post(other, call(2, "pid"), session)).status).toBe(404);
      const later = await connected([other]);
      expect(textIn(await later.client.callTool({ name: "pid" }))).toMatch(/^\d+$/);
      await later.client.close();
    });
  },
  120_000,
);

verifies(
  "V6",
  "a call that waits for an answer goes on from any process, and is lost with its own",
  async () => {
    await withReplicas(async ([first], [one, other]) => {
      const message = { method: "tools/call", params: { name: "ask", arguments: {} }, capabilities: everyCapability };
      const askAt = async (url: URL, more: object = {}) => {
        const asked = { ...message, params: { ...message.params, ...more } };
        const headers = { ...headersOf("ada"), ...statelessHeaders(asked) };
        const body = JSON.stringify(statelessBody(asked));
        const text = await (await fetch(url, { method: "POST", headers, body })).text();
        return JSON.parse(text.slice(text.lastIndexOf('{"jsonrpc'))).result;
      };
      const inputResponses = { 1: { action: "accept", content: { city: "Bern" } } };
      const { requestState } = await askAt(one);
      expect(textIn(await askAt(other, { requestState, inputResponses }))).toContain("Bern");
      const second = await askAt(one);
      await first.kill();
      const lost = await askAt(other, { requestState: second.requestState, inputResponses });
      expect(lost).toMatchObject({ isError: true, _meta: { "toolweave/code": "OUTCOME_UNKNOWN" } });
      expect((await askAt(other)).requestState).toEqual(expect.any(String));
    });
  },
  120_000,
);

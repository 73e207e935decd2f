import { describe, expect, test } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import type { ConnectorTarget } from "../../src/core/target.ts";
import { type FaultName, type FaultyServer, faultyServer, toolweaveMatchers } from "../../src/testing/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { until } from "../support/until.ts";

const { toBeLeftAlone } = toolweaveMatchers;
const targets = {
  "in memory": (server: FaultyServer) => server.connector(),
  stdio: (server: FaultyServer) => server.stdio(),
  "HTTP, events": async (server: FaultyServer) => (await server.listen()).url,
  "HTTP, JSON": async (server: FaultyServer) => (await server.listen({ answers: "json" })).url,
};
const recoverMs = 30_000;

/** A toolkit that is connected with a faulty server of the second era, and whose questions are answered with 42. */
async function connected(
  targetOf: (typeof targets)[keyof typeof targets],
): Promise<{ toolkit: Toolkit; server: FaultyServer; connection: Connection } & AsyncDisposable> {
  const server = faultyServer({ protocol: "2026-07-28", pageSize: 3 });
  const toolkit = new Toolkit({ delegate: { elicit: async () => ({ action: "accept", content: { age: 42 } }) } });
  const target: ConnectorTarget | ReturnType<FaultyServer["connector"]> = await targetOf(server);
  const connection = toolkit.addConnector(target, { namespace: "far", retryMs: 20, healthCheckMs: 1_000 });
  await connection.ready();
  return {
    toolkit,
    server,
    connection,
    async [Symbol.asyncDispose]() {
      await toolkit.close();
      const { pass, message } = await toBeLeftAlone(server, recoverMs);
      if (!pass) throw new Error(message());
      await server[Symbol.asyncDispose]();
    },
  };
}

describe.each(Object.entries(targets))("a faulty server of 2026-07-28, %s", (way, targetOf) => {
  test("lists, calls, renders, reads, asks, and announces changes by the stream of its client", async () => {
    await using far = await connected(targetOf);
    const { toolkit, server, connection } = far;
    expect(connection.protocolVersion).toBe("2026-07-28");
    expect(connection.list("tool").map(({ name }) => name)).toEqual(server.offers.tools);
    expect(await (await toolkit.call("far.echo", { message: "hi", id: "a" })).text()).toBe("Echo: hi");
    expect(await (await toolkit.call("far.ask")).text()).toBe('{"action":"accept","content":{"age":42}}');
    expect(await (await toolkit.read("memo://one")).text()).toBe("A memo.");
    const { messages } = await toolkit.render("far.greet", { name: "Ada" });
    expect(await messages[0]?.content[0]?.text()).toBe("Greet Ada.");
    expect(server.runs("a")).toBe(1);
    let updates = 0;
    toolkit.on("resourceUpdated", () => updates++);
    await toolkit.subscribe("memo://one");
    await until(() => server.touch("memo://one") > 0 && updates > 0);
    server.change({ tools: { other: { run: () => "other" } } });
    await until(() => connection.list("tool").some(({ name }) => name === "other"));
    await expect(server.fault("drop-session-404")).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });

  test("dies after a call has run: the outcome is unknown, it ran once, and changes are announced after that", async () => {
    await using far = await connected(targetOf);
    const { toolkit, server, connection } = far;
    const death = await server.fault("die-after", { times: 1 });
    await expect(toolkit.call("far.record", { id: "b" })).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    await until(() => connection.state === "connected" && death.happened === 1);
    expect(await (await toolkit.call("far.record", { id: "c" })).text()).toBe("Recorded c");
    expect([server.runs("b"), server.runs("c")]).toEqual([1, 1]);
    server.change({ tools: { other: { run: () => "other" } } });
    await until(() => connection.list("tool").some(({ name }) => name === "other"));
  });

  if (way.startsWith("HTTP")) {
    test.each<FaultName>(["close-stream", "down", "black-hole"])(
      "heals after %s, and misses no change",
      async (name) => {
        await using far = await connected(targetOf);
        const { server, connection } = far;
        const fault = await server.fault(name);
        if (name === "close-stream") await fault.happens();
        else await until(() => connection.state !== "connected", recoverMs);
        server.change({ tools: { missed: { run: () => "missed" } } });
        await fault.off();
        await until(() => connection.list("tool").some(({ name }) => name === "missed"), recoverMs);
      },
    );
  }
});

test("a state that is none of the server's is refused, and an era that there is not", async () => {
  await using server = faultyServer({ protocol: "2026-07-28" });
  const { url } = await server.listen({ answers: "json" });
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const params = { name: "ask", arguments: {}, requestState: "{", _meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const answer = await fetch(url, { method: "POST", body });
  expect(await answer.json()).toMatchObject({ error: { code: -32602 } });
  const protocol = "2024-11-05" as "2025-11-25";
  expect(() => faultyServer({ protocol })).toThrow(expect.objectContaining({ code: "INVALID_CONFIG" }));
});

test("an elder client of a faulty server of 2026-07-28 is told what it speaks", async () => {
  await using server = faultyServer({ protocol: "2026-07-28" });
  await using toolkit = new Toolkit();
  const connection = toolkit.addConnector(await server.stdio(), { namespace: "far", protocol: "2025-11-25" });
  await expect(connection.ready()).rejects.toMatchObject({
    code: "UNSUPPORTED_PROTOCOL",
    details: { supported: ["2026-07-28"] },
  });
});

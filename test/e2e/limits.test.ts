import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect } from "vitest";
import type { AddConnectorOptions } from "../../src/connection/connect-options.ts";
import type { SupervisedConnection } from "../../src/connection/supervised-connection.ts";
import { defineTool } from "../../src/core/tool.ts";
import { type FaultName, type FaultyServer, type FaultyServerOptions, faultyServer } from "../../src/testing/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";

const ways = ["in-memory", "stdio", "http as json", "http as events"] as const;
type Way = (typeof ways)[number];
const mebibyte = 1024 * 1024;

/** Tools by number. */
function manyTools(count: number): NonNullable<FaultyServerOptions["tools"]> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`tool${index}`, { run: () => "done" }]));
}

/** A value of so many objects inside each other. */
function nested(depth: number): object {
  let value = {};
  for (let level = 1; level < depth; level++) value = { properties: value };
  return value;
}

describe("a server and its limits", () => {
  let toolkit: Toolkit;
  let server: FaultyServer;
  let logged: string[];

  beforeEach(() => {
    logged = [];
    const log = (message: string) => void logged.push(message);
    toolkit = new Toolkit({ logger: { debug: log, info: log, warn: log, error: log } });
    toolkit.add(defineTool({ name: "near", run: () => "here" }));
  });
  afterEach(async () => {
    await toolkit.close();
    await server[Symbol.asyncDispose]();
  });

  /** Connects to it, as `far`. */
  async function connect(way: Way, options: AddConnectorOptions = {}): Promise<SupervisedConnection> {
    const answers = way === "http as json" ? "json" : "sse";
    const target =
      way === "in-memory"
        ? server.connector()
        : way === "stdio"
          ? await server.stdio()
          : (await server.listen({ answers })).url;
    const connection = toolkit.addConnector(target, { namespace: "far", retryMs: 50, ...options });
    await toolkit.start();
    await connection.ready();
    return connection as SupervisedConnection;
  }

  describe.each(ways)("over %s", (way) => {
    verifies(["M12", "L4"], "10,000 tools are whole, 12,000 are cut and said to be", async () => {
      server = faultyServer({ tools: manyTools(10_000), pageSize: 500 });
      const connection = await connect(way);
      expect([connection.counts.tool, (await toolkit.list()).failures]).toEqual([10_000, []]);
      server.change({ tools: manyTools(12_000) });
      await until(async () => (await toolkit.list()).failures.length > 0);
      expect(connection.counts.tool).toBe(10_000);
      expect((await toolkit.list()).failures).toMatchObject([
        { namespace: "far", error: { code: "LIMIT_EXCEEDED", details: { limit: "maxListSize", max: 10_000 } } },
      ]);
      expect(await (await toolkit.call("far.tool9999")).text()).toBe("done");
    });

    verifies(["M12", "L4"], "pages without end and cursors in a circle end, and nothing else does", async () => {
      server = faultyServer({ pageSize: 3 });
      const connection = await connect(way);
      const before = connection.counts.tool;
      const endless = await server.fault("endless-pages");
      server.notify("notifications/tools/list_changed");
      await until(async () => (await toolkit.list()).failures.length > 0);
      expect((await toolkit.list()).failures[0]?.error.message).toContain("bring nothing new");
      expect(connection.counts.tool).toBe(before);
      await endless.off();
      server.notify("notifications/tools/list_changed");
      await until(async () => (await toolkit.list()).failures.length === 0);
      const loop = await server.fault("cursor-loop");
      server.notify("notifications/tools/list_changed");
      await until(async () => (await toolkit.list()).failures[0]?.error.code === "REMOTE_ERROR");
      await loop.off();
      server.notify("notifications/tools/list_changed");
      await until(async () => (await toolkit.list()).failures.length === 0);
      expect([connection.counts.tool, connection.state]).toEqual([before, "connected"]);
    });

    verifies("M12", "what is nested too deep fails its call alone, however deep", async () => {
      server = faultyServer();
      await connect(way);
      for (const depth of [257, 10_000, 1_000_000]) {
        await server.fault("deep", { times: 1, depth });
        expect(await failure(toolkit.call("far.echo", { message: "hi" }))).toMatchObject({
          code: "LIMIT_EXCEEDED",
          details: { limit: "maxNestingDepth", max: 256 },
        });
      }
      await server.fault("deep", { times: 1, depth: 200 });
      expect((await toolkit.call("far.echo", { message: "hi" })).size).toBeGreaterThan(200);
      expect(await (await toolkit.call("far.echo", { message: "hi" })).text()).toBe("Echo: hi");
    });

    verifies(["M12", "I3"], "a schema that is nested too deep takes no sibling with it", async () => {
      const run = () => "done";
      server = faultyServer({
        tools: {
          flat: { run },
          deep: { run, inputSchema: nested(3_000) },
          deepOutput: { run, outputSchema: nested(3_000) },
          nearly: { run, inputSchema: nested(200) },
        },
      });
      const connection = await connect(way);
      expect(connection.list("tool").map(({ name }) => name)).toEqual(["flat", "nearly"]);
      expect(connection.warnings).toEqual([
        expect.stringContaining("deep is left out: A message is nested deeper than maxNestingDepth (256)"),
        expect.stringContaining("deepOutput is left out"),
      ]);
      expect(await (await toolkit.call("far.nearly")).text()).toBe("done");
    });

    verifies(["M12", "I2"], "no pattern of a server holds up the service", async () => {
      const inputSchema = { type: "object", properties: { s: { type: "string", pattern: "^(a+)+$" } } };
      server = faultyServer({ tools: { slow: { run: () => "done", inputSchema } } });
      await connect(way);
      const started = performance.now();
      const error = await failure(toolkit.call("far.slow", { s: `${"a".repeat(32)}!` }));
      expect(error).toMatchObject({ code: "INVALID_INPUT" });
      expect(performance.now() - started).toBeLessThan(2_000);
    });

    verifies(
      "M12",
      "calls beyond maxConcurrentCalls wait within their own time and are not sent; lists go on",
      async () => {
        server = faultyServer();
        const connection = await connect(way, { maxConcurrentCalls: 3 });
        const hang = await server.fault("hang", { tool: "record" });
        const stop = new AbortController();
        const waiting = [1, 2, 3].map((id) =>
          toolkit.call("far.record", { id: `held${id}` }, { signal: stop.signal }).catch(() => "stopped"),
        );
        await until(() => connection.callsInFlight === 3);
        expect(await failure(toolkit.call("far.record", { id: "beyond" }, { timeoutMs: 50 }))).toMatchObject({
          code: "LIMIT_EXCEEDED",
          details: { limit: "maxConcurrentCalls", max: 3 },
        });
        expect(await failure(toolkit.read("memo://one", { timeoutMs: 50 }))).toMatchObject({
          details: { limit: "maxConcurrentCalls" },
        });
        const patient = toolkit.read("memo://one");
        server.change({ prompts: { other: { text: "Other." } } });
        await until(() => connection.list("prompt").some(({ name }) => name === "other"));
        stop.abort();
        expect(await Promise.all(waiting)).toEqual(["stopped", "stopped", "stopped"]);
        expect((await patient).size).toBeGreaterThan(0);
        await hang.off();
        expect(await (await toolkit.call("far.record", { id: "after" })).text()).toBe("Recorded after");
        expect([server.runs("beyond"), server.runs("after")]).toEqual([0, 1]);
      },
    );
  });

  describe.each(["stdio", "http as json", "http as events"] as const)("a large result over %s", (way) => {
    verifies("M12", "of 50 MB arrives; above the limit its call fails alone, with what to do", async () => {
      server = faultyServer();
      const connection = await connect(way);
      await server.fault("oversized", { times: 1, bytes: 50 * mebibyte });
      expect((await toolkit.call("far.echo", { message: "hi" })).size).toBe(50 * mebibyte);
      const { since } = connection;
      await server.fault("oversized", { times: 1, bytes: 65 * mebibyte });
      const error = await failure(toolkit.call("far.record", { id: "large" }));
      expect(error).toMatchObject({
        code: "LIMIT_EXCEEDED",
        details: { limit: "maxMessageBytes", max: 64 * mebibyte },
      });
      expect(error.message).toContain("Raise the limit");
      expect(await (await toolkit.call("far.echo", { message: "hi" })).text()).toBe("Echo: hi");
      expect([connection.state, connection.since, server.runs("large")]).toEqual(["connected", since, 1]);
    });
  });

  const floods = ["flood", "list-storm", "request-flood"] as const satisfies readonly FaultName[];
  describe.each(["stdio", "http as json", "http as events"] as const)("without end over %s", (way) => {
    verifies("M12", "log messages, list changes and requests leave the service its time", async () => {
      server = faultyServer();
      const connection = await connect(way);
      for (const name of floods) {
        const flood = await server.fault(name, { perSecond: 5_000 });
        logged.length = 0;
        for (let round = 0; round < 12; round++) {
          const asked = performance.now();
          expect(await (await toolkit.call("builtin.near")).text()).toBe("here");
          // A real flood is so much a second: for more of it to come, time has to pass.
          await delay(50);
          // Other work of this machine does not count; a loop that never gets its turn does.
          expect(performance.now() - asked).toBeLessThan(2_000);
        }
        expect(await (await toolkit.call("far.echo", { message: name })).text()).toBe(`Echo: ${name}`);
        expect([name, connection.state, connection.attempts]).toEqual([name, "connected", 0]);
        await flood.off();
        if (name === "flood") {
          await until(() => logged.some((line) => line.includes("log messages were left out")));
          expect(logged.length).toBeLessThan(1_500);
        }
      }
      server.change({ tools: { last: { run: () => "last" } } });
      await until(() => connection.list("tool").some(({ name }) => name === "last"));
    });
  });

  verifies("M12", "stderr without end keeps its tail, as much as is wanted", async () => {
    server = faultyServer();
    const connection = await connect("stdio", { maxStderrBytes: 1_000 });
    const flood = await server.fault("stderr-flood", { perSecond: 5_000 });
    await until(() => /^\[\d{5,} bytes before this are left out: maxStderrBytes\]\n/.test(connection.stderr ?? ""));
    expect(connection.stderr?.length).toBeLessThan(1_100);
    await flood.off();
  });

  verifies("M12", "a limit that is none is refused; a Connector has its own", async () => {
    server = faultyServer();
    const { url } = await server.listen();
    for (const [name, value] of [
      ["maxMessageBytes", 0],
      ["maxListSize", 1.5],
      ["maxNestingDepth", 1_001],
      ["maxConcurrentCalls", -1],
      ["maxStderrBytes", Number.NaN],
    ] as const) {
      const add = () => toolkit.addConnector(url, { [name]: value });
      expect(add).toThrow(expect.objectContaining({ code: "INVALID_CONFIG", details: { path: name } }));
    }
    expect(() => toolkit.addConnector(server.connector(), { maxListSize: 5 })).toThrow(/maxListSize where it is made/);
  });
});

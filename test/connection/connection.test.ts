import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import { ToolkitError } from "../../src/core/error.ts";
import type { Content } from "../../src/core/resource.ts";
import type { LogEntry } from "../../src/core/session.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { failure, rejection } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";
import { Bench } from "./support.ts";

const everything = {
  tool: tools("forecast"),
  prompt: [{ name: "brief" }],
  resource: [{ name: "map", uri: "memo://map" }],
  template: [{ name: "city", uriTemplate: "memo://city/{name}" }],
};

describe("a connection", () => {
  let bench: Bench;
  let far: FakeConnector;

  beforeEach(() => {
    bench = new Bench();
    far = new FakeConnector({ lists: { ...everything } });
  });
  afterEach(async () => {
    const closing = bench.toolkit.close().catch(() => undefined);
    await bench.clock.advance(5_000);
    await closing;
    await settle();
    expect(bench.errors()).toEqual([]);
    // One may be left, which keeps no process alive: that of the limits of calls.
    expect(bench.clock.timers).toBeLessThanOrEqual(1);
    expect(bench.clock.keptAlive).toBe(0);
  });
  const connection = () => {
    const [first] = bench.toolkit.connections;
    if (first === undefined) throw new Error("There is no connection.");
    return first;
  };

  describe("while it lives", () => {
    verifies("M13", "shows itself whole on the console and in JSON", async () => {
      const shown = bench.toolkit.addConnector(far, { namespace: "weather" });
      await bench.start();
      const expected = {
        namespace: "weather",
        state: "connected",
        server: "fake 1",
        counts: { tool: 1 },
        warnings: [],
      };
      expect(JSON.parse(JSON.stringify(shown))).toMatchObject(expected);
      expect(inspect(shown)).toContain("state: 'connected'");
      expect(inspect(shown)).not.toContain("connector:");
    });

    verifies("O3", "a server that stays down is said once, and when it is back", async () => {
      far.outcomes = [new Error("refused"), new Error("refused"), new Error("gone"), new Error("gone")];
      await bench.start({ weather: far });
      await bench.clock.advance(60_000);
      const said = bench.logged.filter(({ level }) => level !== "debug").map(({ level, message }) => [level, message]);
      expect(said).toEqual([
        ["warn", "weather is not connected: refused"],
        ["warn", "weather is not connected: gone"],
        ["info", "weather is connected to fake"],
      ]);
      expect(bench.logged[0]?.details).toEqual({ attempts: 1 });
    });

    verifies("M13", "an error of the connector says which namespace it is of", async () => {
      far.outcomes = [new ToolkitError("UNAVAILABLE", "no route", { namespace: "fake" })];
      await bench.start({ weather: far });
      const { lastError } = bench.toolkit.connections[0] as Connection;
      expect(lastError).toMatchObject({ message: "no route", details: { namespace: "weather" } });
    });

    verifies("M13", "shows what an operator wants to know", async () => {
      const shown = bench.toolkit.addConnector(far, { namespace: "weather" });
      expect(shown).toMatchObject({ namespace: "weather", label: "fake", state: "idle", attempts: 0 });
      const created = bench.clock.now();
      expect(shown.since).toBe(created);
      await bench.clock.advance(1_000);
      await bench.start();
      expect(shown).toMatchObject({
        state: "connected",
        since: created + 1_000,
        transport: "fake",
        protocolVersion: "fake-1",
        counts: { tool: 1, prompt: 1, resource: 1, template: 1 },
        attempts: 0,
        lastError: undefined,
        nextAttemptAt: undefined,
        latencyMs: undefined,
        callsInFlight: 0,
        stderr: "said on stderr",
        warnings: [],
      });
      expect(shown.server).toMatchObject({ name: "fake", version: "1" });
      expect(shown.list("tool").map(({ ref }) => ref)).toEqual(["weather.forecast"]);
      const answer = Promise.withResolvers<void>();
      far.answer = async () => {
        await answer.promise;
        return undefined as unknown as Content;
      };
      const calling = bench.toolkit.call("weather.forecast");
      await settle();
      expect(shown.callsInFlight).toBe(1);
      await bench.clock.advance(70);
      answer.resolve();
      await calling;
      expect([shown.callsInFlight, shown.latencyMs]).toEqual([0, 70]);
      far.outcomes = [new Error("refused"), "hang"];
      far.session.lose();
      await settle();
      expect(shown).toMatchObject({ state: "waiting", attempts: 1, nextAttemptAt: bench.clock.now() + 2_000 });
      expect(shown.lastError?.message).toBe("refused");
      await shown.close();
      expect(shown.state).toBe("stopped");
    });

    verifies("E1", "emits connected before its lists, and removed after them", async () => {
      await bench.start({ weather: far });
      const shown = connection();
      expect(bench.events[0]).toMatchObject({
        type: "connectorConnected",
        namespace: "weather",
        server: { name: "fake" },
      });
      expect(bench.of("toolListChanged")[0]).toMatchObject({
        namespace: "weather",
        connection: shown,
        added: ["weather.forecast"],
      });
      expect(bench.take()).toEqual([
        "connectorConnected",
        "toolListChanged",
        "promptListChanged",
        // That of the resources, and that of the templates.
        "resourceListChanged",
        "resourceListChanged",
      ]);
      await bench.toolkit.removeConnector("weather");
      await settle();
      expect(bench.of("resourceListChanged")[0]?.removed).toEqual(["memo://map#weather", "memo://city/{name}#weather"]);
      expect(bench.take()).toEqual(["toolListChanged", "promptListChanged", "resourceListChanged", "connectorRemoved"]);
    });

    verifies(["I5", "E3", "M6"], "a burst of announcements is one re-list and one event a kind", async () => {
      await bench.start({ weather: far });
      bench.take();
      far.lists.tool = [{ name: "forecast", description: "changed" }, ...tools("alerts")];
      far.lists.resource = [];
      for (let each = 0; each < 50; each++) {
        far.session.host.changed({ kind: "tool" });
        far.session.host.changed({ kind: "resource" });
      }
      await bench.clock.advance(100);
      expect(far.reads).toEqual({ tool: 2, prompt: 1, resource: 2, template: 1 });
      expect(bench.of("toolListChanged")).toMatchObject([{ added: ["weather.alerts"], changed: ["weather.forecast"] }]);
      expect(bench.of("resourceListChanged")).toMatchObject([{ removed: ["memo://map#weather"] }]);
      expect(bench.take()).toHaveLength(2);
    });

    verifies("E3", "a list that came back the same says nothing, whatever its order and meta", async () => {
      far.lists.tool = [{ name: "a", meta: { at: 1 } }, { name: "b" }];
      await bench.start({ weather: far });
      bench.take();
      far.lists.tool = [{ name: "b" }, { name: "a", meta: { at: 2 } }];
      far.session.host.changed({ kind: "tool" });
      await bench.clock.advance(100);
      expect(far.reads.tool).toBe(2);
      expect(bench.take()).toEqual([]);
    });

    verifies("E3", "two entries of one name are one, and say nothing at each list", async () => {
      far.lists.tool = [
        { name: "twin", description: "first" },
        { name: "twin", description: "second" },
      ];
      await bench.start({ weather: far });
      bench.take();
      far.session.host.changed({ kind: "tool" });
      await bench.clock.advance(100);
      expect(bench.take()).toEqual([]);
      expect((await bench.toolkit.lookup("weather.twin")).item.description).toBe("first");
      expect(connection().warnings).toEqual(['A second tool "twin" is left out.']);
    });

    verifies("M6", "what was announced before the lists were read is in them: no list is read twice", async () => {
      const { connect } = far;
      vi.spyOn(far, "connect").mockImplementation(async (options) => {
        const session = await connect.call(far, options);
        for (const kind of ["tool", "prompt", "resource", "template"] as const) options.host.changed({ kind });
        return session;
      });
      await bench.start({ weather: far });
      bench.take();
      await bench.clock.advance(10_000);
      expect(far.reads).toEqual({ tool: 1, prompt: 1, resource: 1, template: 1 });
      expect(bench.take()).toEqual([]);
    });

    verifies("M6", "what was announced while the lists were read is read once more", async () => {
      const gate = Promise.withResolvers<void>();
      const old = { items: tools("old"), warnings: [] };
      far.lists.tool = async () => {
        await gate.promise;
        return old;
      };
      bench.toolkit.addConnector(far, { namespace: "weather" });
      const starting = bench.toolkit.start();
      await settle();
      far.session.host.changed({ kind: "tool" });
      far.session.host.changed({ kind: "resource", uri: "memo://map" });
      far.lists.tool = tools("new");
      await settle();
      expect(bench.take()).toEqual([]);
      gate.resolve();
      await starting;
      await settle();
      const emitted = bench.take();
      expect(emitted.indexOf("resourceUpdated")).toBeGreaterThan(emitted.indexOf("toolListChanged"));
      expect(
        connection()
          .list("tool")
          .map(({ name }) => name),
      ).toEqual(["old"]);
      await bench.clock.advance(20);
      expect(
        connection()
          .list("tool")
          .map(({ name }) => name),
      ).toEqual(["new"]);
      expect(far.reads.prompt).toBe(1);
    });

    verifies("M6", "polls what is not announced, and nothing else", async () => {
      far.announces = new Set(["prompt"]);
      bench.toolkit.addConnector(far, { namespace: "weather", pollMs: 5_000 });
      await bench.start();
      bench.take();
      far.lists.tool = tools("alerts");
      await bench.clock.advance(4_999);
      expect(far.reads.tool).toBe(1);
      await bench.clock.advance(50);
      expect(far.reads).toEqual({ tool: 2, prompt: 1, resource: 2, template: 2 });
      expect(bench.take()).toEqual(["toolListChanged"]);
      await bench.clock.advance(10_000);
      expect(far.reads.tool).toBe(4);
      // A server that lost the stream by which it announces is polled too.
      far.announces = new Set();
      await bench.clock.advance(5_000);
      expect(far.reads.prompt).toBe(2);
      far.session.lose();
      far.outcomes = ["hang"];
      await bench.clock.advance(20_000);
      expect(far.reads.tool).toBe(5);
    });

    verifies(["M6", "M15"], "does not poll a list that its server says is current, for an hour at most", async () => {
      far.announces = new Set();
      far.lists.tool = { items: [{ name: "alerts" }], warnings: [], ttlMs: 12_000, cacheScope: "public" };
      far.lists.prompt = { items: [], warnings: [], ttlMs: Number.MAX_VALUE };
      bench.toolkit.addConnector(far, { namespace: "weather", pollMs: 5_000 });
      await bench.start();
      await bench.clock.advance(11_000);
      expect([far.reads.tool, far.reads.resource]).toEqual([1, 3]);
      await bench.clock.advance(5_000);
      expect(far.reads.tool).toBe(2);
      expect(far.reads.prompt).toBe(1);
      await bench.clock.advance(60 * 60_000);
      expect(far.reads.prompt).toBe(2);
    });

    verifies("M6", "polls every minute where nothing else is said", async () => {
      far.announces = new Set();
      await bench.start({ weather: far });
      await bench.clock.advance(59_000);
      expect(far.reads.tool).toBe(1);
      await bench.clock.advance(1_020);
      expect(far.reads.tool).toBe(2);
    });

    verifies("E1", "hands on that a resource changed", async () => {
      await bench.start({ weather: far });
      bench.take();
      far.session.host.changed({ kind: "resource", uri: "memo://map" });
      await settle();
      expect(bench.events).toMatchObject([{ type: "resourceUpdated", namespace: "weather", uri: "memo://map" }]);
      expect(far.reads.resource).toBe(1);
    });
  });

  describe("when something of it is odd", () => {
    verifies("I3", "a schema that cannot be compiled is reported once and affects nothing else", async () => {
      const $ref = "#/$defs/missing";
      far.lists.tool = [
        { name: "odd", input: { type: "object", properties: { a: { $ref } } } },
        { name: "pattern", input: { type: "object", properties: { a: { type: "string", pattern: "(?<bad" } } } },
        { name: "fine", input: { type: "object", required: ["city"] } },
      ];
      await bench.start({ weather: far });
      for (let each = 0; each < 3; each++) {
        expect(await (await bench.toolkit.call("weather.odd", { a: each })).json()).toMatchObject({ name: "odd" });
        await bench.toolkit.call("weather.pattern", { a: each });
      }
      expect((await failure(bench.toolkit.call("weather.fine", {}))).code).toBe("INVALID_INPUT");
      await bench.toolkit.call("weather.fine", { city: "Bern" });
      const { warnings } = connection();
      expect(warnings).toHaveLength(2);
      expect(warnings[0]).toContain("odd");
      const failed = "The call of weather.fine failed: INVALID_INPUT:";
      expect(bench.warnings().filter((message) => !message.startsWith(failed))).toHaveLength(2);
    });

    verifies(["I3", "L4"], "what is no descriptor is left out alone", async () => {
      const cyclic: Record<string, unknown> = { type: "object" };
      cyclic.self = cyclic;
      far.lists.tool = [
        null,
        { name: 7 },
        { name: "cyclic", input: cyclic },
        { name: "huge", input: { const: 1n } },
        ...tools("fine"),
      ] as never;
      await bench.start({ weather: far });
      expect(connection().state).toBe("connected");
      expect(
        connection()
          .list("tool")
          .map(({ name }) => name),
      ).toEqual(["fine"]);
      expect(connection().warnings).toHaveLength(4);
      far.session.host.changed({ kind: "tool" });
      await bench.clock.advance(100);
      expect(connection().list("tool")).toHaveLength(1);
      expect(bench.warnings()).toHaveLength(4);
    });

    verifies("I3", "a tool that cannot be called is listed, and calling it says why and sends nothing", async () => {
      far.lists.tool = [{ name: "report", uncallable: "it can only run as a task" }, ...tools("fine")];
      let sent = 0;
      const { answer } = far;
      far.answer = (name, input, context) => {
        sent += 1;
        return answer(name, input, context);
      };
      await bench.start({ weather: far });
      expect(connection().counts.tool).toBe(2);
      expect(await failure(bench.toolkit.call("weather.report"))).toMatchObject({
        code: "TOOL_FAILED",
        message: expect.stringContaining("it can only run as a task"),
      });
      await bench.toolkit.call("weather.fine");
      expect(sent).toBe(1);
    });

    verifies("N1", "odd names are kept, callable, and logged once", async () => {
      const long = "x".repeat(5_000);
      far.lists.tool = tools("get weather!", "a:b", long, "fine.name-1");
      await bench.start({ weather: far });
      expect(await (await bench.toolkit.call("weather.get weather!")).json()).toMatchObject({ name: "get weather!" });
      expect(await (await bench.toolkit.call("a:b")).json()).toMatchObject({ name: "a:b" });
      far.session.host.changed({ kind: "tool" });
      await bench.clock.advance(100);
      far.session.lose();
      await bench.clock.advance(10_000);
      expect(connection().state).toBe("connected");
      const odd = bench.warnings().filter((message) => message.includes("MCP"));
      expect(odd).toHaveLength(3);
      expect(odd.every((message) => message.length < 400)).toBe(true);
      expect(connection().warnings).toHaveLength(3);
    });

    verifies("L3", "a page shows a failure that began after one without any, and none once it is gone", async () => {
      await bench.start({ other: new FakeConnector(), weather: far });
      const failing = async () =>
        (await bench.toolkit.list({ limit: 1 })).failures.map(({ namespace, error }) => [namespace, error.code]);
      expect(await failing()).toEqual([]);
      far.outcomes = [new Error("refused"), new Error("refused")];
      far.session.lose(new Error("it crashed"));
      expect(await failing()).toEqual([["weather", "UNAVAILABLE"]]);
      await bench.clock.advance(60_000);
      expect(await failing()).toEqual([]);
      far.lists.tool = new Error("the database is down");
      far.session.host.changed({ kind: "tool" });
      await bench.clock.advance(20);
      expect(await failing()).toEqual([["weather", "REMOTE_ERROR"]]);
      far.lists.tool = tools("forecast");
      await bench.clock.advance(60_000);
      expect(await failing()).toEqual([]);
      const late = new FakeConnector();
      late.outcomes = ["hang"];
      bench.toolkit.addConnector(late, { namespace: "late" });
      expect(await failing()).toEqual([["late", "UNAVAILABLE"]]);
    });

    verifies("L3", "a list that fails keeps what was known, is a failure, and is read again", async () => {
      await bench.start({ weather: far });
      const changedAt = bench.clock.now();
      far.lists.tool = new Error("the database is down");
      far.lists.prompt = [{ name: "brief" }, { name: "long" }];
      far.session.host.changed({ kind: "tool" });
      far.session.host.changed({ kind: "prompt" });
      await bench.clock.advance(20);
      const page = await bench.toolkit.list({ namespace: "weather" });
      expect(page.entries.map(({ ref, stale }) => [ref, stale])).toEqual([
        ["weather.forecast", false],
        ["weather.brief", false],
        ["weather.long", false],
        ["memo://map#weather", false],
      ]);
      expect(page.failures).toMatchObject([
        { namespace: "weather", since: changedAt + 20, error: { code: "REMOTE_ERROR" } },
      ]);
      expect(page.failures[0]?.error.message).toBe("fake did not list its tools: the database is down");
      await bench.clock.advance(60_000);
      expect((await bench.toolkit.list()).failures).toMatchObject([{ since: changedAt + 20 }]);
      far.lists.tool = tools("forecast", "alerts");
      await bench.clock.advance(60_000);
      const healed = await bench.toolkit.list({ namespace: "weather", kind: "tool" });
      expect([healed.count, healed.failures]).toEqual([2, []]);
    });

    verifies(
      "M12",
      "a server that announces without end is listed less and less often, and its last state is read",
      async () => {
        await bench.start({ weather: far });
        const before = far.reads.tool;
        for (let ms = 0; ms < 60_000; ms += 100) {
          far.session.host.changed({ kind: "tool" });
          await bench.clock.advance(100);
        }
        far.lists.tool = tools("last");
        far.session.host.changed({ kind: "tool" });
        await bench.clock.advance(5_000);
        expect(far.reads.tool - before).toBeLessThan(25);
        expect(
          connection()
            .list("tool")
            .map(({ name }) => name),
        ).toEqual(["last"]);
      },
    );

    verifies("M12", "log messages without end are bounded, and the others counted", async () => {
      await bench.start({ weather: far });
      bench.logged.length = 0;
      for (let ms = 0; ms < 3_000; ms += 1) {
        far.session.host.log({ level: "error", logger: undefined, data: `message ${ms}` });
        await bench.clock.advance(1);
      }
      await bench.clock.advance(1_000);
      expect(bench.warnings()).toEqual([
        "weather: 900 log messages were left out: more than 100 came within a second.",
        "weather: 900 log messages were left out: more than 100 came within a second.",
        "weather: 900 log messages were left out: more than 100 came within a second.",
      ]);
      expect(bench.logged.splice(0)).toHaveLength(303);
    });

    verifies("M10", "a log message that comes just after the answer reaches the session that called", async () => {
      await bench.start({ weather: far });
      const log = (data: string) => far.session.host.log({ level: "info", logger: undefined, data });
      const heard: Record<string, unknown[]> = { one: [], two: [] };
      const call = async (id: string) => {
        const session = { id, log: ({ data }: LogEntry) => void heard[id]?.push(data) };
        await bench.toolkit.call("weather.forecast", {}, { session });
      };
      await call("one");
      await bench.clock.advance(249);
      log("late");
      await bench.clock.advance(1);
      log("too late");
      await call("one");
      await call("two");
      log("of the other, for all that is known");
      expect(heard).toEqual({ one: ["late"], two: ["of the other, for all that is known"] });
      const held = bench.clock.timers;
      await bench.clock.advance(250);
      expect(bench.clock.timers).toBeLessThanOrEqual(held);
    });

    verifies("M12", "updates of resources without end are emitted once a second, for each of them", async () => {
      await bench.start({ weather: far });
      bench.take();
      for (let count = 0; count < 10_000; count++) {
        far.session.host.changed({ kind: "resource", uri: `memo://${count % 150}` });
      }
      await bench.clock.advance(1_000);
      const updated = bench.of("resourceUpdated").map(({ uri }) => uri);
      expect([updated.length, new Set(updated).size]).toEqual([100 + 150, 150]);
    });

    verifies("L4", "a list that was cut is a failure as long as it is", async () => {
      far.lists.tool = { items: tools("a"), warnings: ["too many"], cutAt: 1 };
      await bench.start({ weather: far });
      const { failures } = await bench.toolkit.list();
      expect(failures).toMatchObject([
        { error: { code: "LIMIT_EXCEEDED", details: { limit: "maxListSize", max: 1 } } },
      ]);
      expect(connection().warnings).toEqual(["too many"]);
      far.lists.tool = tools("a");
      far.session.host.changed({ kind: "tool" });
      await bench.clock.advance(20);
      expect((await bench.toolkit.list()).failures).toEqual([]);
      expect(connection().warnings).toEqual([]);
    });

    verifies("M6", "a list that hangs delays neither the others nor a later generation", async () => {
      bench.toolkit.addConnector(far, { namespace: "weather", connectTimeoutMs: 3_000 });
      await bench.start();
      let asked: AbortSignal | undefined;
      far.lists.tool = ({ signal }) => {
        asked = signal;
        return new Promise(() => undefined);
      };
      far.lists.prompt = [];
      far.session.host.changed({ kind: "tool" });
      far.session.host.changed({ kind: "prompt" });
      await bench.clock.advance(3_100);
      expect(asked?.aborted).toBe(true);
      expect(connection().counts).toMatchObject({ tool: 1, prompt: 0 });
      expect((await bench.toolkit.list()).failures[0]?.error.message).toContain("no answer within 3000 ms");
      far.session.host.changed({ kind: "tool" });
      await bench.clock.advance(100);
      far.lists.tool = tools("new");
      far.session.lose();
      await settle();
      expect(
        connection()
          .list("tool")
          .map(({ name }) => name),
      ).toEqual(["new"]);
      far.lists.tool = tools("newer");
      far.session.host.changed({ kind: "tool" });
      await bench.clock.advance(20);
      expect(
        connection()
          .list("tool")
          .map(({ name }) => name),
      ).toEqual(["newer"]);
    });

    verifies("M5", "a session that ends while it is listed was never connected", async () => {
      far.lists.tool = () => new Promise(() => undefined);
      bench.toolkit.addConnector(far, { namespace: "weather" });
      const starting = bench.toolkit.start();
      await settle();
      far.session.lose(new Error("it crashed"));
      await starting;
      expect(connection()).toMatchObject({ state: "waiting", server: undefined });
      expect(connection().lastError?.message).toBe("it crashed");
      expect(far.session.disposed).toBe(1);
      expect(bench.take()).toEqual(["connectorDisconnected"]);
    });

    test("a connector that gives no session is an error that says so", async () => {
      far.connect = async () => ({ list: {} }) as never;
      bench.toolkit.addConnector(far, { namespace: "weather" });
      await bench.toolkit.start();
      expect(connection().lastError).toMatchObject({ code: "REMOTE_ERROR" });
      expect(connection().lastError?.message).toBe('fake gave no session: "server.name" is missing.');
    });
  });

  describe("when it is lost", () => {
    verifies(["L3", "E1"], "keeps what it knew, marked stale, and says why", async () => {
      const other = new FakeConnector({ lists: { tool: tools("other") } });
      await bench.start({ weather: far, other });
      bench.take();
      const lostAt = bench.clock.now() + 60_000;
      await bench.clock.advance(60_000);
      far.outcomes = [new Error("refused"), "hang"];
      far.session.lose(new Error("it crashed"));
      await settle();
      expect(bench.of("connectorDisconnected")).toMatchObject([
        { namespace: "weather", error: { message: "it crashed" }, attempts: 1, retryInMs: 0 },
        { namespace: "weather", error: { message: "refused" }, attempts: 1, retryInMs: 2_000 },
      ]);
      expect(bench.take()).toHaveLength(2);
      const page = await bench.toolkit.list();
      expect(page.entries.map(({ ref, stale }) => [ref, stale])).toEqual([
        ["other.other", false],
        ["weather.forecast", true],
        ["weather.brief", true],
        ["memo://map#weather", true],
      ]);
      expect(page.failures).toMatchObject([{ namespace: "weather", since: lostAt, error: { code: "UNAVAILABLE" } }]);
      expect(page.failures[0]?.error.message).toBe("`weather` is not connected: refused, next attempt in 2 s.");
      await bench.clock.advance(500);
      expect((await bench.toolkit.list()).failures[0]?.error.details).toEqual({
        namespace: "weather",
        retryInMs: 1_500,
      });
    });

    verifies("M5", "items are the same across generations, and work from whenever they were taken", async () => {
      await bench.start({ weather: far });
      bench.take();
      const entry = await bench.toolkit.lookup("weather.forecast", { kind: "tool" });
      const map = await bench.toolkit.lookup("memo://map", { kind: "resource" });
      const city = await bench.toolkit.lookup("memo://city/bern", { kind: "resource" });
      far.session.lose();
      await settle();
      expect(connection().state).toBe("connected");
      expect(far.sessions).toHaveLength(2);
      expect(bench.take()).toEqual(["connectorDisconnected", "connectorConnected"]);
      const again = await bench.toolkit.lookup("weather.forecast", { kind: "tool" });
      // The very entry: what was compiled for it is not compiled again.
      expect(again).toBe(entry);
      expect(again.stale).toBe(false);
      await bench.toolkit.call(entry, {});
      await bench.toolkit.call(entry.item, {});
      expect(await map.item.text()).toBe("memo://map of session 2");
      expect(await city.item.text()).toBe("memo://city/bern of session 2");
      expect(await (await bench.toolkit.read(map)).text()).toBe("memo://map of session 2");
    });

    verifies(["I5", "M6"], "lists are compared after a gap: one event a kind with what became different", async () => {
      far.lists.tool = tools("a", "b");
      await bench.start({ weather: far });
      bench.take();
      far.outcomes = ["hang"];
      far.lists.tool = [{ name: "a", description: "other" }, ...tools("c")];
      far.session.lose();
      await settle();
      far.late.at(-1)?.();
      await settle();
      expect(bench.of("toolListChanged")).toMatchObject([
        { added: ["weather.c"], removed: ["weather.b"], changed: ["weather.a"] },
      ]);
      expect(bench.take()).toEqual(["connectorDisconnected", "connectorConnected", "toolListChanged"]);
    });

    verifies("M5", "an old generation can change nothing", async () => {
      await bench.start({ weather: far });
      const old = far.session;
      old.lose();
      await settle();
      bench.take();
      const reads = { ...far.reads };
      old.host.changed({ kind: "tool" });
      old.host.changed({ kind: "resource", uri: "memo://map" });
      old.host.log({ level: "error", data: "last words" });
      old.lose(new Error("again"));
      await bench.clock.advance(100);
      expect(far.reads).toEqual(reads);
      expect(bench.take()).toEqual([]);
      expect(bench.logged.some(({ message }) => message.includes("last words"))).toBe(false);
      expect([connection().state, old.disposed, far.session.disposed]).toEqual(["connected", 1, 0]);
    });

    verifies("M5", "a list that an old generation was still reading is ignored", async () => {
      await bench.start({ weather: far });
      const reading = Promise.withResolvers<void>();
      far.lists.tool = async () => {
        await reading.promise;
        return { items: tools("old"), warnings: [] };
      };
      far.session.host.changed({ kind: "tool" });
      await bench.clock.advance(20);
      expect(far.reads.tool).toBe(2);
      far.lists.tool = tools("new");
      far.session.lose();
      await settle();
      expect(far.reads.tool).toBe(3);
      bench.take();
      reading.resolve();
      await settle();
      const names = connection()
        .list("tool")
        .map(({ name }) => name);
      expect([names, bench.take()]).toEqual([["new"], []]);
    });

    verifies("L3", "neither one that never came nor one that is gone delays a list, a lookup or a call", async () => {
      const never = new FakeConnector({ label: "never" });
      never.outcomes = ["ignore"];
      const warm = new FakeConnector({ lists: { tool: tools("other") } });
      bench.toolkit.addConnector(never, { namespace: "never" });
      bench.toolkit.addConnector(far, { namespace: "weather" });
      bench.toolkit.addConnector(warm, { namespace: "warm" });
      const starting = bench.toolkit.start();
      await bench.clock.advance(10_000);
      await starting;
      far.outcomes = ["hang"];
      far.session.lose();
      await settle();
      // Time stands still from here on: a wait would never end.
      const page = await bench.toolkit.list({ kind: "tool" });
      expect(page.entries.map(({ ref, stale }) => [ref, stale])).toEqual([
        ["warm.other", false],
        ["weather.forecast", true],
      ]);
      expect(page.failures.map(({ namespace }) => namespace)).toEqual(["never", "weather"]);
      expect((await bench.toolkit.lookup("other")).ref).toBe("warm.other");
      expect(await (await bench.toolkit.call("other")).json()).toMatchObject({ name: "other" });
    });

    verifies("K1", "a stale entry is found and its call waits for the connection", async () => {
      await bench.start({ weather: far });
      far.outcomes = [new Error("refused"), new Error("refused")];
      far.session.lose();
      await settle();
      const entry = await bench.toolkit.lookup("forecast", { kind: "tool" });
      expect(entry.stale).toBe(true);
      const calling = bench.toolkit.call(entry, { city: "Bern" });
      await bench.clock.advance(5_000);
      expect(far.sessions).toHaveLength(1);
      await bench.clock.advance(1_000);
      expect(await (await calling).json()).toEqual({ name: "forecast", input: { city: "Bern" } });
    });

    verifies(
      "K1",
      "a call that waits too long is UNAVAILABLE, by its own limit or the tool's, and leaves nothing",
      async () => {
        await bench.start({ weather: far });
        far.outcomes = Array.from({ length: 50 }, () => new Error("refused"));
        far.session.lose();
        await settle();
        const before = bench.clock.now();
        const [own, tool, aborted] = [
          failure(bench.toolkit.call("weather.forecast", {}, { timeoutMs: 700 })),
          failure(bench.toolkit.call("weather.forecast", {})),
          new AbortController(),
        ];
        const aborting = rejection(bench.toolkit.call("weather.forecast", {}, { signal: aborted.signal }));
        const reading = failure(bench.toolkit.read("memo://map", { timeoutMs: 700 }));
        const rendering = failure(bench.toolkit.render("weather.brief", {}, { timeoutMs: 700 }));
        await bench.clock.advance(700);
        for (const waiting of [own, reading, rendering]) {
          expect(await waiting).toMatchObject({
            code: "UNAVAILABLE",
            phase: "connect",
            details: { namespace: "weather" },
          });
        }
        expect((await own).message).toBe("`weather` is not connected: refused, next attempt in 2 s.");
        const reason = new Error("enough");
        aborted.abort(reason);
        expect(await aborting).toBe(reason);
        await bench.clock.advance(60_000);
        expect(await tool).toMatchObject({ code: "UNAVAILABLE", details: { namespace: "weather" } });
        expect(bench.clock.now() - before).toBe(60_700);
        expect(connection().callsInFlight).toBe(0);
        expect(bench.clock.keptAlive).toBe(0);
      },
    );

    test("a prompt or resource of a server that has them no more is a clear error", async () => {
      await bench.start({ weather: far });
      Object.assign(far.session, { render: undefined, read: undefined });
      const expected = { code: "REMOTE_ERROR", details: { server: "fake" } };
      expect(await failure(bench.toolkit.render("weather.brief"))).toMatchObject(expected);
      expect(await failure(bench.toolkit.read("memo://map"))).toMatchObject(expected);
      expect(connection().callsInFlight).toBe(0);
    });

    test("a caller that stops waiting leaves no listener on its signal", async () => {
      await bench.start({ weather: far });
      const map = await bench.toolkit.lookup("memo://map", { kind: "resource" });
      far.outcomes = ["hang", "hang", "hang", "hang"];
      far.session.lose();
      await settle();
      const { signal } = new AbortController();
      const waiting = Array.from({ length: 5 }, () => failure(map.item.text({ signal })));
      await settle();
      expect(getEventListeners(signal, "abort")).toHaveLength(5);
      await bench.clock.advance(60_000);
      for (const each of waiting) expect((await each).code).toBe("UNAVAILABLE");
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
      expect(bench.clock.keptAlive).toBe(0);
    });

    verifies("M5", "a request that hangs in a session that ended is answered, once that has ended", async () => {
      await bench.start({ weather: far });
      far.answer = () => new Promise(() => undefined);
      const calling = failure(bench.toolkit.call("weather.forecast"));
      const session = far.session;
      session.read = () => new Promise(() => undefined);
      const reading = bench.toolkit.read("memo://map");
      await settle();
      connection().reconnect();
      await settle();
      expect(connection().callsInFlight).toBe(0);
      expect(await calling).toMatchObject({
        code: "OUTCOME_UNKNOWN",
        details: { namespace: "weather" },
        ref: "weather.forecast",
      });
      // To read again is safe.
      await bench.clock.advance(1_000);
      expect(await (await reading).text()).toBe("memo://map of session 2");
    });

    verifies("M13", "reconnect connects at once, and emits that it was disconnected", async () => {
      await bench.start({ weather: far });
      bench.take();
      far.outcomes = ["hang"];
      connection().reconnect();
      await settle();
      expect(connection().state).toBe("connecting");
      expect((await bench.toolkit.lookup("weather.forecast")).stale).toBe(true);
      expect(bench.events).toMatchObject([{ type: "connectorDisconnected", error: undefined, retryInMs: 0 }]);
      connection().reconnect();
      await settle();
      expect(bench.take()).toEqual(["connectorDisconnected", "connectorConnected"]);
      expect([far.hanging, far.open]).toEqual([0, 1]);
      far.outcomes = [new Error("refused")];
      far.session.lose();
      await settle();
      expect(connection().state).toBe("waiting");
      connection().reconnect();
      await settle();
      expect(connection().state).toBe("connected");
      const shown = connection();
      await shown.close();
      expect(() => shown.reconnect()).toThrow(expect.objectContaining({ code: "CLOSED" }));
    });

    verifies("M13", "ready starts it, waits for it, and obeys its signal", async () => {
      far.outcomes = [new Error("refused"), new Error("refused")];
      const shown = bench.toolkit.addConnector(far, { namespace: "weather", lazy: true });
      const { signal, abort } = aborter();
      const [ready, aborted] = [shown.ready(), rejection(shown.ready({ signal }))];
      await bench.clock.advance(2_000);
      expect(bench.clock.keptAlive).toBeGreaterThan(0);
      abort("enough");
      expect(await aborted).toBe("enough");
      await bench.clock.advance(4_000);
      await ready;
      await shown.ready();
      expect(await rejection(shown.ready({ signal }))).toBe("enough");
      expect(bench.clock.keptAlive).toBe(0);
      await shown.close();
      expect((await failure(shown.ready())).code).toBe("CLOSED");
    });

    verifies("M5", "after maxAttempts failures it is removed, and says so", async () => {
      far.outcomes = [new Error("one"), new Error("two"), new Error("three")];
      const shown = bench.toolkit.addConnector(far, { namespace: "weather", maxAttempts: 3 });
      const ready = failure(shown.ready());
      await bench.start();
      const calling = failure(bench.toolkit.call("weather.forecast"));
      await bench.clock.advance(10_000);
      expect(await ready).toMatchObject({
        code: "UNAVAILABLE",
        message: "weather was given up after 3 attempts: three",
      });
      expect((await calling).code).toBe("UNAVAILABLE");
      expect((await failure(bench.toolkit.call("weather.forecast"))).code).toBe("NOT_FOUND");
      expect(bench.toolkit.connections).toEqual([]);
      expect(shown.state).toBe("stopped");
      expect(bench.of("connectorRemoved")).toMatchObject([{ namespace: "weather", error: { message: "three" } }]);
      expect(bench.take()).toEqual(["connectorDisconnected", "connectorDisconnected", "connectorRemoved"]);
      bench.toolkit.addConnector(new FakeConnector(), { namespace: "weather" });
    });
  });

  describe("when it starts and ends", () => {
    verifies("M4", "start returns in time though one hangs and one is dead", async () => {
      const [hanging, dead] = [new FakeConnector(), new FakeConnector()];
      hanging.outcomes = ["ignore"];
      dead.outcomes = Array.from({ length: 20 }, () => new Error("refused"));
      bench.toolkit.addConnector(hanging, { namespace: "hanging" });
      bench.toolkit.addConnector(dead, { namespace: "dead" });
      bench.toolkit.addConnector(far, { namespace: "weather" });
      let started = false;
      const starting = bench.toolkit.start().then(() => {
        started = true;
      });
      await settle();
      expect([hanging.attempts, dead.attempts, far.attempts]).toEqual([1, 1, 1]);
      expect(bench.clock.keptAlive).toBeGreaterThan(0);
      await bench.clock.advance(9_999);
      expect(started).toBe(false);
      await bench.clock.advance(1);
      await starting;
      expect(bench.toolkit.connections.map(({ state }) => state)).toEqual(["connecting", "waiting", "connected"]);
      const page = await bench.toolkit.list();
      expect(page.failures.map(({ error }) => error.message)).toEqual([
        "`hanging` is still connecting to fake.",
        expect.stringContaining("`dead` is not connected: refused"),
      ]);
      hanging.late[0]?.();
      await bench.clock.advance(0);
      expect(bench.toolkit.connections[0]?.state).toBe("connected");
    });

    verifies(
      "M4",
      "one added later connects at once; a lazy one at the first list, lookup or call that needs it",
      async () => {
        await bench.start();
        bench.toolkit.addConnector(far, { namespace: "weather" });
        await settle();
        expect(connection().state).toBe("connected");
        const uses: ((name: string) => Promise<unknown>)[] = [
          (name) => bench.toolkit.list({ namespace: name }),
          (name) => bench.toolkit.lookup(`${name}.alerts`),
          (name) => bench.toolkit.call(`${name}.alerts`),
          (name) => bench.toolkit.lookup(`memo://x#${name}`).catch(() => undefined),
        ];
        for (const [index, use] of uses.entries()) {
          const lazy = new FakeConnector({ lists: { tool: tools("alerts") } });
          const name = `lazy${index}`;
          const shown = bench.toolkit.addConnector(lazy, { namespace: name, lazy: true });
          await bench.toolkit.start();
          await bench.toolkit.call("weather.forecast");
          await bench.toolkit.list({ namespace: "weather" });
          await settle();
          expect([shown.state, lazy.attempts]).toEqual(["idle", 0]);
          await use(name);
          expect([shown.state, lazy.attempts]).toEqual(["connected", 1]);
        }
      },
    );

    verifies("M9", "removing ends an attempt, a wait, a call and an idle one", async () => {
      const make = (outcome?: "hang" | Error) => {
        const connector = new FakeConnector({ lists: { tool: tools("t") } });
        if (outcome !== undefined) connector.outcomes = [outcome];
        return connector;
      };
      const [connecting, waiting, calling, idle] = [make("hang"), make(new Error("refused")), make(), make()];
      bench.toolkit.addConnector(idle, { namespace: "idle", lazy: true });
      await Promise.all([bench.start({ connecting, waiting, calling }), bench.clock.advance(10_000)]);
      calling.answer = () => new Promise(() => undefined);
      waiting.outcomes = [new Error("refused"), new Error("refused"), new Error("refused")];
      const call = failure(bench.toolkit.call("calling.t"));
      const ready = failure(
        bench.toolkit.connections.find(({ namespace }) => namespace === "connecting")?.ready() ?? call,
      );
      await settle();
      for (const name of ["connecting", "waiting", "calling", "idle"]) await bench.toolkit.removeConnector(name);
      expect(bench.toolkit.connections).toEqual([]);
      expect((await call).code).toBe("OUTCOME_UNKNOWN");
      expect((await ready).code).toBe("CLOSED");
      expect([connecting.hanging, calling.open]).toEqual([0, 0]);
      expect((await failure(bench.toolkit.lookup("calling.t"))).code).toBe("NOT_FOUND");
    });

    verifies("M9", "close is idempotent, bounded, and names what did not end", async () => {
      const [stubborn, ignoring, quick] = [new FakeConnector(), new FakeConnector(), new FakeConnector()];
      const toolkit = new Bench();
      ignoring.outcomes = ["ignore"];
      await Promise.all([toolkit.start({ stubborn, ignoring, quick }), toolkit.clock.advance(10_000)]);
      const end = Promise.withResolvers<void>();
      stubborn.session.ending = end.promise;
      const closing = toolkit.toolkit.close();
      expect(toolkit.toolkit.close()).toBe(closing);
      const failed = failure(closing);
      await toolkit.clock.advance(5_000);
      expect(await failed).toMatchObject({ code: "TIMEOUT" });
      expect((await failed).message).toBe("Not everything ended within 5000 ms: stubborn, ignoring.");
      expect((await failure(toolkit.toolkit.list())).code).toBe("CLOSED");
      expect(toolkit.clock.timers).toBe(0);
      end.resolve();
      ignoring.late[0]?.();
      await settle();
      expect([stubborn.open, ignoring.open, quick.open]).toEqual([0, 0, 0]);
      expect(toolkit.errors()).toEqual([]);
    });

    verifies("M9", "close waits for what a connection that was given up has left behind", async () => {
      far.outcomes = ["ignore"];
      const toolkit = new Bench();
      toolkit.toolkit.addConnector(far, { namespace: "weather", maxAttempts: 1, connectTimeoutMs: 1_000 });
      await Promise.all([toolkit.start(), toolkit.clock.advance(1_000)]);
      expect(toolkit.toolkit.connections).toEqual([]);
      let closed = false;
      const closing = toolkit.toolkit.close().then(() => {
        closed = true;
      });
      await settle();
      expect(closed).toBe(false);
      far.late[0]?.();
      await closing;
      expect(far.open).toBe(0);
    });
  });
});

/** A controller that aborts with anything. */
function aborter() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason: unknown) => controller.abort(reason) };
}

import { afterEach, beforeEach, describe, expect } from "vitest";
import type { LogEntry, Session } from "../../src/core/session.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";
import { Bench } from "./support.ts";

describe("the connectors of a toolkit", () => {
  let bench: Bench;

  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(async () => {
    await bench.toolkit.close();
    await settle();
    expect(bench.clock.keptAlive).toBe(0);
  });
  const names = () => bench.toolkit.connections.map(({ namespace }) => namespace);
  const thrown = (run: () => unknown): unknown => {
    try {
      run();
    } catch (error) {
      return error;
    }
    throw new Error("It did not throw.");
  };

  describe("are named", () => {
    verifies("M3", "as was given, whatever the server says", async () => {
      await bench.start({ mine: new FakeConnector({ serverName: "weather" }) });
      expect(names()).toEqual(["mine"]);
    });

    verifies("M3", "by what is known until the handshake, then by the server, for good", async () => {
      const far = new FakeConnector({
        suggestedName: "my server!",
        serverName: "Weather 2 (beta)",
        lists: { tool: tools("t") },
      });
      bench.toolkit.addConnector(far);
      bench.toolkit.addConnector(new FakeConnector({ label: "https://example.com/x", serverName: "***" }));
      expect(names()).toEqual(["my-server", "https-example-com-x"]);
      await bench.start();
      expect(names()).toEqual(["Weather-2-beta", "https-example-com-x"]);
      expect((await bench.toolkit.lookup("Weather-2-beta.t")).namespace).toBe("Weather-2-beta");
      expect((await failure(bench.toolkit.lookup("my-server.t"))).code).toBe("NOT_FOUND");
      far.serverName = "other";
      far.session.lose();
      await settle();
      expect(names()[0]).toBe("Weather-2-beta");
      expect(bench.toolkit.connections[0]?.server?.name).toBe("other");
    });

    verifies("M3", "with a number and a warning where the name is taken or reserved", async () => {
      const make = (serverName: string) => new FakeConnector({ suggestedName: "x", serverName });
      for (const name of ["github", "github", "builtin", `a${"-".repeat(200_000)}b`, "github"]) {
        bench.toolkit.addConnector(make(name));
      }
      expect(names()).toEqual(["x", "x2", "x3", "x4", "x5"]);
      await bench.start();
      expect(names()).toEqual(["github", "github2", "builtin2", expect.stringMatching(/^a/), "github3"]);
      expect(bench.toolkit.connections[1]?.warnings).toEqual([
        'Another namespace is called "github" already, so this one is "github2".',
      ]);
      expect(bench.warnings()).toHaveLength(3);
    });

    verifies(
      "M3",
      "a given name that is taken is CONFLICT at once, a bad one INVALID_NAME, and nothing is left of it",
      async () => {
        await bench.start({ weather: new FakeConnector() });
        const add = (namespace: string) => bench.toolkit.addConnector(new FakeConnector(), { namespace });
        expect(thrown(() => add("weather"))).toMatchObject({ code: "CONFLICT", details: { owners: ["weather"] } });
        expect(thrown(() => add("no name"))).toMatchObject({ code: "INVALID_NAME" });
        expect(thrown(() => add("user"))).toMatchObject({ code: "RESERVED_NAME" });
        expect(thrown(() => bench.toolkit.addConnector(new FakeConnector(), { pollMs: 0 }))).toMatchObject({
          code: "INVALID_CONFIG",
          details: { path: "pollMs" },
        });
        expect(names()).toEqual(["weather"]);
      },
    );
  });

  verifies("M2", "one place twice is CONFLICT unless both have given names that differ", async () => {
    const make = () => new FakeConnector({ key: "https://example.com/mcp", label: "https://example.com/mcp" });
    bench.toolkit.addConnector(make(), { namespace: "one" });
    expect(thrown(() => bench.toolkit.addConnector(make()))).toMatchObject({
      code: "CONFLICT",
      details: { key: "https://example.com/mcp", owners: ["one"] },
    });
    bench.toolkit.addConnector(make(), { namespace: "two" });
    await bench.toolkit.removeConnector("one");
    await bench.toolkit.removeConnector("two");
    bench.toolkit.addConnector(make());
    expect(thrown(() => bench.toolkit.addConnector(make(), { namespace: "named" }))).toMatchObject({
      code: "CONFLICT",
    });
    expect(names()).toEqual(["https-example-com-mcp"]);
  });

  verifies(
    "N9",
    "removeConnector takes a namespace, a URL or the connection; else NOT_FOUND, or CONFLICT",
    async () => {
      const make = (key: string) => new FakeConnector({ key });
      const url = "https://example.com/mcp";
      bench.toolkit.addConnector(make(url), { namespace: "one" });
      bench.toolkit.addConnector(make(url), { namespace: "two" });
      const third = bench.toolkit.addConnector(make("https://other.example/mcp"), { namespace: "three" });
      expect(await failure(bench.toolkit.removeConnector("four"))).toMatchObject({
        code: "NOT_FOUND",
        message: 'There is no connector "four". There are one, two, three.',
      });
      expect((await failure(bench.toolkit.removeConnector(url))).details).toMatchObject({ owners: ["one", "two"] });
      expect((await failure(bench.toolkit.removeConnector(new URL(url)))).code).toBe("CONFLICT");
      await bench.toolkit.removeConnector("one");
      await bench.toolkit.removeConnector(new URL("HTTPS://Example.com:443/x/../mcp?token=1#f"));
      expect(names()).toEqual(["three"]);
      await bench.toolkit.removeConnector(third);
      expect(names()).toEqual([]);
      expect((await failure(bench.toolkit.removeConnector(third))).code).toBe("NOT_FOUND");
      expect((await failure(bench.toolkit.removeConnector("https://nowhere.example"))).code).toBe("NOT_FOUND");
    },
  );

  verifies("N6", "an unscoped name goes by the order they were added in, whichever connects first", async () => {
    const make = () => new FakeConnector({ lists: { tool: tools("search") } });
    const [first, second, third] = [make(), make(), make()];
    first.outcomes = ["hang"];
    for (const [namespace, connector] of Object.entries({ first, second, third })) {
      bench.toolkit.addConnector(connector, { namespace });
    }
    const starting = bench.toolkit.start();
    let found: string | undefined;
    for (const [ref, connector] of Object.entries({ first, second, third }))
      connector.answer = async () => resource.text("answer", `${ref}.search`);
    const looking = bench.toolkit.call("search").then(async (answer) => {
      found = await answer.text();
    });
    await settle();
    expect(bench.toolkit.connections.map(({ state }) => state)).toEqual(["connecting", "connected", "connected"]);
    expect(found).toBeUndefined();
    expect((await bench.toolkit.lookup("second.search")).ref).toBe("second.search");
    first.late[0]?.();
    await Promise.all([starting, looking]);
    expect(found).toBe("first.search");
    expect(bench.of("ambiguousName")).toMatchObject([
      { name: "search", chosen: "first.search", candidates: ["first.search", "second.search", "third.search"] },
    ]);
    // One that is away keeps its place.
    first.outcomes = ["hang"];
    first.session.lose();
    await settle();
    expect((await bench.toolkit.lookup("search")).ref).toBe("first.search");
    await bench.toolkit.removeConnector("first");
    expect((await bench.toolkit.lookup("search")).ref).toBe("second.search");
  });

  verifies("N6", "one that never comes holds up a name no longer than startTimeoutMs", async () => {
    const hanging = new FakeConnector();
    hanging.outcomes = ["hang"];
    bench.toolkit.addConnector(hanging, { namespace: "hanging" });
    bench.toolkit.addConnector(new FakeConnector({ lists: { tool: tools("search") } }), { namespace: "second" });
    const looking = bench.toolkit.lookup("search");
    const calling = bench.toolkit.call("search");
    await bench.clock.advance(10_000);
    expect((await looking).ref).toBe("second.search");
    expect(await (await calling).json()).toMatchObject({ name: "search" });
    expect((await bench.toolkit.lookup("search")).ref).toBe("second.search");
  });

  describe("that connect slowly are reported", () => {
    verifies("M4", "after 5 s and each time it takes twice as long, until the first attempt has ended", async () => {
      const far = new FakeConnector({ label: "far.example" });
      far.outcomes = ["hang", "hang"];
      Object.assign(far, { startHint: () => "It may be downloading\nitself." });
      bench.toolkit.addConnector(far, { namespace: "weather" });
      const starting = bench.toolkit.start();
      await bench.clock.advance(4_999);
      expect(bench.logged).toEqual([]);
      await bench.clock.advance(1);
      await bench.clock.advance(15_000);
      await starting;
      const hint = "It may be downloading\\nitself.";
      expect(bench.of("connectorConnecting")).toEqual(
        [5_000, 10_000, 20_000].map((elapsedMs) => ({
          type: "connectorConnecting",
          namespace: "weather",
          connection: bench.toolkit.connections[0],
          elapsedMs,
          hint,
        })),
      );
      expect(bench.logged.map(({ level, message }) => [level, message])).toEqual(
        [5, 10, 20].map((seconds) => [
          "info",
          `weather: still connecting to far.example, ${seconds} s so far. ${hint}`,
        ]),
      );
      await bench.clock.advance(60_000);
      expect(bench.of("connectorConnecting")).toHaveLength(3);
    });

    verifies("M4", "as a warning where a child process is silent, with what it may be missing", async () => {
      process.env.TOOLWEAVE_TEST_TOKEN = "hunter2";
      try {
        bench.toolkit.addConnector(
          { command: process.execPath, args: ["--eval", "setInterval(() => {}, 1e6)"] },
          { namespace: "silent" },
        );
        const starting = bench.toolkit.start();
        const [connection] = bench.toolkit.connections;
        while (connection?.processId === undefined) await new Promise((resolve) => setImmediate(resolve));
        await bench.clock.advance(5_000);
        const [warning = ""] = bench.warnings();
        expect(warning).toContain("silent: still connecting to node, 5 s so far. Its process has written nothing yet.");
        expect(warning).toMatch(/It does not inherit .*TOOLWEAVE_TEST_TOKEN.*: if it needs one, name it in inheritEnv/);
        expect(JSON.stringify(bench.logged)).not.toContain("hunter2");
        await bench.clock.advance(5_000);
        await starting;
      } finally {
        delete process.env.TOOLWEAVE_TEST_TOKEN;
      }
    });
  });

  describe("that still connect are waited for by a call, a read and a render", () => {
    const text = { uri: "memo:one", name: "one" };
    const late = (namespace?: string) => {
      const far = new FakeConnector({
        label: "far.example",
        suggestedName: "far",
        lists: { tool: tools("forecast"), resource: [text], prompt: [{ name: "ask" }] },
      });
      far.outcomes = ["hang"];
      bench.toolkit.addConnector(far, { namespace });
      return far;
    };
    /** Begins and reports how it ended, so far as it has. */
    const begin = (run: () => Promise<unknown>) => {
      const outcome: { value?: unknown } = {};
      run().then(
        (value) => Object.assign(outcome, { value }),
        (value) => Object.assign(outcome, { value }),
      );
      return outcome;
    };

    verifies(
      "N7",
      "by namespace.name and by a bare key, also after start() has returned; lookup and list are not",
      async () => {
        const far = late("weather");
        const starting = bench.toolkit.start();
        await bench.clock.advance(10_000);
        await starting;
        const waiting = [
          begin(() => bench.toolkit.call("weather.forecast")),
          begin(() => bench.toolkit.call("forecast")),
          begin(() => bench.toolkit.read("memo:one")),
          begin(() => bench.toolkit.read("memo:one#weather")),
          begin(() => bench.toolkit.render("ask")),
        ];
        const error = await failure(bench.toolkit.lookup("weather.forecast"));
        expect(error).toMatchObject({ code: "NOT_FOUND" });
        expect(error.message).toContain("`weather` is still connecting to far.example.");
        expect((await bench.toolkit.list()).failures).toMatchObject([{ namespace: "weather" }]);
        await bench.clock.advance(19_000);
        expect(waiting).toEqual(waiting.map(() => ({})));
        far.late[0]?.();
        await settle();
        expect(waiting.map(({ value }) => (value instanceof Error ? value.message : "done"))).toEqual(
          waiting.map(() => "done"),
        );
      },
    );

    verifies("N7", "lookup waits for none that is connecting, from the first moment", async () => {
      late("weather");
      const starting = bench.toolkit.start();
      expect((await failure(bench.toolkit.lookup("weather.forecast"))).code).toBe("NOT_FOUND");
      expect((await failure(bench.toolkit.lookup("forecast"))).code).toBe("NOT_FOUND");
      await bench.clock.advance(10_000);
      await starting;
    });

    verifies("N7", "each bare key until the first that has it is there, under the name its server gives", async () => {
      const [first, second] = [late(), late()];
      second.serverName = "second";
      first.lists = {};
      const starting = bench.toolkit.start();
      await bench.clock.advance(10_000);
      await starting;
      const call = begin(() => bench.toolkit.call("forecast"));
      const scoped = begin(() => bench.toolkit.call("second.forecast"));
      second.late[0]?.();
      await settle();
      expect([call.value, scoped.value]).toEqual([expect.any(Object), expect.any(Object)]);
      const typo = begin(() => bench.toolkit.call("forecats"));
      await settle();
      expect(typo).toEqual({});
      first.late[0]?.();
      await settle();
      expect(typo.value).toMatchObject({ code: "NOT_FOUND", details: { suggestions: ["second.forecast"] } });
    });

    verifies("N7", "within the call's own time, then it is UNAVAILABLE with the reason", async () => {
      late("weather");
      const starting = bench.toolkit.start();
      const calls = ["weather.forecast", "forecast"].map((key) =>
        begin(() => bench.toolkit.call(key, {}, { timeoutMs: 500 })),
      );
      const aborted = new AbortController();
      const abandoned = begin(() => bench.toolkit.call("forecast", {}, { signal: aborted.signal }));
      aborted.abort(new Error("enough"));
      await bench.clock.advance(500);
      for (const [index, key] of ["weather.forecast", "forecast"].entries()) {
        expect(calls[index]?.value).toMatchObject({
          code: "UNAVAILABLE",
          message: `There is no tool or prompt "${key}" yet: \`weather\` is still connecting to far.example.`,
          details: { namespace: "weather" },
        });
      }
      expect(abandoned.value).toMatchObject({ message: "enough" });
      await bench.clock.advance(10_000);
      await starting;
    });

    verifies("N7", "else until the attempt fails, at connectTimeoutMs the latest, or is given up", async () => {
      const [far, other] = [late("weather"), new FakeConnector()];
      other.outcomes = ["hang"];
      bench.toolkit.addConnector(other, { namespace: "other", maxAttempts: 1, connectTimeoutMs: 20_000 });
      const starting = bench.toolkit.start();
      await bench.clock.advance(10_000);
      await starting;
      const calls = ["weather.forecast", "forecast", "other.thing"].map((key) => begin(() => bench.toolkit.call(key)));
      await bench.clock.advance(10_000);
      expect(calls[2]?.value).toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringContaining("no answer from fake within 20000 ms"),
        details: { namespace: "other" },
      });
      await bench.clock.advance(9_999);
      expect(calls.slice(0, 2)).toEqual([{}, {}]);
      await bench.clock.advance(1);
      for (const call of calls.slice(0, 2)) {
        expect(call.value).toMatchObject({
          code: "UNAVAILABLE",
          message: expect.stringContaining("no answer from far.example within 30000 ms"),
          details: { namespace: "weather", retryInMs: 2_000 },
        });
      }
      // It has settled now. What its server has is still not known, so a later call into it fails alike; no other call waits for it.
      for (const run of [
        bench.toolkit.call("weather.forecast"),
        bench.toolkit.read("memo:one#weather"),
        bench.toolkit.render("weather.ask"),
      ])
        expect(await failure(run)).toMatchObject({
          code: "UNAVAILABLE",
          details: { retryInMs: 2_000 },
          phase: "resolve",
        });
      const missing = await failure(bench.toolkit.call("forecast"));
      expect([missing.code, missing.message]).toEqual(["NOT_FOUND", expect.stringContaining("no answer from far")]);
      expect((await failure(bench.toolkit.lookup("weather.forecast"))).code).toBe("NOT_FOUND");
      const view = bench.toolkit.view({ include: ["builtin.*"] });
      expect((await failure(view.call("weather.forecast"))).message).toBe(
        'There is no tool or prompt "weather.forecast".',
      );
      await bench.clock.advance(2_000);
      expect(far.attempts).toBe(2);
    });
  });

  verifies("N7", "NOT_FOUND says why a namespace never connected, and when it is tried again", async () => {
    const dead = new FakeConnector();
    dead.outcomes = [new Error("connect ECONNREFUSED"), "hang"];
    await bench.start({ weather: dead, near: new FakeConnector({ lists: { tool: tools("forecast") } }) });
    const error = await failure(bench.toolkit.lookup("weather.forecast"));
    expect(error).toMatchObject({ code: "NOT_FOUND", phase: "resolve" });
    expect(error.message).toContain("`weather` is not connected: connect ECONNREFUSED, next attempt in 2 s.");
    await bench.clock.advance(2_000 + 30_000);
    expect((await failure(bench.toolkit.lookup("weather.forecast"))).message).toContain(
      "`weather` is not connected: no answer from fake within 30000 ms, next attempt in 4 s.",
    );
    expect((await failure(bench.toolkit.lookup("forecats"))).message).toContain('Did you mean "near.forecast"?');
  });

  describe("log", () => {
    verifies("M10", "to the logger and to the sessions that are calling, and to no other", async () => {
      const far = new FakeConnector({ lists: { tool: tools("slow") } });
      await bench.start({ weather: far });
      const logged: Record<string, LogEntry[]> = { calling: [], other: [] };
      const session = (id: "calling" | "other"): Session => ({ id, log: (entry) => void logged[id]?.push(entry) });
      const answer = Promise.withResolvers<void>();
      far.answer = async () => {
        await answer.promise;
        return resource.text("answer", "done");
      };
      const calling = bench.toolkit.call("weather.slow", {}, { session: session("calling") });
      await settle();
      far.session.host.log({ level: "notice", logger: "disk", data: { free: 3 } });
      answer.resolve();
      await calling;
      // Later than a message that was on its way.
      await bench.clock.advance(250);
      far.session.host.log({ level: "critical", data: "after the call" });
      expect(logged).toEqual({
        calling: [{ level: "notice", logger: "weather/disk", data: { free: 3 } }],
        other: [],
      });
      expect(bench.logged.filter(({ message }) => message.startsWith("weather"))).toEqual([
        { level: "info", message: 'weather/disk: {"free":3}', details: { free: 3 } },
        { level: "error", message: "weather: after the call", details: undefined },
      ]);
    });

    verifies("M10", "a session whose log throws or rejects affects no other", async () => {
      const far = new FakeConnector({ lists: { tool: tools("slow") } });
      await bench.start({ weather: far });
      far.answer = async () => {
        far.session.host.log({ level: "info", data: "working" });
        return resource.text("answer", "done");
      };
      const logs: Session["log"][] = [
        () => {
          throw new Error("thrown");
        },
        () => Promise.reject(new Error("rejected")) as never,
      ];
      for (const [index, log] of logs.entries()) {
        const session = { id: String(index), log } as Session;
        expect(await (await bench.toolkit.call("weather.slow", {}, { session })).text()).toBe("done");
      }
      await settle();
      expect(bench.errors()).toEqual(["The log of session 0 failed: thrown", "The log of session 1 failed: rejected"]);
    });

    verifies("M10", "progress restarts the limit of a call, and reaches the caller", async () => {
      const far = new FakeConnector({ lists: { tool: tools("slow") } });
      bench.toolkit.addConnector(far, { namespace: "weather", timeoutMs: 1_000 });
      await bench.start();
      const done = Promise.withResolvers<void>();
      const reports: unknown[] = [];
      let report: (progress: number) => void = () => undefined;
      far.answer = async (_name, _input, context) => {
        report = (progress) => void context.progress(progress, 3, "working");
        await done.promise;
        return resource.text("answer", "done");
      };
      const calling = bench.toolkit.call("weather.slow", {}, { onProgress: (progress) => void reports.push(progress) });
      for (let step = 1; step <= 3; step++) {
        await bench.clock.advance(900);
        report(step);
      }
      await bench.clock.advance(900);
      done.resolve();
      expect(await (await calling).text()).toBe("done");
      expect(reports.at(-1)).toEqual({ progress: 3, total: 3, message: "working" });
      far.answer = () => new Promise(() => undefined);
      const hanging = failure(bench.toolkit.call("weather.slow"));
      await bench.clock.advance(1_001);
      expect((await hanging).details).toMatchObject({ limit: "inactivity", limitMs: 1_000 });
    });

    verifies("M10", "_meta is what the session and the call say", async () => {
      const far = new FakeConnector({ lists: { tool: tools("t") } });
      await bench.start({ weather: far });
      let meta: unknown;
      far.answer = async (_name, _input, context) => {
        meta = context.meta;
        return resource.text("answer", "done");
      };
      const session = { id: "s", meta: { a: 1, b: 1 } };
      await bench.toolkit.call("weather.t", {}, { session, meta: { b: 2 } });
      expect(meta).toEqual({ a: 1, b: 2 });
    });
  });
});

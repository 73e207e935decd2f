import { afterEach, beforeEach, describe, expect } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import type { DescriptorList } from "../../src/core/connector.ts";
import type { Kind } from "../../src/core/item.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";
import { Bench } from "./support.ts";

const prompts = [{ name: "brief" }];
const resources = [{ name: "map", uri: "memo://map" }];
const templates = [{ name: "city", uriTemplate: "memo://city/{name}" }];

/** A list that is given when the test opens it. */
function held<T>(items: readonly T[]) {
  const gate = Promise.withResolvers<void>();
  const list = async (): Promise<DescriptorList<Kind>> => {
    await gate.promise;
    return { items, warnings: [] } as unknown as DescriptorList<Kind>;
  };
  return { list: list as never, open: () => gate.resolve() };
}

/** True where a promise has settled when all that is ready has happened. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = () => {
    settled = true;
  };
  promise.then(note, note);
  await settle();
  return settled;
}

describe("tools come first", () => {
  let bench: Bench;
  let far: FakeConnector;
  let connection: Connection;

  beforeEach(() => {
    bench = new Bench();
    far = new FakeConnector({ lists: { tool: tools("forecast"), prompt: prompts, resource: resources } });
    far.lists.template = templates;
  });
  afterEach(async () => {
    const closing = bench.toolkit.close().catch(() => undefined);
    await bench.clock.advance(5_000);
    await closing;
    await settle();
    expect(bench.errors()).toEqual([]);
    expect(bench.clock.timers).toBeLessThanOrEqual(1);
    expect(bench.clock.keptAlive).toBe(0);
  });
  const start = async (options = {}) => {
    connection = bench.toolkit.addConnector(far, { namespace: "weather", ...options });
    await bench.start();
  };
  const names = (kind: Kind) => connection.list(kind).map(({ name }) => name);

  verifies(["M4", "M13"], "a list that hangs delays what reads its kind alone", async () => {
    const { list, open } = held(prompts);
    far.lists.prompt = list;
    await start();
    expect(connection.state).toBe("connected");
    await bench.toolkit.call("weather.forecast");
    expect((await bench.toolkit.list({ kind: ["tool", "resource", "template"] })).failures).toEqual([]);
    expect((await bench.toolkit.lookup("forecast", { kind: "tool" })).ref).toBe("weather.forecast");
    expect((await bench.toolkit.lookup("memo://city/oslo", { kind: "resource" })).name).toBe("city");
    expect(connection.warnings).toEqual(["`weather` has not listed its prompts yet."]);
    expect((await bench.toolkit.explain("brief")).unsettled).toEqual(["weather"]);
    const waits = [
      bench.toolkit.list().then(({ count }) => count),
      bench.toolkit.lookup("brief").then(({ ref }) => ref),
      bench.toolkit.render("weather.brief").then(() => "rendered"),
      connection.ready().then(() => "ready"),
    ];
    for (const wait of waits) expect(await isSettled(wait)).toBe(false);
    open();
    expect(await Promise.all(waits)).toEqual([3, "weather.brief", "rendered", "ready"]);
    expect(connection.warnings).toEqual([]);
    expect(far.reads).toEqual({ tool: 1, prompt: 1, resource: 1, template: 1 });
  });

  verifies("M4", "lookups wait as long as a start may last, and say what is missing", async () => {
    far.lists.prompt = held(prompts).list;
    await start();
    const listing = bench.toolkit.list();
    const finding = failure(bench.toolkit.lookup("brief"));
    const rendering = failure(bench.toolkit.render("weather.brief"));
    await bench.clock.advance(10_000);
    const { count, failures } = await listing;
    expect(count).toBe(2);
    expect(failures.map(({ error }) => [error.code, error.message])).toEqual([
      ["UNAVAILABLE", "`weather` has not listed its prompts yet."],
    ]);
    expect(await finding).toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("not listed its prompts"),
    });
    expect(await isSettled(rendering)).toBe(false);
    // The time limit of a list is that of an attempt to connect.
    await bench.clock.advance(20_000);
    expect(await rendering).toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("did not list its prompts"),
    });
    expect((await bench.toolkit.list()).failures.map(({ error }) => error.code)).toEqual(["REMOTE_ERROR"]);
    expect(connection.state).toBe("connected");
  });

  verifies("M6", "a list that fails is a failure of its kind, and is tried again", async () => {
    far.lists.prompt = new Error("out of order");
    await start();
    const { count, failures } = await bench.toolkit.list();
    expect([count, failures.length, failures[0]?.error.message]).toEqual([
      2,
      1,
      "fake did not list its prompts: out of order",
    ]);
    far.lists.prompt = prompts;
    await bench.clock.advance(61_000);
    expect(await bench.toolkit.list()).toMatchObject({ count: 3, failures: [] });
  });

  verifies("M6", "failures are those of the kinds that are listed or looked up", async () => {
    far.lists = { ...far.lists, prompt: new Error("out of order"), template: new Error("worn out") };
    await start();
    await connection.ready();
    const failing = async (kind?: Kind) => {
      const { failures } = await bench.toolkit.list({ kind });
      return failures.map(({ error }) => error.message);
    };
    expect(await failing("tool")).toEqual([]);
    expect(await failing("resource")).toEqual([]);
    expect(await failing()).toEqual(["fake did not list its prompts: out of order"]);
    expect(await failing("template")).toEqual(["fake did not list its templates: worn out"]);
    const { message } = await failure(bench.toolkit.lookup("weather.radar", { kind: "tool" }));
    expect(message).toBe('There is no tool "weather.radar".');
    // A template may have made it.
    const { message: ofUri } = await failure(bench.toolkit.lookup("memo://city/oslo", { kind: "resource" }));
    expect(ofUri).toBe('There is no resource "memo://city/oslo". fake did not list its templates: worn out');
  });

  verifies("M4", "a URI is not known to be missing while templates that may make it were never listed", async () => {
    far.lists.template = held(templates).list;
    await start();
    const finding = failure(bench.toolkit.lookup("memo://city/oslo"));
    const reading = failure(bench.toolkit.read("memo://city/oslo"));
    await bench.clock.advance(10_000);
    expect(await finding).toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("`weather` has not listed its templates yet."),
    });
    expect(await isSettled(reading)).toBe(false);
    far.outcomes = ["hang"];
    far.session.lose();
    expect(await reading).toMatchObject({ code: "UNAVAILABLE" });
  });

  verifies("M4", "after a reconnect a list that replaces an empty one is waited for as the first", async () => {
    const { prompt: _, ...without } = far.lists;
    for (const prompt of [undefined, [], new Error("out of order")]) {
      const lists = { ...without, ...(prompt && { prompt }) };
      far = new FakeConnector({ lists });
      connection = bench.toolkit.addConnector(far, { namespace: "weather" });
      await bench.start();
      await connection.ready();
      const { list, open } = held(prompts);
      far.lists = { ...without, prompt: list };
      far.session.lose();
      await settle();
      expect(connection.state).toBe("connected");
      const waits = [
        bench.toolkit.list({ kind: "prompt" }).then(({ count, failures }) => [count, failures.length]),
        bench.toolkit.render("weather.brief").then(() => "rendered"),
      ];
      for (const wait of waits) expect(await isSettled(wait)).toBe(false);
      open();
      expect(await Promise.all(waits)).toEqual([[1, 0], "rendered"]);
      await bench.toolkit.removeConnector("weather");
    }
  });

  verifies(
    "M6",
    "what is announced before a list is asked for is in it, and what is announced later read once more",
    async () => {
      const other = new FakeConnector({ label: "slow", lists: { tool: held([]).list } });
      const { list, open } = held(prompts);
      far.lists.prompt = list;
      bench.toolkit.addConnector(other, { namespace: "slow" });
      const starting = start();
      await settle();
      const { host } = far.session;
      host.changed({ kind: "prompt" });
      expect(far.reads).toEqual({ tool: 1, prompt: 0, resource: 0, template: 0 });
      // The other connection still has no tools: it is not waited for longer than this.
      await bench.clock.advance(250);
      expect(far.reads.prompt).toBe(1);
      open();
      await bench.clock.advance(1_000);
      expect(far.reads.prompt).toBe(1);
      const again = held(prompts);
      far.lists.prompt = again.list;
      far.session.lose();
      await settle();
      far.session.host.changed({ kind: "prompt" });
      await bench.clock.advance(1_000);
      expect(far.reads.prompt).toBe(2);
      again.open();
      await bench.clock.advance(1_000);
      expect(far.reads).toEqual({ tool: 2, prompt: 3, resource: 2, template: 2 });
      await bench.clock.advance(10_000);
      await starting;
    },
  );

  verifies("M4", "the lists that wait for other connections are read as soon as they are asked for", async () => {
    bench.toolkit.addConnector(new FakeConnector({ label: "slow", lists: { tool: held([]).list } }), {
      namespace: "slow",
    });
    const starting = start();
    await settle();
    expect(far.reads.prompt).toBe(0);
    expect(await bench.toolkit.list({ kind: "prompt" })).toMatchObject({ count: 1 });
    await bench.clock.advance(10_000);
    await starting;
  });

  verifies(["M5", "M6"], "a generation that ends while it lists changes nothing any more", async () => {
    const late = held([{ name: "old" }]);
    far.lists.prompt = late.list;
    await start();
    far.outcomes = ["hang"];
    const rendering = failure(bench.toolkit.render("weather.brief", {}, { timeoutMs: 1_000 }));
    const listing = bench.toolkit.list();
    far.session.lose();
    await settle();
    expect((await listing).failures[0]?.error.message).toContain("is not connected: gone");
    // It is not known to be missing.
    expect(await rendering).toMatchObject({ code: "UNAVAILABLE" });
    late.open();
    await settle();
    expect(names("prompt")).toEqual([]);
    far.lists.prompt = prompts;
    connection.reconnect();
    await connection.ready();
    expect(names("prompt")).toEqual(["brief"]);
  });

  verifies("M6", "after a reconnect old items stay, as stale ones, until the new list is there", async () => {
    await start();
    await connection.ready();
    const { list, open } = held([{ name: "other" }]);
    far.lists = { ...far.lists, tool: tools("radar"), prompt: list };
    connection.reconnect();
    await settle();
    expect(connection.state).toBe("connected");
    expect([names("tool"), names("prompt")]).toEqual([["radar"], ["brief"]]);
    const { entries } = await bench.toolkit.list({ kind: ["tool", "prompt", "resource"] });
    expect(entries.map(({ name, stale }) => [name, stale])).toEqual([
      ["radar", false],
      ["brief", true],
      ["map", false],
    ]);
    const ready = connection.ready();
    expect(await isSettled(ready)).toBe(false);
    open();
    await ready;
    expect(names("prompt")).toEqual(["other"]);
  });

  verifies("M9", "closing while it lists ends everything", async () => {
    far.lists.prompt = held(prompts).list;
    await start();
    const waits = [failure(bench.toolkit.list()), failure(bench.toolkit.lookup("brief")), failure(connection.ready())];
    await settle();
    await bench.toolkit.close();
    expect((await Promise.all(waits)).map(({ code }) => code)).toEqual(["CLOSED", "CLOSED", "CLOSED"]);
    expect(far.open).toBe(0);
  });

  verifies("M4", "a list that starts a lazy connector waits for all that it gives", async () => {
    const { list, open } = held(prompts);
    far.lists.prompt = list;
    await start({ lazy: true });
    expect(connection.state).toBe("idle");
    const listing = bench.toolkit.list();
    expect(await isSettled(listing)).toBe(false);
    expect(connection.state).toBe("connected");
    open();
    expect(await listing).toMatchObject({ count: 3, failures: [] });
  });

  verifies("M4", "whatever needs a lazy connector waits for it, and not only what came first", async () => {
    await start({ lazy: true });
    const { toolkit } = bench;
    const [first, listed, found, prompt] = await Promise.all([
      toolkit.lookup("weather.forecast"),
      toolkit.list({ kind: "tool" }),
      toolkit.lookup("forecast"),
      toolkit.lookup("weather.brief"),
    ]);
    expect([first.ref, found.ref, prompt.ref]).toEqual(["weather.forecast", "weather.forecast", "weather.brief"]);
    expect(listed).toMatchObject({ count: 1, failures: [] });
    expect(far.attempts).toBe(1);
  });

  verifies("M4", "a lazy connector that does not connect is waited for once", async () => {
    far.outcomes = ["hang"];
    await start({ lazy: true });
    const waits = [bench.toolkit.list(), bench.toolkit.list()];
    for (const wait of waits) expect(await isSettled(wait)).toBe(false);
    await bench.clock.advance(10_000);
    for (const { failures } of await Promise.all(waits)) expect(failures).toHaveLength(1);
    expect(connection.state).toBe("connecting");
    expect((await bench.toolkit.list()).failures).toHaveLength(1);
  });

  verifies("M13", "where something is pinned all lists are compared together", async () => {
    const { list, open } = held(prompts);
    far.lists.prompt = list;
    const starting = start({ pins: true });
    expect(await isSettled(starting)).toBe(false);
    expect(connection.state).toBe("connecting");
    open();
    await starting;
    expect(connection.counts).toEqual({ tool: 1, prompt: 1, resource: 1, template: 1 });
  });

  describe("with rules that choose by bare names", () => {
    /** A server whose prompts may have the name of the tool of a later one. */
    const rival = () => {
      const { list, open } = held([{ name: "forecast" }]);
      return { open, connector: new FakeConnector({ label: "rival", lists: { tool: [], prompt: list } }) };
    };

    verifies("N10", "a view waits for what may have the names it shows", async () => {
      const { connector, open } = rival();
      bench.toolkit.addConnector(connector, { namespace: "rival" });
      await start();
      const view = bench.toolkit.view({ include: ["forecast", "map"] });
      const waits = [view.list({ kind: "tool" }), failure(view.call("weather.forecast"))];
      for (const wait of waits) expect(await isSettled(wait)).toBe(false);
      expect((await bench.toolkit.view({ include: ["weather.*"] }).list({ kind: "tool" })).count).toBe(1);
      open();
      // The name means the prompt of the server that comes first.
      expect(await waits[0]).toMatchObject({ count: 0 });
      expect(await waits[1]).toMatchObject({ code: "NOT_FOUND" });
    });

    verifies("N10", "a policy that allows one is asked when everything is listed", async () => {
      bench = new Bench({ policy: { allow: ["forecast", "weather.*"] } });
      const { connector, open } = rival();
      bench.toolkit.addConnector(connector, { namespace: "rival" });
      const starting = start();
      expect(await isSettled(starting)).toBe(false);
      open();
      await starting;
      expect(await bench.toolkit.call("weather.forecast")).toBeDefined();
    });

    verifies("N10", "names in rules are checked when prompts and resources are listed", async () => {
      bench = new Bench({ policy: { block: ["brief", "bried"] } });
      const { list, open } = held(prompts);
      far.lists.prompt = list;
      await start();
      expect(bench.warnings()).toEqual([]);
      open();
      await settle();
      expect(bench.warnings()).toEqual([
        'policy.block names "bried", and no item has that name now: it does nothing. Did you mean "weather.brief"?',
      ]);
    });

    verifies("M13", "allow of a connector warns when everything is listed", async () => {
      const { list, open } = held(prompts);
      far.lists.prompt = list;
      await start({ allow: ["forecast", "brief", "nothing"] });
      expect(bench.warnings()).toEqual([]);
      open();
      await settle();
      expect(connection.warnings).toEqual([expect.stringContaining('allow names "nothing"')]);
    });
  });
});

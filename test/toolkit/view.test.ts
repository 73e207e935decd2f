import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { Host } from "../../src/core/host.ts";
import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { Bench } from "../connection/support.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string) => defineTool({ name, run: () => name });

describe("a view", () => {
  let bench: Bench;
  let weather: FakeConnector;
  let secrets: FakeConnector;
  let view: Host;
  let events: ToolkitEvent[];

  beforeEach(async () => {
    bench = new Bench();
    weather = new FakeConnector({
      lists: {
        tool: tools("forecast", "admin"),
        resource: [{ name: "map", uri: "memo://map" }],
        template: [{ name: "city", uriTemplate: "memo://city/{name}" }],
      },
    });
    secrets = new FakeConnector({
      lists: { tool: tools("forecast", "leak"), resource: [{ name: "key", uri: "memo://key" }] },
    });
    bench.toolkit.add(
      tool("open"),
      tool("shut"),
      defineTool({ name: "nested", run: (_input, { toolbox }) => toolbox.call("secrets.leak") }),
    );
    await bench.start({ secrets, weather });
    view = bench.toolkit.view({
      include: ["builtin.*", "weather.*", "*#weather"],
      exclude: ["builtin.shut", "weather.admin"],
    });
    events = [];
    view.on("*", (event) => void events.push(event));
  });
  afterEach(() => bench.toolkit.close());

  verifies("T1", "lists and counts only what it shows, page by page", async () => {
    const { entries, count } = await view.list();
    expect(entries.map(({ ref }) => ref)).toEqual([
      "builtin.nested",
      "builtin.open",
      "weather.forecast",
      "memo://map#weather",
    ]);
    expect(count).toBe(4);
    const page = await view.list({ offset: 2, limit: 1 });
    expect([page.entries.map(({ ref }) => ref), page.count]).toEqual([["weather.forecast"], 4]);
  });

  verifies("T1", "finds what it shows behind what it hides, and names nothing that it hides", async () => {
    expect((await bench.toolkit.lookup("forecast")).ref).toBe("secrets.forecast");
    expect((await view.lookup("forecast")).ref).toBe("weather.forecast");
    for (const key of ["secrets.leak", "leak", "weather.admin", "shut", "memo://key"]) {
      const error = await failure(view.lookup(key));
      expect(error.code).toBe("NOT_FOUND");
      // Nothing but what was asked for.
      expect(JSON.stringify([error.message, error.details]).replaceAll(key, "")).not.toMatch(
        /leak|secrets|admin|shut|key:/,
      );
    }
    expect((await view.lookup("memo://city/Bern")).ref).toBe("memo://city/Bern#weather");
    expect(await (await view.call("open")).text()).toBe("open");
    expect((await failure(view.call("builtin.shut"))).code).toBe("NOT_FOUND");
    expect(await (await view.read("memo://map")).text()).toContain("memo://map");
    expect((await failure(view.read("memo://key"))).code).toBe("NOT_FOUND");
  });

  verifies("T1", "holds for an entry that was found elsewhere, and for what its tools call themselves", async () => {
    const hidden = await bench.toolkit.lookup("secrets.leak", { kind: "tool" });
    expect((await failure(view.call(hidden))).code).toBe("NOT_FOUND");
    expect((await failure(view.call("nested"))).code).toBe("TOOL_FAILED");
    expect(await (await bench.toolkit.call("nested")).json()).toMatchObject({ name: "leak" });
  });

  verifies(["T1", "E2"], "tells what changes of what it shows, and nothing else", async () => {
    bench.toolkit.add(tool("later"));
    bench.toolkit.remove("shut");
    weather.lists = { ...weather.lists, tool: tools("forecast", "admin2", "alerts") };
    secrets.lists = { tool: tools("more") };
    weather.session.host.changed({ kind: "tool" });
    secrets.session.host.changed({ kind: "tool" });
    await bench.clock.advance(100);
    secrets.session.lose();
    weather.session.host.changed({ kind: "resource", uri: "memo://map" });
    secrets.session.host.changed({ kind: "resource", uri: "memo://key" });
    await settle();
    await bench.toolkit.call("shut2").catch(() => undefined);
    await bench.toolkit.call("open");
    const told = events.map((event) =>
      event.type === "toolListChanged" ? [event.namespace, event.added, event.removed] : event.type,
    );
    expect(told).toEqual([
      ["builtin", ["builtin.later"], []],
      ["weather", ["weather.admin2", "weather.alerts"], []],
      "resourceUpdated",
      "callStarted",
      "callFinished",
    ]);
    expect((await view.lookup("later")).ref).toBe("builtin.later");
  });

  verifies("L3", "tells of the failures of the namespaces it shows alone", async () => {
    for (const far of [weather, secrets]) {
      far.outcomes = [new Error("down")];
      far.session.lose();
    }
    await settle();
    expect((await bench.toolkit.list()).failures.map(({ namespace }) => namespace)).toEqual(["secrets", "weather"]);
    expect((await view.list()).failures.map(({ namespace }) => namespace)).toEqual(["weather"]);
  });

  verifies(
    ["T1", "C9"],
    "is answered with nothing that was kept for those who see more, and keeps nothing for them",
    async () => {
      const proxy = defineTool({
        name: "proxy",
        options: { cache: { ttlMs: 60_000 } },
        run: async (_input, { toolbox }) => (await toolbox.call("hid")).text(),
      });
      await using toolkit = new Toolkit({ items: [proxy, tool("hid")] });
      expect(await (await toolkit.call("proxy")).text()).toBe("hid");
      expect((await failure(toolkit.view({ exclude: ["hid"] }).call("proxy"))).code).toBe("TOOL_FAILED");
    },
  );

  test("without include it shows everything but what is excluded", async () => {
    const most = bench.toolkit.view({ exclude: ["secrets.*", "*#secrets"] });
    expect((await most.list()).count).toBe(6);
    await using other = new Toolkit({ items: [resource.text("note", "hi")] });
    expect((await other.view({}).list()).count).toBe(1);
  });

  verifies("T1", "excludes and includes builtins by their bare names, live", async () => {
    const all = bench.toolkit.view({ exclude: ["shut", "later"] });
    const one = bench.toolkit.view({ include: ["open"] });
    bench.toolkit.add(tool("later"));
    const refs = async (host: Host) =>
      (await host.list({ kind: "tool", namespace: "builtin" })).entries.map(({ ref }) => ref);
    expect(await refs(all)).toEqual(["builtin.nested", "builtin.open"]);
    expect(await refs(one)).toEqual(["builtin.open"]);
    for (const name of ["shut", "later"]) expect((await failure(all.call(name))).code).toBe("NOT_FOUND");
  });

  verifies("T1", "a tool it hides cannot be called by its object, one that is not registered can", async () => {
    const hidden = tool("hidden");
    const own = tool("own");
    const host = bench.toolkit.view({ exclude: ["hidden"] });
    // Known as an inline tool from before.
    expect(await (await host.call(hidden)).text()).toBe("hidden");
    bench.toolkit.add(hidden);
    const error = await failure(host.call(hidden));
    expect([error.code, error.phase]).toEqual(["NOT_FOUND", "resolve"]);
    expect(await (await bench.toolkit.call(hidden)).text()).toBe("hidden");
    expect(await (await host.call(own)).text()).toBe("own");
  });

  verifies(["N10", "T1"], "a bare name shows what lookup finds, and hides in every namespace", async () => {
    const refs = async (host: Host) => (await host.list()).entries.map(({ ref }) => ref);
    expect(await refs(bench.toolkit.view({ include: ["forecast", "open", "memo://map"] }))).toEqual([
      "builtin.open",
      "secrets.forecast",
      "memo://map#weather",
    ]);
    expect(
      await refs(bench.toolkit.view({ include: ["weather.*", "*#weather"], exclude: ["forecast", "map"] })),
    ).toEqual(["weather.admin"]);
    expect(await refs(bench.toolkit.view({ include: ["s*"] }))).toEqual(["builtin.shut"]);
  });

  verifies(["N10", "T1", "E2"], "a bare name follows what lookup finds, and so do its events", async () => {
    const one = bench.toolkit.view({ include: ["forecast"] });
    const heard: unknown[] = [];
    one.on("toolListChanged", ({ added, removed }) => void heard.push([added, removed]));
    const found = async () => (await one.list()).entries.map(({ ref }) => ref);
    expect(await found()).toEqual(["secrets.forecast"]);
    bench.toolkit.add(tool("forecast"));
    expect(await found()).toEqual(["builtin.forecast"]);
    await settle();
    // Hidden when it goes: nobody who sees this view knows of it.
    weather.lists = { ...weather.lists, tool: tools("admin") };
    weather.session.host.changed({ kind: "tool" });
    await bench.clock.advance(100);
    bench.toolkit.remove("forecast");
    expect(await found()).toEqual(["secrets.forecast"]);
    await settle();
    await bench.toolkit.removeConnector("secrets");
    await settle();
    expect([await found(), heard]).toEqual([
      [],
      [
        [["builtin.forecast"], []],
        [[], ["builtin.forecast"]],
        [[], ["secrets.forecast"]],
      ],
    ]);
  });

  verifies(["N10", "E2"], "a resource that is hidden by its name is told of by no event", async () => {
    const most = bench.toolkit.view({ exclude: ["key", "city"] });
    const heard: ToolkitEvent[] = [];
    most.on("*", (event) => void heard.push(event));
    secrets.session.host.changed({ kind: "resource", uri: "memo://key" });
    weather.session.host.changed({ kind: "resource", uri: "memo://city/Bern" });
    secrets.lists = { ...secrets.lists, resource: [{ name: "other", uri: "memo://other" }] };
    secrets.session.host.changed({ kind: "resource" });
    await bench.clock.advance(100);
    await bench.toolkit.read("memo://city/Bern");
    expect(heard).toMatchObject([{ type: "resourceListChanged", added: ["memo://other#secrets"], removed: [] }]);
    expect(heard).toHaveLength(1);
    expect((await failure(most.read("memo://city/Bern"))).code).toBe("NOT_FOUND");
  });

  verifies(["N10", "T1"], "hides a URI however it is written, in lookups and reads", async () => {
    const most = bench.toolkit.view({ exclude: ["MEMO://map", "memo://city/Bern#weather"] });
    for (const uri of ["memo://map", "MEMO://map", "memo://map#weather", "memo://city/Bern", "memo://city/%42ern"])
      expect((await failure(most.read(uri))).code, uri).toBe("NOT_FOUND");
    expect(await (await most.read("memo://city/Bonn")).text()).toContain("memo://city/Bonn");
  });

  verifies(["N10", "L3"], "tells of the failures of the namespaces a rule may mean", async () => {
    for (const far of [weather, secrets]) {
      far.outcomes = [new Error("down")];
      far.session.lose();
    }
    await settle();
    const failing = async (include: string[]) =>
      (await bench.toolkit.view({ include }).list()).failures.map(({ namespace }) => namespace);
    expect(await failing(["weather.forecast"])).toEqual(["weather"]);
    expect(await failing(["leak"])).toEqual(["secrets"]);
    expect(await failing(["w*"])).toEqual([]);
    expect(await failing(["w*.*"])).toEqual(["weather"]);
    expect(await failing(["memo://*"])).toEqual(["secrets", "weather"]);
    expect(await failing(["memo://map#weather"])).toEqual(["weather"]);
    expect(await failing(["*"])).toEqual(["secrets", "weather"]);
  });

  for (const list of ["include", "exclude"] as const) {
    verifies("N10", `an empty text in its ${list} is refused`, async () => {
      const error = await failure((async () => bench.toolkit.view({ [list]: [""] }))());
      expect(error).toMatchObject({ code: "INVALID_CONFIG", details: { path: list } });
    });
  }
});

import { afterEach, describe, expect } from "vitest";
import type { CallSettings } from "../../src/core/call-settings.ts";
import type { Policy } from "../../src/core/policy.ts";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Bench } from "../connection/support.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

/** Spellings of file:///secret, as somebody writes them who wants to get around a rule. */
const spellings = [
  "file:///secret",
  "FILE:///secret",
  "file:///%73ecret",
  "file:///a/../secret",
  "file:///a/%2E%2e/secret",
  "file:////secret",
  "file:///a//../secret",
  "file:///a%2F..%2Fsecret",
  "file:///%2Fsecret",
  "file:///a\\..\\secret",
  "file:///sec\tret",
  "file:///secret ",
  "file:///secret#part",
  "file:///secret?x",
  "file:/secret",
  "file://localhost/secret",
];

describe("names in the rules of a toolkit", () => {
  const made: Bench[] = [];
  const wipe = defineTool({ name: "wipe", run: () => "gone" });
  const far = () => new FakeConnector({ lists: { tool: tools("wipe", "list", "b.secret", "a.b") } });
  const files = () =>
    new FakeConnector({
      lists: {
        resource: [
          { name: "key", uri: "file:///listed" },
          { name: "other", uri: "file:///pub/readme" },
        ],
        template: [{ name: "anything", uriTemplate: "file:///{+path}" }],
      },
    });

  const benchWith = async (options: ToolkitOptions, ...others: string[]) => {
    const bench = new Bench({ items: [wipe], ...options });
    made.push(bench);
    await bench.start({ b: new FakeConnector({ lists: { tool: tools("secret", "wipe") } }), c: far(), files: files() });
    for (const name of others) bench.toolkit.addConnector(far(), { namespace: name });
    return bench;
  };
  const withPolicy = async (policy: Policy) => (await benchWith({ policy })).toolkit;
  const codes = (policy: Policy, keys: readonly string[]) =>
    withPolicy(policy).then((toolkit) =>
      Promise.all(
        keys.map((key) =>
          toolkit.call(key).then(
            () => "ok",
            (error) => error.code,
          ),
        ),
      ),
    );
  afterEach(() => Promise.all(made.splice(0).map(({ toolkit }) => toolkit.close())));

  verifies("N10", "block a name in every namespace, and a name with dots as well as a ref", async () => {
    expect(await codes({ block: ["wipe"] }, ["wipe", "b.wipe", "c.wipe", "c.list"])).toEqual([
      "DENIED",
      "DENIED",
      "DENIED",
      "ok",
    ]);
    expect(await codes({ block: ["c.wipe"] }, ["wipe", "b.wipe", "c.wipe"])).toEqual(["ok", "ok", "DENIED"]);
    expect(await codes({ block: ["b.secret"] }, ["b.secret", "c.b.secret", "b.wipe"])).toEqual([
      "DENIED",
      "DENIED",
      "ok",
    ]);
    expect(await codes({ block: ["b.*"] }, ["b.secret", "c.b.secret", "b.wipe", "wipe"])).toEqual([
      "DENIED",
      "DENIED",
      "DENIED",
      "ok",
    ]);
    expect(await codes({ block: ["a.b"] }, ["c.a.b", "c.list"])).toEqual(["DENIED", "ok"]);
  });

  verifies("N10", "go on to refuse after a connector is gone, and when it comes again", async () => {
    const toolkit = await withPolicy({ block: ["b.*"] });
    await toolkit.removeConnector("b");
    expect((await failure(toolkit.call("c.b.secret"))).code).toBe("DENIED");
    await toolkit.addConnector(new FakeConnector({ lists: { tool: tools("secret") } }), { namespace: "b" }).ready();
    expect((await failure(toolkit.call("b.secret"))).code).toBe("DENIED");
  });

  verifies("N10", "allow what lookup finds, and nothing of the same name elsewhere", async () => {
    expect(await codes({ allow: ["wipe"] }, ["wipe", "b.wipe", "c.wipe"])).toEqual(["ok", "DENIED", "DENIED"]);
    expect(await codes({ allow: ["secret", "list"] }, ["b.secret", "secret", "c.list", "c.b.secret"])).toEqual([
      "ok",
      "ok",
      "ok",
      "DENIED",
    ]);
    expect(await codes({ allow: ["a.b", "b.*"] }, ["c.a.b", "b.wipe", "c.b.secret"])).toEqual(["ok", "ok", "DENIED"]);
    expect(await codes({ allow: ["w*"] }, ["wipe", "b.wipe"])).toEqual(["ok", "DENIED"]);
  });

  verifies("N10", "follow what lookup finds as builtins and connectors come and go", async () => {
    const { toolkit } = await benchWith({ policy: { allow: ["wipe", "list"] } }, "late");
    await toolkit.call("wipe");
    toolkit.remove("wipe");
    expect([await (await toolkit.call("b.wipe")).json(), (await failure(toolkit.call("c.wipe"))).code]).toMatchObject([
      { name: "wipe" },
      "DENIED",
    ]);
    toolkit.add(wipe);
    expect((await failure(toolkit.call("b.wipe"))).details).toEqual({ rule: "allow wipe, list" });
    await toolkit.call("builtin.wipe");
    expect((await failure(toolkit.call("late.list"))).code).toBe("DENIED");
  });

  for (const uri of spellings) {
    verifies("N10", `a rule on file:///secret is not passed by ${JSON.stringify(uri)}`, async () => {
      for (const rule of [
        "file:///secret",
        "file:///secret#files",
        "FILE:///x/../secret",
        "file:///sec*",
        "anything",
        "*#files",
      ]) {
        const error = await failure((await withPolicy({ block: [rule] })).read(uri));
        // A URI that no template covers is not found.
        expect(["DENIED", "NOT_FOUND"], `${rule}: ${error.code}`).toContain(error.code);
      }
      const open = await withPolicy({ allow: ["file:///pub/*"] });
      expect(["DENIED", "NOT_FOUND"]).toContain(
        (await failure(open.read(uri.replace("file:///", "file:///pub/../")))).code,
      );
    });
  }

  verifies("N10", "a read finds what the normal form finds, and asks the server for what was found", async () => {
    const toolkit = await withPolicy({});
    const read = async (uri: string) => (await (await toolkit.read(uri)).text()).replace(" of session 1", "");
    for (const uri of [
      "FILE:///listed",
      "file:////listed",
      "file:///x/../listed",
      "file:///%6Cisted",
      "FILE:///listed#files",
    ])
      expect(await read(uri)).toBe("file:///listed");
    expect(await read("FILE:///x/./y/../%7Ez")).toBe("file:///x/~z");
    expect(await read("file:///get/https://example.com/x")).toBe("file:///get/https://example.com/x");
    expect((await toolkit.lookup("FILE:///made", { kind: "resource" })).ref).toBe("file:///made#files");
  });

  verifies("N10", "what decides sees the URI that is asked for", async () => {
    const seen: string[] = [];
    const toolkit = await withPolicy({ decide: ({ entry }) => seen.push(entry.ref) > 0 });
    await toolkit.read("FILE:///a/../%62");
    expect(seen).toEqual(["file:///b#files"]);
  });

  verifies("N10", "allow a URI by itself, in the namespace where lookup finds it", async () => {
    const note = resource.text("note", "hi");
    const { toolkit } = await benchWith({ items: [wipe, note], policy: { allow: ["text:note", "file:///pub/*"] } });
    expect(await (await toolkit.read("TEXT:note")).text()).toBe("hi");
    expect(await (await toolkit.read("file:///pub/readme")).text()).toContain("file:///pub/readme");
    expect((await failure(toolkit.read("file:///listed"))).code).toBe("DENIED");
  });

  verifies(["N10", "C2"], "settings are for a name in every namespace", async () => {
    const settings: Record<string, CallSettings> = {
      wipe: { needsApproval: true },
      "b.secret": { rateLimit: { calls: 1, perMs: 1_000 } },
    };
    const { toolkit } = await benchWith({ settings });
    for (const key of ["wipe", "b.wipe", "c.wipe"]) expect((await failure(toolkit.call(key))).code).toBe("PENDING");
    await toolkit.call("c.list");
    await toolkit.call("b.secret");
    expect((await failure(toolkit.call("c.b.secret"))).code).toBe("RATE_LIMITED");
  });

  const empty: readonly (readonly [options: ToolkitOptions, path: string])[] = [
    [{ policy: { block: [""] } }, "policy.block"],
    [{ policy: { allow: ["a", ""] } }, "policy.allow"],
    [{ settings: { "": {} } }, 'settings[""]'],
  ];
  for (const [options, path] of empty) {
    verifies("N10", `an empty text in ${path} is refused`, async () => {
      const error = await failure((async () => new Bench(options))());
      expect(error).toMatchObject({ code: "INVALID_CONFIG", details: { path } });
    });
  }
});

describe("names in rules that nothing has", () => {
  const warned: Bench[] = [];
  const benchOf = (options: ToolkitOptions) => {
    const bench = new Bench({ items: [defineTool({ name: "wipe", run: () => "gone" })], ...options });
    warned.push(bench);
    return bench;
  };
  afterEach(() => Promise.all(warned.splice(0).map(({ toolkit }) => toolkit.close())));

  verifies("N10", "are reported once after start, with near matches; globs may fit nothing", async () => {
    const bench = benchOf({
      policy: { block: ["wpie", "gone.*", "wipe"], allow: ["*", "wip"] },
      settings: { wiep: { coerce: true }, "builtin.wipe": {}, "x*": {} },
    });
    expect(bench.warnings()).toEqual([]);
    await bench.start();
    await bench.start();
    const meant = 'Did you mean "builtin.wipe"?';
    expect(bench.warnings()).toEqual([
      `policy.block names "wpie", and no item has that name now: it does nothing. ${meant}`,
      `policy.allow names "wip", and that finds nothing now: it does nothing. ${meant}`,
      `settings names "wiep", and no item has that name now: it does nothing. ${meant}`,
    ]);
    bench.toolkit.add(defineTool({ name: "wpie", run: () => "" }));
    await bench.start();
    expect(bench.warnings()).toHaveLength(3);
    expect((await failure(bench.toolkit.call("wpie"))).code).toBe("DENIED");
  });

  verifies("N10", "of a namespace that has not settled are reported when it has", async () => {
    const bench = benchOf({ policy: { block: ["lazy.a", "lazy.typo", "typo"] } });
    bench.toolkit.addConnector(new FakeConnector({ lists: { tool: tools("a") } }), { namespace: "lazy", lazy: true });
    await bench.start();
    expect(bench.warnings()).toEqual([
      'policy.block names "typo", and no item has that name now: it does nothing. Not connected: lazy (not asked for yet).',
    ]);
    await bench.toolkit.list({ namespace: "lazy" });
    await bench.clock.advance(0);
    expect(bench.warnings().slice(1)).toEqual([
      'policy.block names "lazy.typo", and no item has that name now: it does nothing.',
    ]);
  });

  verifies("N10", "of a namespace that is down say so", async () => {
    const bench = benchOf({ policy: { block: ["down.a"] } });
    const down = new FakeConnector({ lists: { tool: tools("a") } });
    down.outcomes = [new Error("ECONNREFUSED")];
    await bench.start({ down });
    expect(bench.warnings().filter((message) => message.startsWith("policy"))).toEqual([
      'policy.block names "down.a", and no item has that name now: it does nothing. Not connected: down (ECONNREFUSED).',
    ]);
  });

  verifies(
    "N10",
    "of a connector are reported once its lists are read, with the nearest name, and globs too",
    async () => {
      const bench = benchOf({});
      const resource = [{ name: "readme", uri: "file:///pub/readme" }];
      const far = new FakeConnector({ lists: { tool: tools("search", "fetch"), resource } });
      const allow = ["*", "serch", "fetch", "docs_*", "f*", "file:///pub/*", "file:///pub/raedme"];
      const connection = bench.toolkit.addConnector(far, { namespace: "far", allow });
      await bench.start();
      const problem =
        'allow names "serch", "docs_*", "file:///pub/raedme", and the server lists no such item: it allows nothing. ' +
        'Did you mean "search" or "file:///pub/readme"?';
      expect(bench.warnings()).toEqual([`far: ${problem}`]);
      expect(connection.warnings).toEqual([problem]);
      connection.reconnect();
      await connection.ready();
      expect(bench.warnings()).toHaveLength(1);
    },
  );

  verifies("N10", "of a connector wait for a list that cannot be read", async () => {
    const bench = benchOf({});
    const far = new FakeConnector({ lists: { tool: new Error("not now") } });
    const connection = bench.toolkit.addConnector(far, { namespace: "far", allow: ["search"] });
    await bench.start();
    expect([...bench.warnings(), ...connection.warnings].filter((each) => each.includes("allow"))).toEqual([]);
  });

  verifies("N10", "of views and toolsets are reported too, each once for all that are alike", async () => {
    const bench = benchOf({});
    const view = () => bench.toolkit.view({ include: ["wipe", "wpie"], exclude: ["wpie", "x.*"] });
    view();
    await bench.start();
    view();
    await bench.toolkit.toolset({ policy: { block: ["wpie", "wipe"] } });
    await bench.toolkit.toolset({ policy: { block: ["wpie"] } });
    expect(bench.warnings().map((message) => message.slice(0, message.indexOf(",")))).toEqual([
      'exclude of a view names "wpie"',
      'include of a view names "wpie"',
      'policy of a toolset.block names "wpie"',
    ]);
  });

  verifies("N10", "are not those of a template, of users, or of what is handed over", async () => {
    const bench = benchOf({
      policy: { block: ["file:///secret", "file:///secret#files", "anything", "user.mine", "inline.x"] },
    });
    const template = [{ name: "anything", uriTemplate: "file:///{+path}" }];
    await bench.start({ files: new FakeConnector({ lists: { template } }) });
    expect(bench.warnings()).toEqual([]);
  });

  verifies("N10", "are not reported of a toolkit that is closed: it has nothing any more", async () => {
    const bench = benchOf({ policy: { block: ["slow.a", "wipe"] } });
    const slow = new FakeConnector({ lists: { tool: tools("a") } });
    slow.outcomes = ["hang"];
    bench.toolkit.addConnector(slow, { namespace: "slow" });
    bench.toolkit.addConnector(new FakeConnector(), { namespace: "lazy", lazy: true });
    bench.toolkit.view({ exclude: ["lazy.a"] });
    const starting = bench.toolkit.start();
    await bench.clock.advance(0);
    await bench.toolkit.close();
    await starting.catch(() => undefined);
    expect(bench.warnings()).toEqual([]);
  });

  verifies("N10", "an undecided one asks for a ref", async () => {
    const bench = benchOf({ strictNames: true, policy: { allow: ["same", "*"] } });
    const lists = { tool: tools("same") };
    await bench.start({ one: new FakeConnector({ lists }), two: new FakeConnector({ lists }) });
    expect(bench.warnings()).toEqual([
      'policy.allow names "same", and it is not known yet which item that is: it chooses none. Write a ref.',
    ]);
  });
});

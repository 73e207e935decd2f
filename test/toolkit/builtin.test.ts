import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Entry, Item, Kind, Prompt, Tool } from "../../src/core/item.ts";
import { defineTemplate } from "../../src/resource/define.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle, virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string, fields: Partial<Tool> = {}): Tool => ({ kind: "tool", name, run: () => name, ...fields });
const prompt = (name: string): Prompt => ({ kind: "prompt", name, render: async () => ({ messages: [] }) });
const text = (uri: string, value = uri) => resource.withUri(resource.text("note", value), uri);
const template = defineTemplate({ uriTemplate: "ticket:{id}", name: "tickets", read: (uri) => uri });
const refs = async (toolkit: Toolkit, query: object = {}) => (await toolkit.list(query)).entries.map(({ ref }) => ref);
type Told = { readonly type: string; readonly uri?: string; readonly removed?: readonly string[] };
const failed = (code: string, fields: object = {}) => expect.objectContaining({ code, ...fields });

describe("adding", () => {
  verifies("N1", "a name that is no identifier is refused, quoted, with what is allowed", async () => {
    const bad = [
      "",
      "1a",
      "a b",
      "a.b",
      "ü",
      "a".repeat(65),
      "a\n",
      " a",
      "-a",
      "a:b",
      undefined,
      null,
      7,
      Symbol("s"),
      {},
      Object.create(null),
      ["a"],
    ];
    for (const name of bad) {
      const toolkit = new Toolkit();
      for (const item of [
        tool(name as string),
        { ...tool("x", { input: { type: "nonsense" } }), name: name as string },
        prompt(name as string),
      ]) {
        expect(() => toolkit.add(tool("good"), item)).toThrow(
          failed("INVALID_NAME", { details: { name: expect.any(String), allowed: expect.any(String) } }),
        );
      }
      if (typeof name === "string") expect(() => toolkit.add(tool(name))).toThrow(JSON.stringify(name));
      expect(() => toolkit.addSource(name as string, {})).toThrow(failed("INVALID_NAME"));
      expect(await refs(toolkit)).toEqual([]);
    }
    for (const name of ["a", "A_-9", "a".repeat(64), "constructor", "toString", "then"]) {
      const toolkit = new Toolkit({ items: [tool(name), prompt(name)] });
      expect(await (await toolkit.call(name)).text()).toBe(name);
    }
    for (const uri of ["", "nothing", "c:", "c:/a", 7, undefined]) {
      const odd = { ...template, uriTemplate: uri as string };
      expect(() => new Toolkit({ items: [odd] })).toThrow(failed("INVALID_NAME"));
    }
  });

  verifies("N2", "reserved names and namespaces are refused", async () => {
    const toolkit = new Toolkit();
    expect(() => toolkit.add(tool("submit_output"))).toThrow(
      failed("RESERVED_NAME", { details: { name: "submit_output" } }),
    );
    expect(() => toolkit.add(prompt("submit_output"))).toThrow(failed("RESERVED_NAME"));
    for (const name of ["builtin", "user", "inline"]) {
      expect(() => toolkit.addSource(name, {})).toThrow(failed("RESERVED_NAME"));
      expect(() => toolkit.addConnector("http://localhost:1/mcp", { namespace: name })).toThrow(
        failed("RESERVED_NAME"),
      );
    }
    expect(() => toolkit.addConnector("connector:user")).toThrow(failed("RESERVED_NAME"));
    expect(toolkit.connections).toEqual([]);
    await toolkit.close();
  });

  verifies(
    "N2",
    "a second tool or prompt of a name is a CONFLICT that names both, in a batch too, and nothing is added",
    async () => {
      const toolkit = new Toolkit({ items: [tool("a", { description: "The first." })] });
      const events: unknown[] = [];
      toolkit.on("*", (event) => events.push(event));
      const batches: Item[][] = [
        [text("doc:x"), prompt("p"), tool("a", { description: "The second." })],
        [template, tool("b"), prompt("b"), tool("b")],
        [prompt("p"), prompt("p")],
        [tool("b"), tool("c", { input: { type: "nonsense" } })],
        [tool("b"), null as never],
        [text("doc:x"), { kind: "resource", name: "fake", uri: "doc:fake" } as never],
        [tool("b"), { kind: "tool", name: "c" } as never],
        [tool("b"), { kind: "gadget", name: "c" } as never],
        [tool("b"), "tool" as never],
      ];
      for (const batch of batches) expect(() => toolkit.add(...batch)).toThrow(failed(expect.any(String) as never));
      expect(() => toolkit.add(...(batches[0] as Item[]))).toThrow(
        failed("CONFLICT", {
          details: {
            key: "builtin.a",
            owners: ["the tool builtin.a (The first.)", "the tool builtin.a (The second.)"],
          },
        }),
      );
      await settle();
      expect(await refs(toolkit, { kind: ["tool", "prompt", "resource", "template"] })).toEqual(["builtin.a"]);
      expect(events).toEqual([]);
      toolkit.add(tool("b"), prompt("a"), prompt("b"), text("doc:x"), template);
    },
  );

  verifies(["N2", "E3"], "a resource replaces the one with its URI; one event a kind and batch", async () => {
    const toolkit = new Toolkit();
    const events: Told[] = [];
    toolkit.on("*", (event) => events.push(event as Told));
    toolkit.add(tool("b"), tool("a"), prompt("p"), text("doc:x"), template);
    await settle();
    expect(events).toEqual([
      { type: "toolListChanged", namespace: "builtin", added: ["builtin.b", "builtin.a"], removed: [], changed: [] },
      { type: "promptListChanged", namespace: "builtin", added: ["builtin.p"], removed: [], changed: [] },
      {
        type: "resourceListChanged",
        namespace: "builtin",
        added: ["doc:x#builtin", "ticket:{id}#builtin"],
        removed: [],
        changed: [],
      },
    ]);
    events.length = 0;
    toolkit.add(text("doc:x", "a longer one"));
    await settle();
    expect(events.map(({ type, uri }) => [type, uri])).toEqual([
      ["resourceListChanged", undefined],
      ["resourceUpdated", "doc:x"],
    ]);
    expect(events[0]).toMatchObject({ changed: ["doc:x#builtin"] });
    expect(await (await toolkit.read("doc:x")).text()).toBe("a longer one");
    events.length = 0;
    toolkit.add();
    toolkit.add(text("doc:x", "another text"));
    await settle();
    expect(events).toEqual([{ type: "resourceUpdated", namespace: "builtin", uri: "doc:x" }]);
    events.length = 0;
    toolkit.add({ ...template, description: "Another." });
    await settle();
    expect(events.map(({ type, uri }) => [type, uri])).toEqual([["resourceListChanged", undefined]]);
    expect(events[0]).toMatchObject({ changed: ["ticket:{id}#builtin"] });
    expect(await (await toolkit.read("doc:x")).text()).toBe("another text");
  });

  verifies("N9", "remove takes the tool, then the prompt, then the resource, and tells it", async () => {
    const toolkit = new Toolkit({ items: [tool("a"), prompt("a"), text("doc:x"), template] });
    const events: Told[] = [];
    toolkit.on("*", (event) => events.push(event as Told));
    for (const key of ["a", "builtin.a", "doc:x", "ticket:{id}#builtin"]) toolkit.remove(key);
    await settle();
    expect(events.map(({ type, removed }) => [type, removed])).toEqual([
      ["toolListChanged", ["builtin.a"]],
      ["promptListChanged", ["builtin.a"]],
      ["resourceListChanged", ["doc:x#builtin"]],
      ["resourceListChanged", ["ticket:{id}#builtin"]],
    ]);
    toolkit.add(tool("forecast"));
    for (const key of ["a", "", "ticket:1", "builtin.", undefined, null, 7])
      expect(() => toolkit.remove(key as string)).toThrow(failed("NOT_FOUND"));
    expect(() => toolkit.remove("forcast")).toThrow(
      failed("NOT_FOUND", { details: { key: "forcast", suggestions: ["builtin.forecast"] } }),
    );
    toolkit.addSource("other", { tool: () => [tool("theirs")] });
    await toolkit.start();
    expect(() => toolkit.remove("other.theirs")).toThrow(failed("NOT_FOUND"));
  });
});

describe("the user's objects", () => {
  class Counter {
    #count = 0;
    readonly kind = "tool";
    readonly name = "counter";
    run() {
      this.#count += 1;
      return { count: this.#count };
    }
  }
  class Poem {
    #line = "Roses are red";
    readonly kind = "prompt";
    readonly name = "poem";
    async render() {
      return { messages: [{ role: "user" as const, content: [resource.text("line", this.#line)] }] };
    }
  }

  verifies("I4", "instances with private fields work, untouched; entries and lists are frozen", async () => {
    const counter = new Counter();
    const poem = new Poem();
    const toolkit = new Toolkit({ items: [counter, poem, text("doc:x"), template] });
    expect(await (await toolkit.call(counter)).json()).toEqual({ count: 1 });
    expect(await (await toolkit.call("counter")).json()).toEqual({ count: 2 });
    expect(await (await toolkit.render(poem)).messages[0]?.content[0]?.text()).toBe("Roses are red");
    const entry = await toolkit.lookup("counter");
    expect(entry.item).toBe(counter);
    expect(Object.isFrozen(entry)).toBe(true);
    expect([counter, poem].some((object) => Object.isFrozen(object))).toBe(false);
    toolkit.addSource("other", {});
    await toolkit.start();
    const kinds: Kind[] = ["tool", "prompt", "resource", "template"];
    for (const query of [
      {},
      { kind: kinds },
      { kind: "tool" },
      { namespace: "builtin" },
      { namespace: ["builtin", "other"] },
      { namespace: "none" },
      { name: "counter" },
      { limit: 1 },
      { kind: [] },
    ] as object[]) {
      const page = await toolkit.list(query);
      for (const object of [page, page.entries, page.failures, ...page.entries])
        expect(Object.isFrozen(object)).toBe(true);
    }
  });

  verifies("I4", "frozen objects are taken, and what is changed after add changes nothing", async () => {
    const frozen = Object.freeze(tool("frozen", { input: Object.freeze({ type: "object" }) }));
    const mutable = { ...tool("mutable", { description: "before", input: { type: "object", required: ["a"] } }) } as {
      -readonly [K in keyof Tool]: Tool[K];
    };
    const toolkit = new Toolkit({ items: [frozen, mutable] });
    mutable.name = "other";
    mutable.description = "after";
    mutable.input = { type: "object" };
    expect(await refs(toolkit)).toEqual(["builtin.frozen", "builtin.mutable"]);
    await expect(toolkit.call("mutable", {})).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(toolkit.call(mutable as Tool, {})).rejects.toMatchObject({ ref: "builtin.mutable" });
    expect(await (await toolkit.call("mutable", { a: 1 })).text()).toBe("mutable");
  });

  verifies(
    "I5",
    "events tell by fingerprint what was added, removed and changed, and nothing of what came back the same",
    async () => {
      let tools: Tool[] = [tool("a"), tool("b", { description: "one" }), tool("c")];
      let tell = () => {};
      const clock = virtualClock();
      const toolkit = new Toolkit({ clock });
      const events: object[] = [];
      toolkit.addSource("pack", {
        tool: async () => tools,
        watch: (listener) => {
          tell = () => listener({ kind: "tool" });
          return () => {};
        },
      });
      await toolkit.start();
      const next = async (list: Tool[]) => {
        tools = list;
        const heard = events.length;
        tell();
        tell();
        await clock.advance(20);
        return events.slice(heard);
      };
      toolkit.on("toolListChanged", (event) => events.push(event));
      const changed = [tool("a"), tool("b", { description: "two" }), tool("d")];
      expect(await next(changed)).toEqual([
        { type: "toolListChanged", namespace: "pack", added: ["pack.d"], removed: ["pack.c"], changed: ["pack.b"] },
      ]);
      expect(await next(changed.map((item) => ({ ...item })))).toEqual([]);
      for (const fields of [
        { options: { version: "2" } },
        { input: { type: "object", required: ["x"] } },
        { output: { type: "object" } },
        { annotations: { readOnlyHint: true } },
      ]) {
        expect(await next([tool("a", fields), ...changed.slice(1)])).toMatchObject([
          { added: [], removed: [], changed: ["pack.a"] },
        ]);
      }
    },
  );
});

describe("lists", () => {
  verifies(["L1", "L2"], "kinds, namespaces and names narrow; the order is kind, then ref", async () => {
    const toolkit = new Toolkit({ items: [tool("b"), tool("B"), prompt("a"), text("doc:b"), text("doc:a"), template] });
    toolkit.addSource("alpha", { tool: () => [tool("b"), tool("z")], prompt: () => [prompt("a")] });
    await toolkit.start();
    const defaults = [
      "alpha.b",
      "alpha.z",
      "builtin.B",
      "builtin.b",
      "alpha.a",
      "builtin.a",
      "doc:a#builtin",
      "doc:b#builtin",
    ];
    expect(await refs(toolkit)).toEqual(defaults);
    expect(await refs(toolkit, { kind: ["template", "tool"] })).toEqual([
      ...defaults.slice(0, 4),
      "ticket:{id}#builtin",
    ]);
    expect(await refs(toolkit, { kind: "prompt", namespace: "alpha" })).toEqual(["alpha.a"]);
    expect(await refs(toolkit, { namespace: ["alpha", "nowhere"] })).toEqual(["alpha.b", "alpha.z", "alpha.a"]);
    expect(await toolkit.list({ namespace: "nowhere" })).toEqual({
      entries: [],
      count: 0,
      offset: 0,
      limit: undefined,
      failures: [],
    });
    expect(await refs(toolkit, { name: "b" })).toEqual(["alpha.b", "builtin.b"]);
    expect(await refs(toolkit, { name: ["alpha.b", "doc:a", "doc:b#builtin", "none"] })).toEqual([
      "alpha.b",
      "doc:a#builtin",
      "doc:b#builtin",
    ]);
    for (const field of ["limit", "offset"]) {
      for (const value of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "1", null]) {
        await expect(toolkit.list({ [field]: value })).rejects.toMatchObject({
          code: "INVALID_INPUT",
          details: { issues: [{ pointer: `/${field}` }] },
        });
      }
    }
    expect(await toolkit.list({ limit: 0 })).toMatchObject({ entries: [], count: 8, limit: 0 });
  });

  verifies("L3", "a warm list is the same frozen list, and the next change shows", async () => {
    const toolkit = new Toolkit({ items: [tool("a")] });
    const first = await toolkit.list();
    expect((await toolkit.list()).entries).toBe(first.entries);
    toolkit.add(tool("b"));
    expect(first.entries).toHaveLength(1);
    expect(await refs(toolkit)).toEqual(["builtin.a", "builtin.b"]);
  });

  test("paging equals slicing", async () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,5}$/), { maxLength: 20 });
    const count = fc.option(fc.nat({ max: 25 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(names, count, count, async (given, limit, offset) => {
        const toolkit = new Toolkit({ items: given.map((name) => tool(name)) });
        const sorted = given.map((name) => `builtin.${name}`).sort((a, b) => (a < b ? -1 : 1));
        const page = await toolkit.list({ limit, offset });
        const from = offset ?? 0;
        expect(page.entries.map(({ ref }) => ref)).toEqual(
          sorted.slice(from, limit === undefined ? undefined : from + limit),
        );
        expect(page).toMatchObject({ count: given.length, offset: from, limit });
        for (const entry of page.entries) expect(await toolkit.lookup(entry.ref)).toBe(entry);
      }),
      { numRuns: 50 },
    );
  });

  test("ten thousand builtins are added, found, listed, called and removed", async () => {
    const toolkit = new Toolkit();
    toolkit.add(
      ...Array.from({ length: 10_000 }, (_, n) =>
        tool(`tool_${n}`, { input: { type: "object", properties: { n: { const: n } } } }),
      ),
    );
    expect((await toolkit.list({ limit: 1 })).count).toBe(10_000);
    const entry = (await toolkit.lookup("tool_9999")) as Entry<"tool">;
    expect(await (await toolkit.call(entry, { n: 9999 })).text()).toBe("tool_9999");
    await expect(toolkit.lookup("tol_77")).rejects.toMatchObject({
      details: { suggestions: expect.arrayContaining(["builtin.tool_77"]) },
    });
    toolkit.remove("tool_5000");
    expect((await toolkit.list({ kind: "tool", offset: 9_990 })).entries).toHaveLength(9);
  });
});

test("options that are none are refused where they are given", async () => {
  const refused = (make: () => unknown) => {
    try {
      return make();
    } catch (error) {
      return error;
    }
  };
  const wrong: readonly (readonly [string, object])[] = [
    ["items", { items: tool("one") }],
    ["use", { use: ["x"] }],
    ["delegate", { delegate: null }],
    ["delegate", { delegate: [{}, "x"] }],
    ["logger", { logger: {} }],
  ];
  for (const [path, options] of wrong) {
    expect(refused(() => new Toolkit(options as never))).toMatchObject({ code: "INVALID_CONFIG", details: { path } });
  }
  const toolkit = new Toolkit({ items: [tool("one")] });
  const invalid = { code: "INVALID_INPUT" };
  expect(refused(() => toolkit.on("nope" as never, () => {}))).toMatchObject(invalid);
  expect(refused(() => toolkit.on("*", "x" as never))).toMatchObject(invalid);
  for (const limit of [0, -1, 1.5, Number.NaN]) expect(refused(() => toolkit.events({ limit }))).toMatchObject(invalid);
  await expect(toolkit.call("one", {}, { signal: new AbortController() as never })).rejects.toMatchObject({
    ...invalid,
    ref: "one",
    message: expect.stringContaining("AbortSignal"),
  });
  expect(await (await toolkit.call("one", {}, null as never)).text()).toBe("one");
  await toolkit.close();
  await expect(toolkit.removeConnector("gone")).rejects.toMatchObject({ code: "CLOSED" });
});

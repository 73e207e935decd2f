import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Catalog } from "../../src/catalog/catalog.ts";
import { readDefinition } from "../../src/core/definition.ts";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { Entry, Item, Kind, Prompt, Tool } from "../../src/core/item.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string): Tool => ({ kind: "tool", name, run: () => name });
const prompt = (name: string): Prompt => ({ kind: "prompt", name, render: async () => ({ messages: [] }) });
const text = (uri: string) => resource.withUri(resource.text("note", uri), uri);
const refOf = async (toolkit: Toolkit, key: string, kind?: Kind) => (await toolkit.lookup(key, { kind })).ref;

async function sample(options = {}) {
  const toolkit = new Toolkit({
    items: [tool("both"), prompt("both"), tool("greet"), text("doc:a"), text("doc:a#b")],
    ...options,
  });
  toolkit.addSource("beta", {
    tool: () => [tool("both"), tool("forecast"), tool("greet")],
    resource: () => [text("doc:a"), text("doc:beta")],
  });
  toolkit.addSource("alpha", { tool: () => [tool("forecast")], prompt: () => [prompt("greet"), prompt("hello")] });
  await toolkit.start();
  return toolkit;
}

describe("what a key finds", () => {
  verifies(
    ["N3", "N6"],
    "the order is scope, then builtins, then namespaces as they were added; a tool before a prompt",
    async () => {
      const toolkit = await sample();
      for (let run = 0; run < 2; run++) {
        expect(await refOf(toolkit, "both")).toBe("builtin.both");
        expect((await toolkit.lookup("both")).kind).toBe("tool");
        expect((await toolkit.lookup("both", { kind: "prompt" })).kind).toBe("prompt");
        expect(await refOf(toolkit, "forecast")).toBe("beta.forecast");
        expect(await refOf(toolkit, "alpha.forecast")).toBe("alpha.forecast");
        expect(await refOf(toolkit, "greet", "prompt")).toBe("alpha.greet");
        expect(await refOf(toolkit, "doc:a")).toBe("doc:a#builtin");
        expect(await refOf(toolkit, "doc:a#beta")).toBe("doc:a#beta");
        expect(await refOf(toolkit, "doc:a#b")).toBe("doc:a#b#builtin");
        expect(await refOf(toolkit, "doc:beta")).toBe("doc:beta#beta");
      }
    },
  );

  verifies("N5", "a known namespace is the only place searched", async () => {
    const toolkit = await sample();
    await expect(toolkit.lookup("alpha.both")).rejects.toMatchObject({ code: "NOT_FOUND", phase: "resolve" });
    await expect(toolkit.lookup("gamma.both")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  verifies("N4", "a URI that finds nothing is tried as a name", () => {
    const catalog = new Catalog({ strictNames: false, emit: () => {}, hasListeners: () => true });
    const item = { ...tool("ns:do.it"), input: { type: "object" } };
    const remote = catalog.mount("remote", {});
    catalog.change(remote, { put: [{ definition: readDefinition(item, "remote"), item }] });
    expect(catalog.resolve("ns:do.it", ["tool"])).toMatchObject({ ref: "remote.ns:do.it" });
    expect(catalog.resolve("remote.ns:do.it", ["tool", "resource"])).toMatchObject({ item });
  });

  verifies("N7", "NOT_FOUND suggests at most three near keys", async () => {
    const toolkit = await sample();
    await expect(toolkit.lookup("forcast")).rejects.toMatchObject({
      details: { key: "forcast", suggestions: ["alpha.forecast", "beta.forecast"] },
      message: expect.stringContaining('Did you mean "alpha.forecast" or "beta.forecast"?'),
    });
    await expect(toolkit.lookup("grete")).rejects.toMatchObject({ message: expect.stringContaining("builtin.greet") });
    toolkit.add(...Array.from({ length: 9 }, (_, n) => tool(`forecast${n}`)));
    const error = await toolkit.lookup("forecas").catch((thrown) => thrown);
    expect(error.details.suggestions).toHaveLength(3);
  });

  verifies(
    "N6",
    "a name of several namespaces is reported once, or refused under strictNames with its candidates",
    async () => {
      const events: ToolkitEvent[] = [];
      const toolkit = await sample();
      toolkit.on("ambiguousName", (event) => events.push(event));
      await toolkit.lookup("forecast");
      await toolkit.lookup("forecast");
      await toolkit.lookup("forecast", { kind: "tool" });
      await toolkit.lookup("hello");
      await toolkit.lookup("doc:a");
      await settle();
      expect(events).toEqual([
        {
          type: "ambiguousName",
          name: "forecast",
          chosen: "beta.forecast",
          candidates: ["beta.forecast", "alpha.forecast"],
        },
      ]);
      const strict = await sample({ strictNames: true });
      await expect(strict.call("forecast")).rejects.toMatchObject({
        code: "AMBIGUOUS_NAME",
        details: { name: "forecast", candidates: ["beta.forecast", "alpha.forecast"] },
        ref: "forecast",
        phase: "resolve",
      });
      expect(await refOf(strict, "alpha.forecast")).toBe("alpha.forecast");
      // A tool and a prompt of one namespace are no two namespaces.
      strict.add(tool("own"), prompt("own"));
      expect(await refOf(strict, "own")).toBe("builtin.own");
    },
  );

  verifies("N6", "under strictNames a later namespace that may still come to have the name is waited for", () => {
    let settled = false;
    const catalog = new Catalog({ strictNames: true, emit: () => {}, hasListeners: () => true });
    const put = (namespace: string) => {
      const item = tool("shared");
      catalog.change(catalog.namespace(namespace) as never, {
        put: [{ definition: readDefinition(item, "remote"), item }],
      });
    };
    catalog.mount("early", {});
    const late = catalog.mount("late", { settling: () => (settled ? undefined : new Promise(() => {})) });
    put("early");
    expect(catalog.resolve("shared", ["tool"])).toEqual({
      unsettled: late,
      wanted: { kinds: ["tool"], key: "shared" },
    });
    put("late");
    settled = true;
    expect(() => catalog.resolve("shared", ["tool"])).toThrow(/early\.shared, late\.shared/);
  });

  test("bad arguments say so", async () => {
    const toolkit = await sample();
    for (const key of [undefined, null, 7, {}, Symbol("x")]) {
      await expect(toolkit.lookup(key as never)).rejects.toMatchObject({ code: "INVALID_INPUT" });
      await expect(toolkit.read(key as never)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    await expect(toolkit.lookup("greet", { kind: "tools" as never })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(toolkit.list({ kind: "tools" as never })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    for (const key of [
      "",
      ".",
      "#",
      "builtin.",
      "builtin",
      "__proto__",
      "constructor",
      "builtin.__proto__",
      "x".repeat(100_000),
    ]) {
      await expect(toolkit.lookup(key)).rejects.toMatchObject({ code: "NOT_FOUND" });
    }
  });
});

const word = fc.oneof(
  fc.constantFrom("a", "b", "builtin", "a.b", "a:b", "ab:c", "ab:c#a", "#", "."),
  fc.string({ minLength: 1 }),
);

test("whatever is registered is found by its ref and kind, with any names a server may give", () => {
  const items = fc.array(
    fc.record({
      namespace: fc.constantFrom("a", "b", "ab"),
      kind: fc.constantFrom<Kind>("tool", "prompt", "resource"),
      key: word,
    }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(items, (given) => {
      const catalog = new Catalog({ strictNames: true, emit: () => {}, hasListeners: () => true });
      for (const name of ["a", "b", "ab"]) catalog.mount(name, {});
      for (const { namespace, kind, key } of given) {
        const item = (kind === "resource" ? text(`ab:${key}`) : kind === "tool" ? tool(key) : prompt(key)) as Item;
        catalog.change(catalog.namespace(namespace) as never, {
          put: [{ definition: readDefinition(item, "remote"), item }],
        });
      }
      for (const entry of catalog.entries(["tool", "prompt", "resource"])) {
        for (let run = 0; run < 2; run++) expect(catalog.resolve(entry.ref, [entry.kind])).toBe(entry);
        expect(catalog.entryOf(entry.item)).toBe(entry);
        expect(catalog.current(entry)).toBe(entry);
      }
    }),
  );
});

describe("templates", () => {
  const tickets = (name: string, made: string[] = []) => ({
    kind: "template" as const,
    name,
    uriTemplate: "ticket:{id}",
    resource: (uri: string) => {
      made.push(uri);
      return resource.withUri(resource.text("ticket", `${name} ${uri}`), uri);
    },
  });

  verifies("K1", "a URI that only a template has gives its resource; an exact one anywhere goes first", async () => {
    const toolkit = new Toolkit({ items: [tickets("tickets")] });
    toolkit.addSource("desk", { resource: () => [text("ticket:9")], template: () => [tickets("others")] });
    await toolkit.start();
    const entry = await toolkit.lookup("ticket:7");
    expect(entry).toMatchObject({
      kind: "resource",
      ref: "ticket:7#builtin",
      name: "ticket",
      namespace: "builtin",
      stale: false,
    });
    expect(await (await toolkit.read("ticket:7#desk")).text()).toBe("others ticket:7");
    expect(await (await toolkit.read(entry as Entry<"resource">)).text()).toBe("tickets ticket:7");
    expect(await refOf(toolkit, "ticket:9")).toBe("ticket:9#desk");
    await expect(toolkit.lookup("ticket:7/8")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await toolkit.lookup("ticket:{id}", { kind: "template" })).ref).toBe("ticket:{id}#builtin");
  });

  test("what a template throws is a ToolkitError with its ref and cause", async () => {
    const boom = new Error("boom");
    const broken = {
      ...tickets("broken"),
      resource: () => {
        throw boom;
      },
    };
    const empty = { ...tickets("empty"), uriTemplate: "none:{id}", resource: () => undefined as never };
    const toolkit = new Toolkit({ items: [broken, empty] });
    await expect(toolkit.lookup("ticket:1")).rejects.toMatchObject({
      code: "TOOL_FAILED",
      cause: boom,
      ref: "ticket:{id}#builtin",
      phase: "resolve",
    });
    await expect(toolkit.read("none:1")).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});

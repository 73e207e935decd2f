import fc from "fast-check";
import { describe, expect } from "vitest";
import type { Entry, Kind, ListPage } from "../../src/core/item.ts";
import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string) => defineTool({ name, run: () => name });
const text = (name: string) => resource.text(name, "x");
const sessions = [undefined, { id: "a", principal: "ada" }, { id: "b", principal: "bob" }];
const order: readonly Kind[] = ["tool", "prompt", "resource", "template"];
const inOrder = (a: Entry, b: Entry) =>
  order.indexOf(a.kind) - order.indexOf(b.kind) || (a.ref < b.ref ? -1 : a.ref > b.ref ? 1 : 0);

/** Three sources whose items a test changes, beside builtins and items of principals. */
async function changing() {
  const offers = ["a", "a-b", "b"].map((name) => ({ name, tools: new Set<string>(), texts: new Set<string>() }));
  const changed: (() => void)[] = [];
  const toolkit = new Toolkit({ store: memoryStore() });
  for (const { name, tools, texts } of offers)
    toolkit.addSource(name, {
      tool: async () => [...tools].map(tool),
      resource: async () => [...texts].map(text),
      watch(listener) {
        changed.push(() => {
          listener({ kind: "tool" });
          listener({ kind: "resource" });
        });
        return () => undefined;
      },
    });
  await toolkit.start();
  return { toolkit, offers, changed };
}

describe("a list", () => {
  verifies(
    ["L1", "L2"],
    "after any changes each page of each filter is a part of the sorted whole, with its count",
    async () => {
      const name = fc.nat(40).map((number) => `n${number}`);
      const step = fc.oneof(
        fc.record({ do: fc.constant("add" as const), name }),
        fc.record({ do: fc.constant("remove" as const), name }),
        fc.record({ do: fc.constant("put" as const), name, of: fc.nat(2) }),
        fc.record({ do: fc.constant("offer" as const), name, of: fc.nat(2) }),
      );
      const selections = [undefined, { exclude: ["n1*"] }, { include: ["a.*", "n2", "n3", "user.*", "*#b"] }];
      const filter = fc.record({
        session: fc.nat(2),
        selection: fc.nat(2),
        namespace: fc.constantFrom(undefined, "a", "builtin", "user", ["a", "b"], ["a-b", "a", "user"], "none"),
        kind: fc.constantFrom(undefined, "tool" as const, "resource" as const, ["resource", "tool"] as const),
        names: fc.constantFrom(undefined, "n1", ["n2", "a.n3", "text:n4", "text:n5#user", "n6"]),
        offset: fc.nat(30),
        limit: fc.option(fc.nat(20), { nil: undefined }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(fc.tuple(step, filter), { maxLength: 60 }), async (rounds) => {
          const { toolkit, offers, changed } = await changing();
          const views = selections.map((selection) => (selection === undefined ? toolkit : toolkit.view(selection)));
          try {
            for (const [what, asked] of rounds) {
              if (what.do === "add") await ignoring(() => toolkit.add(tool(what.name), text(`own${what.name}`)));
              if (what.do === "remove") await ignoring(() => toolkit.remove(what.name));
              if (what.do === "put")
                await toolkit.user.putPrompt(`---\nname: ${what.name}\n---\nx`, { session: sessions[what.of] });
              if (what.do === "offer") {
                const { tools, texts } = offers[what.of] ?? { tools: new Set(), texts: new Set() };
                for (const set of [tools, texts]) if (!set.delete(what.name)) set.add(what.name);
                const events = Promise.all(
                  ["toolListChanged", "resourceListChanged"].map((type) => next(toolkit, type)),
                );
                changed[what.of]?.();
                await events;
              }
              const session = sessions[asked.session];
              const view = views[asked.selection] ?? toolkit;
              const { namespace, kind, names, offset, limit } = asked;
              const page = (await view.list({
                namespace,
                kind: kind as Kind,
                name: names,
                offset,
                limit,
                session,
              })) as ListPage<Kind>;
              const wanted = [...(await view.list({ session })).entries]
                .filter((entry) => namespace === undefined || [namespace].flat().includes(entry.namespace))
                .filter((entry) => kind === undefined || ([kind].flat() as readonly string[]).includes(entry.kind))
                .filter((entry) => names === undefined || [names].flat().some((each) => isNamed(entry as Entry, each)));
              expect(page.count).toBe(wanted.length);
              const end = limit === undefined ? undefined : offset + limit;
              expect(page.entries.map(({ ref }) => ref)).toEqual(wanted.slice(offset, end).map(({ ref }) => ref));
              expect(Object.isFrozen(page.entries)).toBe(true);
              const all = (await toolkit.list({ session })).entries as readonly Entry[];
              expect([...all].sort(inOrder)).toEqual(all);
              for (const entry of all)
                expect((await toolkit.lookup(entry.ref, { kind: entry.kind, session })).item).toBe(entry.item);
            }
          } finally {
            await toolkit.close();
          }
        }),
        { numRuns: 12 },
      );
    },
    120_000,
  );

  verifies(
    ["L1", "N10"],
    "a view by a bare name lists what the name means now, though that item did not change",
    async () => {
      await using toolkit = new Toolkit();
      toolkit.addSource("late", { tool: async () => [tool("greet")] });
      await toolkit.start();
      const view = toolkit.view({ include: ["greet"] });
      const refs = async () => (await view.list()).entries.map(({ ref }) => ref);
      expect(await refs()).toEqual(["late.greet"]);
      toolkit.add(tool("greet"));
      expect(await refs()).toEqual(["builtin.greet"]);
      toolkit.remove("greet");
      expect(await refs()).toEqual(["late.greet"]);
    },
  );

  verifies("L2", "the whole list is one frozen array until something changes", async () => {
    await using toolkit = new Toolkit({ items: [tool("one")], store: memoryStore() });
    const session = sessions[1];
    await toolkit.user.putPrompt("---\nname: hers\n---\nx", { session });
    const list = async () => [(await toolkit.list()).entries, (await toolkit.list({ session })).entries];
    const [all, hers] = await list();
    expect(await list()).toEqual([all, hers]);
    expect((await list())[0]).toBe(all);
    expect((await list())[1]).toBe(hers);
    toolkit.add(tool("two"));
    expect((await list()).map((entries) => entries?.length)).toEqual([2, 3]);
    expect([all?.length, hers?.length]).toEqual([1, 2]);
  });
});

function isNamed(entry: Entry, name: string): boolean {
  return entry.name === name || entry.ref === name || entry.ref === `${name}#${entry.namespace}`;
}

function next(toolkit: Toolkit, type: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = toolkit.on(type as "toolListChanged", () => {
      stop();
      resolve();
    });
  });
}

async function ignoring(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch {
    // The name is taken, or is not there.
  }
}

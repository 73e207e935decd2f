import { describe, expect } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { Store, StoreEvent } from "../../src/core/store.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

const prompt = (name: string, text = name) => `---\nname: ${name}\n---\n${text}`;

/** A store whose lists may be held back: their answers, which say what was there when they were asked, or the questions. */
function slowLists(inner: Store) {
  let gate: PromiseWithResolvers<void> | undefined;
  let before: PromiseWithResolvers<void> | undefined;
  let tell: (event: StoreEvent) => void = () => undefined;
  const store: Store = {
    ...sharing(inner),
    async list(query, options) {
      await before?.promise;
      const found = await inner.list(query, options);
      await gate?.promise;
      return found;
    },
    watch(listener) {
      tell = listener;
      return inner.watch(listener);
    },
  };
  return {
    store,
    hold: () => {
      gate = Promise.withResolvers();
    },
    holdQuestions: () => {
      before = Promise.withResolvers();
    },
    release: () => {
      before?.resolve();
      gate?.resolve();
    },
    gap: () => tell({ type: "gap" }),
  };
}

describe("what comes late", () => {
  verifies(["K2", "S2"], "a list that began before a put and a removal takes neither back", async () => {
    const slow = slowLists(memoryStore());
    const clock = virtualClock();
    await using toolkit = new Toolkit({ store: slow.store, clock });
    await toolkit.user.putPrompt(prompt("goes"));
    const refs = async () => (await toolkit.list()).entries.map(({ ref }) => ref);
    slow.hold();
    slow.gap();
    await clock.advance(0);
    await toolkit.user.putPrompt(prompt("comes"));
    await toolkit.user.remove("goes");
    expect(await refs()).toEqual(["user.comes"]);
    slow.release();
    await clock.advance(100);
    expect(await refs()).toEqual(["user.comes"]);
  });

  describe("while many listed prompts are parsed", () => {
    const names = Array.from({ length: 400 }, (_, index) => `p${index}`);
    const second = `second ${"{{#if a}}{{b}}{{/if}} ".repeat(20)}`;
    const note = (text: string) => resource.withDescription(resource.text("note", text), text);
    const textOf = async (toolkit: Toolkit, name: string) => {
      const { messages } = await toolkit.render(`user.${name}`);
      return messages[0]?.content[0]?.text();
    };

    /** A toolkit whose store has a second version of all its items, and has just listed them. */
    async function reading(): Promise<Toolkit> {
      const inner = memoryStore();
      const slow = slowLists(inner);
      const toolkit = new Toolkit({ store: slow.store, clock: virtualClock() });
      await using other = new Toolkit({ store: sharing(inner) });
      for (const name of names) await toolkit.user.putPrompt(prompt(name, "first"));
      await toolkit.user.putResource(note("first"));
      for (const name of names) await other.user.putPrompt(prompt(name, second));
      await other.user.putResource(note("second"));
      slow.gap();
      await new Promise(setImmediate);
      return toolkit;
    }

    verifies(["K2", "S2"], "a put and a removal of a prompt are not undone", async () => {
      await using toolkit = await reading();
      await toolkit.user.putPrompt(prompt("p0", "third"));
      await toolkit.user.remove("p1");
      for (let turn = 0; turn < 100; turn++) {
        expect(await textOf(toolkit, "p0")).toBe("third");
        await expect(toolkit.lookup("user.p1")).rejects.toMatchObject({ code: "NOT_FOUND" });
        await new Promise(setImmediate);
      }
      await expect.poll(() => textOf(toolkit, "p2")).toContain("second");
    });

    verifies(["K2", "S2"], "a put of a resource is not undone", async () => {
      await using toolkit = await reading();
      await toolkit.user.putResource(note("third"));
      const described = async () => (await toolkit.lookup("text:note", { kind: "resource" })).item.description;
      for (let turn = 0; turn < 100; turn++) {
        expect(await described()).toBe("third");
        await new Promise(setImmediate);
      }
      await expect.poll(() => textOf(toolkit, "p2")).toContain("second");
    });
  });

  verifies(["K2", "S2"], "a change while the items are read for the first time has its event", async () => {
    const inner = memoryStore();
    const slow = slowLists(inner);
    const clock = virtualClock();
    await using toolkit = new Toolkit({ store: slow.store, clock });
    await using other = new Toolkit({ store: sharing(inner) });
    await toolkit.start();
    const events: ToolkitEvent[] = [];
    toolkit.on("promptListChanged", (event) => events.push(event));
    slow.hold();
    const listed = toolkit.list();
    await other.user.putPrompt(prompt("early"));
    await clock.advance(0);
    await other.user.putPrompt(prompt("late"));
    slow.release();
    await listed;
    await clock.advance(100);
    expect((await toolkit.list()).count).toBe(2);
    const added = events.flatMap((event) => (event.type === "promptListChanged" ? event.added : []));
    expect([...added].sort()).toEqual(["user.early", "user.late"]);
  });

  verifies(["K2", "S2"], "a change that the first list has already has its event too, once", async () => {
    const inner = memoryStore();
    const slow = slowLists(inner);
    const clock = virtualClock();
    await using toolkit = new Toolkit({ store: slow.store, clock });
    await using other = new Toolkit({ store: sharing(inner) });
    await other.user.putPrompt(prompt("old"));
    const events: ToolkitEvent[] = [];
    toolkit.on("promptListChanged", (event) => events.push(event));
    slow.holdQuestions();
    const listed = toolkit.list();
    await clock.advance(0);
    await other.user.putPrompt(prompt("early"));
    slow.release();
    expect((await listed).entries.map(({ ref }) => ref)).toEqual(["user.early", "user.old"]);
    await clock.advance(100);
    expect(events).toMatchObject([{ added: ["user.early"], changed: [], removed: [] }]);
    expect(events).toHaveLength(1);
  });

  verifies("K2", "a resource that changed elsewhere is shown anew without what it holds being read", async () => {
    const inner = memoryStore();
    const clock = virtualClock();
    const got: unknown[] = [];
    const store: Store = {
      ...sharing(inner),
      get: async (key, options) => {
        const record = await inner.get(key, options);
        got.push([record?.size, record?.bytes?.length]);
        return record;
      },
    };
    await using toolkit = new Toolkit({ store, clock });
    await using other = new Toolkit({ store: sharing(inner) });
    await toolkit.list();
    await other.user.putResource(resource.text("note", "12345"));
    await clock.advance(100);
    expect((await toolkit.lookup("text:note", { kind: "resource" })).item.size).toBe(5);
    expect(got).toEqual([[5, undefined]]);
    expect(await (await toolkit.read("text:note")).text()).toBe("12345");
    expect(got.at(-1)).toEqual([5, 5]);
  });

  verifies("E3", "a change is emitted once, here and elsewhere, and what stays the same is not", async () => {
    const inner = memoryStore();
    const clock = virtualClock();
    const toolkits = [0, 1].map(() => new Toolkit({ store: sharing(inner), clock }));
    const [one, other] = toolkits as [Toolkit, Toolkit];
    const events: string[][] = [[], []];
    for (const [at, toolkit] of toolkits.entries()) {
      await toolkit.list();
      toolkit.on("*", ({ type }) => events[at]?.push(type));
    }
    await one.user.putResource(resource.text("note", "1"));
    await clock.advance(100);
    await one.user.putResource(resource.text("note", "2"));
    await clock.advance(100);
    await one.user.putPrompt(prompt("greet"));
    await one.user.putPrompt(prompt("greet"));
    await clock.advance(100);
    const expected = ["resourceListChanged", "resourceUpdated", "promptListChanged"];
    await expect.poll(() => events).toEqual([expected, expected]);
    await clock.advance(100);
    expect(events).toEqual([expected, expected]);
    await one.close();
    await other.close();
  });
});

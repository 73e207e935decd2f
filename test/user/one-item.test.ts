import { describe, expect } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { Store } from "../../src/core/store.ts";
import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { FailingStore } from "../support/failing-store.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

const prompt = (name: string, text = name) => `---\nname: ${name}\n---\n${text}`;
const of = { collection: "prompt", owner: "" } as const;

/** A store that many share, and the keys that one of them read from it. */
function watched(inner: Store): { readonly store: Store; readonly read: string[] } {
  const read: string[] = [];
  const store: Store = {
    ...sharing(inner),
    get: (key, options) => {
      read.push(key.key);
      return inner.get(key, options);
    },
    list: (query, options) => {
      if (query.collection === "prompt" || query.collection === "resource") read.push(`all ${query.collection}s`);
      return inner.list(query, options);
    },
  };
  return { store, read };
}

async function rendered(toolkit: Toolkit, key: string): Promise<string | undefined> {
  const { messages } = await toolkit.render(key);
  return messages[0]?.content[0]?.text();
}

function next(toolkit: Toolkit, type: ToolkitEvent["type"]): Promise<ToolkitEvent> {
  return new Promise((resolve) => {
    const stop = toolkit.on(type, (event) => {
      stop();
      resolve(event);
    });
  });
}

describe("an item that is looked up alone", () => {
  verifies(["K1", "S2"], "is the only one that is read, with the partials it uses; start reads none", async () => {
    const inner = memoryStore();
    for (const name of ["one", "two", "uses"])
      await inner.put({ ...of, key: name, value: { text: prompt(name, name === "uses" ? "{{> tone}}" : name) } });
    await inner.put({ ...of, key: "_tone", value: { text: "kind {{> deep }}" } });
    await inner.put({ ...of, key: "deep", value: { text: prompt("deep", "and deep") } });
    const { store, read } = watched(inner);
    const ping = defineTool({ name: "ping", run: () => "pong" });
    await using toolkit = new Toolkit({ store, items: [ping] });
    await toolkit.start();
    expect((await toolkit.lookup("user.one")).ref).toBe("user.one");
    expect((await toolkit.lookup("one")).ref).toBe("user.one");
    expect((await toolkit.lookup("ping")).ref).toBe("builtin.ping");
    expect(read).toEqual(["one"]);
    await expect(toolkit.lookup("user.none")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(toolkit.lookup("user.none")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(read).toEqual(["one", "none"]);
    expect(await rendered(toolkit, "uses")).toBe("kind and deep");
    expect(read.slice(2)).toEqual(["uses", "_tone", "tone", "_deep", "deep"]);
    expect(await toolkit.user.get("two")).toMatchObject({ markdown: prompt("two") });
    expect(read).not.toContain("all prompts");
    expect((await toolkit.list()).entries.map(({ ref }) => ref)).toContain("user.two");
  });

  verifies(
    ["K2", "S2"],
    "follows changes by others, each with its event, and an entry of it can still be called",
    async () => {
      const inner = memoryStore();
      await using other = new Toolkit({ store: sharing(inner) });
      for (const name of ["greet", "unread"]) await other.user.putPrompt(prompt(name, "first"));
      await other.user.putPrompt("kind", { name: "_tone" });
      await other.user.putPrompt(prompt("uses", "{{> tone}}"));
      const { store, read } = watched(inner);
      await using toolkit = new Toolkit({ store });
      const entry = await toolkit.lookup("greet", { kind: "prompt" });
      await toolkit.lookup("uses");
      await expect(toolkit.lookup("late")).rejects.toMatchObject({ code: "NOT_FOUND" });

      let emitted = next(toolkit, "promptListChanged");
      await other.user.putPrompt(prompt("greet", "second"));
      expect(await emitted).toMatchObject({ added: [], changed: ["user.greet"], removed: [] });
      const { messages } = await toolkit.render(entry);
      expect(await messages[0]?.content[0]?.text()).toBe("second");

      emitted = next(toolkit, "promptListChanged");
      await other.user.putPrompt("cold", { name: "_tone" });
      expect(await emitted).toMatchObject({ changed: ["user.uses"] });
      expect(await rendered(toolkit, "uses")).toBe("cold");

      emitted = next(toolkit, "promptListChanged");
      await other.user.putPrompt(prompt("late"));
      expect(await emitted).toMatchObject({ added: ["user.late"] });
      expect((await toolkit.lookup("late")).ref).toBe("user.late");

      emitted = next(toolkit, "promptListChanged");
      await other.user.remove("greet");
      expect(await emitted).toMatchObject({ removed: ["user.greet"] });
      await expect(toolkit.lookup("greet")).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(read).not.toContain("unread");
      expect(read).not.toContain("all prompts");
    },
  );

  verifies(["K2", "S2"], "a change while it is read is not lost: of the item, and of a partial it uses", async () => {
    const inner = memoryStore();
    await using other = new Toolkit({ store: sharing(inner) });
    await other.user.putPrompt("first", { name: "_tone" });
    await other.user.putPrompt(prompt("uses", "{{> tone}}"));
    await other.user.putPrompt(prompt("greet", "first"));
    const change = new Map([
      ["_tone", () => other.user.putPrompt("second", { name: "_tone" })],
      ["greet", () => other.user.putPrompt(prompt("greet", "second"))],
    ]);
    const store: Store = {
      ...sharing(inner),
      async get(key, options) {
        const found = await inner.get(key, options);
        const changed = change.get(key.key);
        change.delete(key.key);
        await changed?.();
        return found;
      },
    };
    await using toolkit = new Toolkit({ store });
    for (const key of ["uses", "greet"]) {
      const emitted = next(toolkit, "promptListChanged");
      await toolkit.lookup(key);
      expect(await emitted).toMatchObject({ changed: [`user.${key}`] });
      expect(await rendered(toolkit, key)).toBe("second");
    }
  });

  verifies(["K2", "S3"], "what was not there is looked for again where reports may be lost", async () => {
    const inner = memoryStore();
    const failing = new FailingStore(sharing(inner));
    await using toolkit = new Toolkit({ store: failing.store });
    await using other = new Toolkit({ store: sharing(inner) });
    await expect(toolkit.lookup("late")).rejects.toMatchObject({ code: "NOT_FOUND" });
    failing.fail();
    await other.user.putPrompt(prompt("late"));
    failing.recover();
    await expect.poll(() => toolkit.lookup("late").then(({ ref }) => ref, String)).toBe("user.late");
  });

  verifies(["K1", "S2"], "a resource is found by another spelling of its URI too", async () => {
    const inner = memoryStore();
    await using other = new Toolkit({ store: sharing(inner) });
    for (const name of ["a", "b"])
      await other.user.putResource(resource.withUri(resource.text(name, name), `HTTPS://Example.com/${name}`));
    const { store, read } = watched(inner);
    await using toolkit = new Toolkit({ store });
    expect(await (await toolkit.read("HTTPS://Example.com/a")).text()).toBe("a");
    expect(read).not.toContain("all resources");
    expect(await (await toolkit.read("https://example.com/b")).text()).toBe("b");
  });
});

describe("a page", () => {
  verifies(
    ["L2", "S3"],
    "parses what is on it: one that is wrong is a failure when it is met, and is listed no more",
    async () => {
      const store = memoryStore();
      const names = Array.from({ length: 30 }, (_, at) => `p${10 + at}`);
      for (const name of names)
        await store.put({ ...of, key: name, value: { text: prompt(name, name.endsWith("5") ? "{{#if}}" : "x") } });
      await using toolkit = new Toolkit({ store });
      const page = async (offset: number) => {
        const { entries, count, failures } = await toolkit.list({ limit: 5, offset });
        return [entries.map(({ ref }) => ref.slice(5)), count, failures.length];
      };
      expect(await page(0)).toEqual([["p10", "p11", "p12", "p13", "p14"], 30, 0]);
      expect(await page(3)).toEqual([["p13", "p14", "p16", "p17", "p18"], 29, 1]);
      expect(await toolkit.list()).toMatchObject({ count: 27, failures: { length: 3 } });
      expect(await page(25)).toEqual([["p38", "p39"], 27, 3]);
    },
  );

  verifies("S2", "a change of a partial is checked against prompts that were only listed", async () => {
    const store = memoryStore();
    await store.put({ ...of, key: "_tone", value: { text: "kind" } });
    for (const name of ["a", "b"]) await store.put({ ...of, key: name, value: { text: prompt(name, "{{> tone}}") } });
    await store.put({ ...of, key: "wrong", value: { text: prompt("wrong", "{{> tone}} {{#if}}") } });
    await using toolkit = new Toolkit({ store });
    await toolkit.list({ limit: 1 });
    await expect(toolkit.user.remove("_tone")).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(toolkit.user.putPrompt("{{> b}}", { name: "_tone" })).rejects.toThrow(/uses it as a partial/);
    const emitted = next(toolkit, "promptListChanged");
    await toolkit.user.putPrompt("cold", { name: "_tone" });
    expect(await emitted).toMatchObject({ changed: ["user.a", "user.b"] });
    expect([await rendered(toolkit, "a"), await rendered(toolkit, "b")]).toEqual(["cold", "cold"]);
    expect(await toolkit.list()).toMatchObject({ count: 2, failures: [{ namespace: "user" }] });
  });
});

import { describe, expect } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { FailingStore } from "../support/failing-store.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

const prompt = (name: string, text = name) => `---\nname: ${name}\n---\n${text}`;

describe("a store that fails while the toolkit runs", () => {
  verifies(
    ["S3", "L3"],
    "user is stale and among the failures, all else goes on, and missed changes are emitted",
    async () => {
      const inner = memoryStore();
      const failing = new FailingStore(sharing(inner));
      const ping = defineTool({ name: "ping", run: () => "pong" });
      await using toolkit = new Toolkit({ store: failing.store, items: [ping] });
      await using other = new Toolkit({ store: sharing(inner) });
      await toolkit.user.putPrompt(prompt("stays"));
      await toolkit.user.putPrompt(prompt("changes"));
      await toolkit.user.putPrompt(prompt("goes"));
      await toolkit.user.putResource(resource.text("note", "1"));

      failing.fail();
      const page = await toolkit.list();
      expect(page.entries.map(({ ref, stale }) => [ref, stale])).toEqual([
        ["builtin.ping", false],
        ["user.changes", true],
        ["user.goes", true],
        ["user.stays", true],
        ["text:note#user", true],
      ]);
      expect(page.failures).toMatchObject([{ namespace: "user", error: { code: "STORE_FAILED" } }]);
      expect(await (await toolkit.call("ping")).text()).toBe("pong");
      expect((await toolkit.render("stays")).messages).toHaveLength(1);
      await expect(toolkit.read("text:note")).rejects.toMatchObject({ code: "STORE_FAILED" });
      await expect(toolkit.user.putPrompt(prompt("late"))).rejects.toMatchObject({ code: "STORE_FAILED" });

      await other.user.putPrompt(prompt("changes", "otherwise"));
      await other.user.putPrompt(prompt("comes"));
      await other.user.remove("goes");
      const events: ToolkitEvent[] = [];
      const emitted = Promise.withResolvers<void>();
      toolkit.on("promptListChanged", (event) => {
        events.push(event);
        emitted.resolve();
      });
      failing.recover();
      await emitted.promise;
      expect(events).toMatchObject([{ added: ["user.comes"], changed: ["user.changes"], removed: ["user.goes"] }]);
      expect((await toolkit.list()).failures).toEqual([]);
      expect((await toolkit.list({ kind: "prompt" })).entries.map(({ ref, stale }) => [ref, stale])).toEqual([
        ["user.changes", false],
        ["user.comes", false],
        ["user.stays", false],
      ]);
      expect(events).toHaveLength(1);
    },
  );

  verifies(
    ["S3", "L3"],
    "one that fails from the beginning empties no list, and is tried again until it answers",
    async () => {
      const inner = memoryStore();
      await using writer = new Toolkit({ store: sharing(inner) });
      await writer.user.putPrompt(prompt("there"));
      const failing = new FailingStore(sharing(inner));
      failing.fail();
      const clock = virtualClock();
      const ping = defineTool({ name: "ping", run: () => "pong" });
      await using toolkit = new Toolkit({ store: failing.store, items: [ping], clock, random: () => 1 });
      expect(await toolkit.list()).toMatchObject({ count: 1, failures: [{ namespace: "user" }] });
      await expect(toolkit.lookup("there")).rejects.toThrow(/server is gone/);
      // It works again and reports nothing: only the timer reads again.
      failing.recoverSilently();
      expect(await toolkit.list()).toMatchObject({ count: 1, failures: [{ namespace: "user" }] });
      const isBack = new Promise((resolve) => toolkit.on("promptListChanged", resolve));
      await clock.advance(1_000);
      await isBack;
      expect(await toolkit.list()).toMatchObject({ count: 2, failures: [] });
    },
  );

  verifies(
    "S3",
    "a record that was edited by hand is among the failures, hides no other, and what was good before stays",
    async () => {
      const store = memoryStore();
      await using toolkit = new Toolkit({ store: sharing(store) });
      await toolkit.user.putPrompt(prompt("good"));
      await toolkit.user.putPrompt(prompt("spoiled", "as it was"));
      const emitted = new Promise((resolve) => toolkit.on("promptListChanged", resolve));
      const of = { collection: "prompt", owner: "" } as const;
      await store.put({ ...of, key: "spoiled", value: { text: "---\nname: spoiled\n---\n{{#if}}" } });
      await store.put({ ...of, key: "odd", value: 7 });
      await store.put({ ...of, key: "other-name", value: { text: prompt("x") } });
      await store.put({ collection: "resource", owner: "", key: "doc:x", value: { name: 7 } });
      await store.put({ ...of, key: "last", value: { text: prompt("last") } });
      await emitted;
      const all = async (of: Toolkit) => {
        const { entries, failures } = await of.list();
        return [entries.map(({ ref }) => ref), failures.map(({ error }) => error.message).sort()];
      };
      const [refs, failures] = await all(toolkit);
      expect(refs).toEqual(["user.good", "user.last", "user.spoiled"]);
      expect(failures).toEqual([
        expect.stringMatching(/^The record of the prompt "odd" cannot be read/),
        expect.stringMatching(/^The record of the resource "doc:x" cannot be read/),
        expect.stringMatching(/^other-name\.md: /),
        expect.stringMatching(/^spoiled\.md:4/),
      ]);
      const { messages } = await toolkit.render("spoiled");
      expect(await messages[0]?.content[0]?.text()).toBe("as it was");
      // A process that comes later never saw it as it was.
      await using late = new Toolkit({ store: sharing(store) });
      expect(await all(late)).toEqual([["user.good", "user.last"], failures]);
      await toolkit.user.remove("odd");
      await toolkit.user.putPrompt(prompt("spoiled", "repaired"));
      expect((await all(toolkit))[1]).toHaveLength(2);
    },
  );

  verifies("S3", "so is a resource under a key that is no URI, also after other changes", async () => {
    const store = memoryStore();
    const value = { form: "text", name: "odd", mediaType: "text/plain", size: 0 };
    await store.put({ collection: "resource", owner: "", key: "no uri", value });
    await using toolkit = new Toolkit({ store: sharing(store) });
    const failures = async () => (await toolkit.list()).failures.map(({ error }) => error.message);
    expect(await failures()).toEqual([expect.stringContaining('"no uri"')]);
    await toolkit.user.putPrompt(prompt("good"));
    expect(await failures()).toEqual([expect.stringContaining('"no uri"')]);
  });
});

import { describe, expect, test } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

const greeting = (text: string, name = "greet") => `---\nname: ${name}\n---\n${text}`;

async function rendered(toolkit: Toolkit, key: string, input: unknown = {}): Promise<string> {
  const { messages } = await toolkit.render(key, input);
  return (await messages[0]?.content[0]?.text()) ?? "";
}

/** Waits for an event that fits. */
function eventOf(toolkit: Toolkit, fits: (event: ToolkitEvent) => boolean): Promise<ToolkitEvent> {
  return new Promise((resolve) => {
    const stop = toolkit.on("*", (event) => {
      if (!fits(event)) return;
      stop();
      resolve(event);
    });
  });
}

describe("what is put", () => {
  verifies(
    "S2",
    "a prompt is listed, found and rendered when its put resolves, and each change has its event",
    async () => {
      await using toolkit = new Toolkit({ store: memoryStore() });
      const events: ToolkitEvent[] = [];
      toolkit.on("*", (event) => events.push(event));
      const first = await toolkit.user.putPrompt(greeting("Greet {{name}}."));
      expect(first).toMatchObject({ kind: "prompt", ref: "user.greet", version: 1, updatedAt: expect.any(Number) });
      expect((await toolkit.list()).entries.map(({ ref }) => ref)).toEqual(["user.greet"]);
      expect(await rendered(toolkit, "greet", { name: "Ada" })).toBe("Greet Ada.");
      expect(await toolkit.user.putPrompt(greeting("Hail {{name}}."))).toMatchObject({ version: 2 });
      expect(await rendered(toolkit, "user.greet", { name: "Ada" })).toBe("Hail Ada.");
      await toolkit.user.remove("greet");
      expect((await toolkit.list()).count).toBe(0);
      await expect(toolkit.lookup("user.greet")).rejects.toMatchObject({ code: "NOT_FOUND" });
      const lists = events.flatMap((event) => (event.type === "promptListChanged" ? [event] : []));
      expect(lists.map(({ added, changed, removed }) => ({ added, changed, removed }))).toEqual([
        { added: ["user.greet"], changed: [], removed: [] },
        { added: [], changed: ["user.greet"], removed: [] },
        { added: [], changed: [], removed: ["user.greet"] },
      ]);
    },
  );

  verifies("S2", "a resource is read by its URI, and its changes are emitted", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    const note = resource.text("note", "Buy milk.", { description: "What to buy." });
    await toolkit.user.putResource(note);
    expect(await (await toolkit.read("text:note")).text()).toBe("Buy milk.");
    const entry = await toolkit.lookup("text:note", { kind: "resource" });
    expect(entry).toMatchObject({ ref: "text:note#user", item: { description: "What to buy.", size: 9 } });
    const emitted = eventOf(toolkit, ({ type }) => type === "resourceUpdated");
    await toolkit.user.putResource(resource.text("note", "Buy more milk."));
    expect(await emitted).toEqual({ type: "resourceUpdated", namespace: "user", uri: "text:note" });
    expect(await (await toolkit.read("text:note#user")).text()).toBe("Buy more milk.");
    // A handle reads afresh.
    expect(await entry.item.text()).toBe("Buy more milk.");
  });

  verifies("S2", "every content comes back as it was: text, JSON, bytes, several parts, 10 MB", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    const large = Buffer.alloc(10 * 2 ** 20, "\0\xff\n", "latin1");
    const contents = [
      resource.text("empty", ""),
      resource.text("text", "ﬁne – 漢字 \u{1f9f5} \0 \ufeff"),
      resource.json("json", { a: [1, null, "ü"] }),
      await resource.data("large", large, { mediaType: "application/octet-stream" }),
      resource.fromJSON({
        ...{ kind: "resource", name: "both", uri: "multipart:both", mediaType: "multipart/mixed" },
        parts: [resource.text("one", "1").toJSON(), (await resource.data("two", new Uint8Array([0, 255]))).toJSON()],
      }),
    ];
    for (const content of contents) {
      await toolkit.user.putResource(content);
      const read = await toolkit.read(content.uri);
      expect(read.toJSON()).toEqual(content.toJSON());
      expect(await toolkit.user.get(content.uri)).toMatchObject({ kind: "resource", version: 1 });
    }
  });

  verifies("S2", "a prompt that is wrong is refused with its line, and nothing is stored", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    await toolkit.user.putPrompt(greeting("Good {{name}}."));
    const bad = { code: "INVALID_PROMPT", details: { line: 4 } };
    await expect(toolkit.user.putPrompt(greeting("Bad {{#if}}"))).rejects.toMatchObject(bad);
    await expect(toolkit.user.putPrompt(greeting("Bad {{ .name }}"))).rejects.toMatchObject(bad);
    await expect(toolkit.user.putPrompt(greeting("{{> nowhere}}"))).rejects.toThrow(/no partial "nowhere"/);
    await expect(toolkit.user.putPrompt("---\n---\nNo name.")).rejects.toMatchObject({ code: "INVALID_NAME" });
    await expect(toolkit.user.putPrompt("No front matter.", { name: "x" })).rejects.toMatchObject({
      code: "INVALID_PROMPT",
    });
    await expect(toolkit.user.putPrompt(greeting("x", "submit_output"))).rejects.toMatchObject({
      code: "RESERVED_NAME",
    });
    await expect(toolkit.user.putPrompt(greeting("x"), { name: "other" })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    await expect(toolkit.user.putResource({} as never)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(await toolkit.user.history("greet")).toHaveLength(1);
    expect(await toolkit.list()).toMatchObject({ count: 1, failures: [] });
  });

  verifies(
    "S2",
    "a partial is another text of the same principal; what would break a prompt that uses it is refused",
    async () => {
      await using toolkit = new Toolkit({ store: memoryStore() });
      await toolkit.user.putPrompt("Be {{mood}}.", { name: "_tone" });
      await toolkit.user.putPrompt(greeting("Greet. {{> tone}}"));
      expect((await toolkit.list()).entries.map(({ ref }) => ref)).toEqual(["user.greet"]);
      expect(await rendered(toolkit, "greet", { mood: "kind" })).toBe("Greet. Be kind.");
      const changed = eventOf(toolkit, ({ type }) => type === "promptListChanged");
      await toolkit.user.putPrompt("Stay {{mood}}.", { name: "_tone" });
      expect(await changed).toMatchObject({ changed: ["user.greet"] });
      expect(await rendered(toolkit, "greet", { mood: "kind" })).toBe("Greet. Stay kind.");
      await expect(toolkit.user.putPrompt("{{> tone}}", { name: "_tone" })).rejects.toThrow(
        /"greet" uses it as a partial/,
      );
      await expect(toolkit.user.remove("_tone")).rejects.toMatchObject({
        code: "CONFLICT",
        details: { owners: ["user.greet"] },
      });
      await toolkit.user.remove("greet");
      await toolkit.user.remove("_tone");
      await expect(toolkit.user.remove("_tone")).rejects.toMatchObject({ code: "NOT_FOUND" });
    },
  );

  verifies(
    "S2",
    "a version that is stale is CONFLICT, and of puts at one time with one version one succeeds",
    async () => {
      await using toolkit = new Toolkit({ store: memoryStore() });
      const { version } = await toolkit.user.putPrompt(greeting("1"), { expectedVersion: 0 });
      const puts = Array.from({ length: 20 }, (_, at) =>
        toolkit.user.putPrompt(greeting(`by ${at}`), { expectedVersion: version }),
      );
      const outcomes = await Promise.allSettled(puts);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "CONFLICT" });
      const winner = outcomes.findIndex(({ status }) => status === "fulfilled");
      expect(await rendered(toolkit, "greet")).toBe(`by ${winner}`);
      await expect(toolkit.user.remove("greet", { expectedVersion: 1 })).rejects.toMatchObject({ code: "CONFLICT" });
    },
  );

  verifies("S2", "past versions are listed, got and restored, after a removal too", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    for (const text of ["one", "two"]) await toolkit.user.putPrompt(greeting(text));
    await toolkit.user.remove("user.greet");
    expect((await toolkit.user.history("greet")).map(({ version }) => version)).toEqual([2, 1]);
    expect(await toolkit.user.get("greet", { version: 1 })).toMatchObject({ markdown: greeting("one") });
    await expect(toolkit.user.get("greet")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await toolkit.user.restore("greet", 1)).toMatchObject({ version: 4 });
    expect(await rendered(toolkit, "greet")).toBe("one");
    await expect(toolkit.user.restore("greet", 9)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(toolkit.user.history("missing")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  verifies("S2", "what is too much is LIMIT_EXCEEDED: items, bytes of one, bytes in all", async () => {
    const user = { maxItems: 3, maxItemBytes: 1_000, maxBytes: 2_000 };
    await using toolkit = new Toolkit({ store: memoryStore(), user });
    const exceeded = (limit: string) => ({ code: "LIMIT_EXCEEDED", details: { limit } });
    const text = (name: string, length: number) => resource.text(name, "x".repeat(length));
    await expect(toolkit.user.putResource(text("a", 1_000))).rejects.toMatchObject(exceeded("itemBytes"));
    await expect(toolkit.user.putPrompt(greeting("x".repeat(1_000)))).rejects.toMatchObject(exceeded("itemBytes"));
    await toolkit.user.putResource(text("a", 800));
    await toolkit.user.putResource(text("b", 800));
    await expect(toolkit.user.putResource(text("c", 800))).rejects.toMatchObject(exceeded("bytes"));
    await toolkit.user.putPrompt(greeting("x"));
    await expect(toolkit.user.putPrompt(greeting("x", "other"))).rejects.toMatchObject(exceeded("items"));
    // Each principal has as much.
    await toolkit.user.putPrompt(greeting("x"), { session: { id: "1", principal: "ada" } });
  });

  verifies("S2", "without a store there is nothing in user, and its methods say how to give one", async () => {
    await using toolkit = new Toolkit();
    expect(await toolkit.list({ namespace: "user" })).toMatchObject({ count: 0, failures: [] });
    const error = await toolkit.user.putPrompt(greeting("x")).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "NO_STORE", details: { operation: "putPrompt" } });
    for (const refused of [toolkit.user.get("x"), toolkit.user.import("."), toolkit.user.remove("x")])
      await expect(refused).rejects.toMatchObject({ code: "NO_STORE" });
    await toolkit.close();
    await expect(toolkit.user.get("x")).rejects.toMatchObject({ code: "CLOSED" });
  });

  verifies("N6", "user is last in the order of lookups, and makes a name ambiguous as any other", async () => {
    const greet = { kind: "prompt", name: "greet", render: async () => ({ messages: [] }) } as const;
    const store = memoryStore();
    await using toolkit = new Toolkit({ store: sharing(store), items: [greet] });
    await toolkit.user.putPrompt(greeting("x"));
    const emitted = eventOf(toolkit, ({ type }) => type === "ambiguousName");
    expect((await toolkit.lookup("greet")).ref).toBe("builtin.greet");
    expect(await emitted).toMatchObject({ candidates: ["builtin.greet", "user.greet"] });
    await using strict = new Toolkit({ store: sharing(store), items: [greet], strictNames: true });
    await expect(strict.lookup("greet")).rejects.toMatchObject({ code: "AMBIGUOUS_NAME" });
  });

  test("explain and toolsets know what is stored", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    await toolkit.user.putPrompt(greeting("x"));
    expect(await toolkit.explain("greet")).toMatchObject({ winner: { ref: "user.greet" }, alias: "user__greet" });
    expect((await toolkit.toolset({ include: ["user.*"] })).tools.map(({ alias }) => alias)).toEqual(["user__greet"]);
  });
});

describe("two toolkits on one store", () => {
  verifies("K2", "what one puts, changes and removes is in the other, with its event", async () => {
    const store = memoryStore();
    await using one = new Toolkit({ store: sharing(store) });
    await using other = new Toolkit({ store: sharing(store) });
    await other.start();
    expect((await other.list()).count).toBe(0);
    const added = eventOf(other, ({ type }) => type === "promptListChanged");
    await one.user.putPrompt(greeting("one"));
    expect(await added).toMatchObject({ added: ["user.greet"] });
    expect(await rendered(other, "greet")).toBe("one");
    const changed = eventOf(other, ({ type }) => type === "promptListChanged");
    await one.user.putPrompt(greeting("two"));
    expect(await changed).toMatchObject({ changed: ["user.greet"] });
    expect(await rendered(other, "greet")).toBe("two");
    const removed = eventOf(other, ({ type }) => type === "promptListChanged");
    await one.user.remove("greet");
    expect(await removed).toMatchObject({ removed: ["user.greet"] });
    await expect(other.lookup("greet")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  verifies("K2", "changes are emitted also where nothing was looked up yet", async () => {
    const store = memoryStore();
    await using one = new Toolkit({ store: sharing(store) });
    await using other = new Toolkit({ store: sharing(store) });
    await other.start();
    const added = eventOf(other, ({ type }) => type === "promptListChanged");
    await one.user.putPrompt(greeting("one"), { session: { id: "1", principal: "ada" } });
    expect(await added).toMatchObject({ added: ["user.greet"], principal: "ada" });
    const updated = eventOf(other, ({ type }) => type === "resourceUpdated");
    await one.user.putResource(resource.text("note", "1"));
    await one.user.putResource(resource.text("note", "2"));
    expect(await updated).toMatchObject({ uri: "text:note" });
    const removed = eventOf(other, ({ type }) => type === "resourceListChanged");
    await one.user.remove("text:note");
    expect(await removed).toMatchObject({ removed: ["text:note#user"] });
  });

  verifies("K2", "a store outlives its toolkits: what was put is there in the next", async () => {
    const store = memoryStore();
    await using one = new Toolkit({ store: sharing(store) });
    await one.user.putPrompt(greeting("one"));
    await one.close();
    await using next = new Toolkit({ store });
    const events: ToolkitEvent[] = [];
    next.on("*", (event) => events.push(event));
    expect(await rendered(next, "greet")).toBe("one");
    expect((await next.list()).count).toBe(1);
    // It was there before the first lookup: that is no change.
    expect(events.filter(({ type }) => type.endsWith("ListChanged"))).toEqual([]);
  });
});

import { describe, expect } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { ListPage, ListQuery } from "../../src/core/item.ts";
import type { Store } from "../../src/core/store.ts";
import { defineTool } from "../../src/core/tool.ts";
import { parsePrompt, resource } from "../../src/index.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

const prompt = (name: string, text = name) => `---\nname: ${name}\n---\n${text}`;
const of = { collection: "prompt", owner: "" } as const;

/** A store that many share, and the reads of one of them that ask for more than a part. */
function watched(inner: Store): {
  readonly store: Store;
  readonly whole: string[];
  readonly read: { records: number };
} {
  const whole: string[] = [];
  const read = { records: 0 };
  const store: Store = {
    ...sharing(inner),
    list: async (query, options) => {
      const isOfItems = query.collection === "prompt" || query.collection === "resource";
      if (isOfItems && options?.limit === undefined) whole.push(query.collection);
      const list = await inner.list(query, options);
      read.records += list.records.length;
      return list;
    },
  };
  return { store, whole, read };
}

function summary({ count, entries, failures }: ListPage) {
  return { count, refs: entries.map(({ ref }) => ref), failures: failures.length };
}

function items() {
  const tools = ["one", "two"].map((name) => defineTool({ name, run: () => name }));
  return [...tools, ...["a", "p3", "z"].map((name) => parsePrompt(prompt(name)))];
}

async function filled(inner: Store): Promise<Store> {
  await using writer = new Toolkit({ store: sharing(inner) });
  for (let at = 0; at < 30; at += 1) await writer.user.putPrompt(prompt(`p${at}`));
  for (const name of ["_tone", "_a", "_z"]) await writer.user.putPrompt("kind", { name });
  await writer.user.putPrompt(prompt("Zed", "{{> tone}}"));
  await writer.user.putPrompt(prompt("last"));
  for (const uri of ["memo:a", "memo:a!b", "memo:b"])
    await writer.user.putResource(resource.withUri(resource.text("memo", "text"), uri));
  return inner;
}

describe("a page of a list", () => {
  verifies(["K1", "S2"], "reads what is on it and before it, and no more, with the count of all", async () => {
    const { store, whole, read } = watched(await filled(memoryStore()));
    await using toolkit = new Toolkit({ store, items: items() });
    await toolkit.start();
    const page = await toolkit.list({ kind: "prompt", limit: 4, offset: 2 });
    expect(summary(page)).toEqual({
      count: 35,
      refs: ["builtin.z", "user.Zed", "user.last", "user.p0"],
      failures: 0,
    });
    expect(whole).toEqual([]);
    // The first six, and of these three partials that are no prompts.
    expect(read.records).toBe(9);
    expect((await toolkit.lookup("user.p20")).ref).toBe("user.p20");
    expect(whole).toEqual([]);
  });

  for (const [name, make] of [
    ["memory", memoryStore],
    ["SQLite", () => sqliteStore({ file: ":memory:" })],
  ] as const)
    verifies(["K1", "S2"], `is the same as of a whole list, whatever it is of: ${name}`, async () => {
      await using inner = make();
      await filled(inner);
      const queries: ListQuery[] = [
        {},
        { kind: "prompt" },
        { kind: ["prompt", "resource"] },
        { namespace: "user" },
        { namespace: ["user", "builtin"] },
        { namespace: "builtin" },
        { kind: "resource" },
        { name: "p3" },
      ];
      await using whole = new Toolkit({ store: sharing(inner), items: items() });
      for (const query of queries) {
        const all = await whole.list(query);
        for (const [offset, limit] of [0, 3, 34, 60].flatMap((from) => [0, 4, 100].map((to) => [from, to]))) {
          await using toolkit = new Toolkit({ store: sharing(inner), items: items() });
          const expected = summary({ ...all, entries: all.entries.slice(offset, (offset ?? 0) + (limit ?? 0)) });
          expect(summary(await toolkit.list({ ...query, offset, limit }))).toEqual(expected);
          expect(summary(await toolkit.list({ ...query, offset, limit }))).toEqual(expected);
        }
      }
    });

  verifies(["K2", "S2"], "follows changes by others, each with its event", async () => {
    const inner = await filled(memoryStore());
    await using other = new Toolkit({ store: sharing(inner) });
    const { store, whole } = watched(inner);
    await using toolkit = new Toolkit({ store });
    const query = { kind: "prompt", limit: 3 } as const;
    expect(summary(await toolkit.list(query)).refs).toEqual(["user.Zed", "user.last", "user.p0"]);
    const next = () =>
      new Promise<ToolkitEvent>((resolve) => {
        const stop = toolkit.on("promptListChanged", (event) => {
          stop();
          resolve(event);
        });
      });
    for (const [change, expected] of [
      [() => other.user.putPrompt(prompt("last", "changed")), { added: [], changed: ["user.last"], removed: [] }],
      [() => other.user.putPrompt("changed", { name: "_tone" }), { added: [], changed: ["user.Zed"], removed: [] }],
      [() => other.user.remove("last"), { added: [], changed: [], removed: ["user.last"] }],
      [() => other.user.putPrompt(prompt("new")), { added: ["user.new"], changed: [], removed: [] }],
    ] as const) {
      const emitted = next();
      await change();
      expect(await emitted).toMatchObject(expected);
    }
    expect(summary(await toolkit.list(query))).toEqual({
      count: 32,
      refs: ["user.Zed", "user.new", "user.p0"],
      failures: 0,
    });
    expect(whole).toEqual([]);
  });

  verifies(["K2", "S2"], "loses no change that comes while it is read", async () => {
    const inner = await filled(memoryStore());
    await using other = new Toolkit({ store: sharing(inner) });
    let meanwhile: (() => Promise<unknown>) | undefined = () => other.user.putPrompt(prompt("p0", "changed"));
    const store: Store = {
      ...sharing(inner),
      list: async (query, options) => {
        const list = await inner.list(query, options);
        const change = meanwhile;
        meanwhile = undefined;
        await change?.();
        return list;
      },
    };
    await using toolkit = new Toolkit({ store });
    const emitted = new Promise<ToolkitEvent>((resolve) => toolkit.on("promptListChanged", resolve));
    await toolkit.list({ kind: "prompt", limit: 5 });
    expect(await emitted).toMatchObject({ changed: ["user.p0"] });
    const { messages } = await toolkit.render("user.p0");
    expect(await messages[0]?.content[0]?.text()).toBe("changed");
  });

  verifies(["K1", "S2"], "has another prompt in the place of one that cannot be parsed, and the failure", async () => {
    const inner = await filled(memoryStore());
    await inner.put({ ...of, key: "aa", value: { text: "---\nname: aa\n---\n{{#if}}" } });
    await inner.put({ ...of, key: "ab", value: "no prompt" });
    await using toolkit = new Toolkit({ store: sharing(inner) });
    // The failure of a record that was read for a lookup stays one.
    await expect(toolkit.lookup("user.ab")).rejects.toMatchObject({ code: "NOT_FOUND" });
    const page = summary(await toolkit.list({ kind: "prompt", limit: 3 }));
    expect(page).toEqual({ count: 32, refs: ["user.Zed", "user.last", "user.p0"], failures: 2 });
  });

  verifies(["K1", "S2"], "is of all items where the store cannot count, and after many pages", async () => {
    const inner = await filled(memoryStore());
    const { store, whole } = watched(inner);
    const { count: _count, ...uncounted } = store;
    await using plain = new Toolkit({ store: uncounted });
    expect(summary(await plain.list({ kind: "prompt", limit: 1 }))).toMatchObject({ count: 32, refs: ["user.Zed"] });
    expect(whole).toEqual(["prompt", "resource"]);
    await using toolkit = new Toolkit({ store });
    for (let page = 0; page < 30; page += 1)
      expect(summary(await toolkit.list({ kind: "prompt", limit: 1, offset: page })).refs).toHaveLength(1);
    expect(whole).toEqual(["prompt", "resource", "prompt", "resource"]);
  });
});

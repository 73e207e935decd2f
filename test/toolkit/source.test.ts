import { describe, expect, test } from "vitest";
import type { Kind, Tool } from "../../src/core/item.ts";
import type { Source, SourceChange } from "../../src/core/source.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle, virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string, fields: Partial<Tool> = {}): Tool => ({ kind: "tool", name, run: () => name, ...fields });
const text = (uri: string) => resource.withUri(resource.text("note", uri), uri);
const refs = async (toolkit: Toolkit) => (await toolkit.list()).entries.map(({ ref }) => ref);

function mounted(source: Partial<Source>) {
  const clock = virtualClock();
  const warnings: string[] = [];
  const note = (message: string) => void warnings.push(message);
  const toolkit = new Toolkit({ clock, logger: { debug: note, info: note, warn: note, error: note } });
  let tell: (change: SourceChange) => void = () => {};
  let watched = 0;
  const handle = toolkit.addSource("pack", {
    ...source,
    watch: (listener) => {
      tell = listener;
      watched += 1;
      return () => {
        watched -= 1;
      };
    },
  });
  return { clock, handle, toolkit, warnings, tell: (change: SourceChange) => tell(change), watching: () => watched };
}

describe("a local source", () => {
  verifies(
    "E3",
    "a burst of changes is one re-list and one event a kind; what came back the same is none",
    async () => {
      let lists = 0;
      let tools = [tool("a")];
      const { clock, toolkit, tell } = mounted({
        tool: () => {
          lists += 1;
          return tools;
        },
      });
      await toolkit.start();
      const events: object[] = [];
      toolkit.on("*", (event) => events.push(event));
      for (let n = 0; n < 10; n++) tell({ kind: "tool" });
      await clock.advance(20);
      expect([lists, events]).toEqual([2, []]);
      tools = [tool("a"), tool("b")];
      for (let n = 0; n < 10; n++) tell({ kind: "tool" });
      await clock.advance(20);
      expect(lists).toBe(3);
      expect(events).toEqual([
        { type: "toolListChanged", namespace: "pack", added: ["pack.b"], removed: [], changed: [] },
      ]);
      tell({ kind: "resource", uri: "doc:x" });
      await settle();
      expect(events[1]).toEqual({ type: "resourceUpdated", namespace: "pack", uri: "doc:x" });
    },
  );

  verifies(
    "L3",
    "what fails keeps what there was, is shown with its reason, and heals; the other kinds go on",
    async () => {
      let fail = false;
      const { clock, toolkit, tell } = mounted({
        tool: async () => {
          if (fail) throw new Error("disk");
          return [tool("a")];
        },
        resource: () => [text("doc:x")],
      });
      await toolkit.start();
      fail = true;
      tell({ kind: "tool" });
      await clock.advance(20);
      const page = await toolkit.list();
      expect(page.entries.map(({ ref }) => ref)).toEqual(["pack.a", "doc:x#pack"]);
      expect(page.failures).toEqual([
        {
          namespace: "pack",
          since: clock.now(),
          error: expect.objectContaining({ code: "UNAVAILABLE", message: expect.stringContaining("disk") }),
        },
      ]);
      fail = false;
      tell({ kind: "tool" });
      await clock.advance(20);
      expect((await toolkit.list()).failures).toEqual([]);
    },
  );

  test("one bad item takes no sibling with it, now or when it is read again", async () => {
    const bad: unknown[] = [
      null,
      7,
      { ...tool("x"), name: "a b" },
      tool("nope", { input: { type: "nonsense" } }),
      text("doc:y"),
      tool("good"),
      tool("big", { annotations: { title: 1n } as never }),
    ];
    const { clock, toolkit, warnings, tell } = mounted({ tool: () => [tool("good"), ...bad, tool("also")] as Tool[] });
    await toolkit.start();
    for (let n = 0; n < 2; n++) {
      expect(await refs(toolkit)).toEqual(["pack.also", "pack.good"]);
      tell({ kind: "tool" });
      await clock.advance(20);
    }
    expect(warnings).toHaveLength(bad.length * 3);
    expect((await toolkit.list()).failures).toHaveLength(1);
  });

  test("a list that is none, and a kind there is not, harm nothing", async () => {
    const { clock, toolkit, warnings, tell } = mounted({
      tool: () => ({ length: 1 }) as never,
      prompt: () => undefined as never,
    });
    await toolkit.start();
    tell({ kind: "gadget" as Kind });
    await clock.advance(20);
    expect(await refs(toolkit)).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("tools"), expect.stringContaining("gadget")]);
  });

  test("one that hangs holds up start, lookups and lists no longer than startTimeoutMs, and its other kinds not at all", async () => {
    const { promise, resolve } = Promise.withResolvers<Tool[]>();
    const { clock, toolkit } = mounted({ tool: () => promise, resource: () => [text("doc:x")] });
    let started = false;
    const starting = toolkit.start().then(() => {
      started = true;
    });
    const looking = toolkit.lookup("slow").catch((error) => error);
    await settle();
    expect((await toolkit.lookup("doc:x", { kind: "resource" })).ref).toBe("doc:x#pack");
    await clock.advance(9_999);
    expect(started).toBe(false);
    await clock.advance(1);
    await starting;
    expect(await looking).toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("no answer within 10000 ms"),
    });
    expect((await toolkit.list()).failures).toHaveLength(1);
    resolve([tool("slow")]);
    await settle();
    expect(await refs(toolkit)).toEqual(["pack.slow", "doc:x#pack"]);
    expect((await toolkit.list()).failures).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  test("disposed of, it is gone with its items, told, aborted and not heard any more", async () => {
    let signal: AbortSignal | undefined;
    const { clock, handle, toolkit, tell, watching } = mounted({
      tool: (options) => {
        signal = options.signal;
        return [tool("a")];
      },
    });
    await toolkit.start();
    const events: object[] = [];
    toolkit.on("*", (event) => events.push(event));
    expect(watching()).toBe(1);
    handle[Symbol.dispose]();
    handle[Symbol.dispose]();
    tell({ kind: "tool" });
    tell({ kind: "resource", uri: "doc:x" });
    await clock.advance(20);
    expect(events).toEqual([
      { type: "toolListChanged", namespace: "pack", added: [], removed: ["pack.a"], changed: [] },
    ]);
    expect([watching(), signal?.aborted, clock.timers]).toEqual([0, true, 0]);
    await expect(toolkit.lookup("pack.a")).rejects.toMatchObject({ code: "NOT_FOUND" });
    toolkit.addSource("pack", {});
  });

  test("one that throws when it is watched leaves nothing behind", async () => {
    const toolkit = new Toolkit();
    const watch = () => {
      throw new Error("inotify");
    };
    expect(() => toolkit.addSource("pack", { watch, tool: () => [tool("a")] })).toThrow("inotify");
    for (const source of [null, undefined, 7])
      expect(() => toolkit.addSource("pack", source as never)).toThrow(
        expect.objectContaining({ code: "INVALID_INPUT" }),
      );
    toolkit.addSource("pack", { tool: () => [tool("a")] });
    expect((await toolkit.lookup("pack.a")).ref).toBe("pack.a");
  });

  verifies("N2", "a namespace that is taken is a CONFLICT", () => {
    const toolkit = new Toolkit();
    toolkit.addSource("pack", {});
    expect(() => toolkit.addSource("pack", {})).toThrow(expect.objectContaining({ code: "CONFLICT" }));
  });
});

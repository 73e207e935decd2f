import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { CallSettings } from "../../src/core/call-settings.ts";
import { ToolkitError } from "../../src/core/error.ts";
import type { CallContext, Tool } from "../../src/core/item.ts";
import type { CallOptions, CallReport, Progress } from "../../src/core/session.ts";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { Bench } from "../connection/support.ts";
import { failure, rejection } from "../support/failure.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

const cached: CallSettings = { cache: { ttlMs: 1_000 } };
const as = (principal: string | undefined, id = "s"): CallOptions => ({ session: { id, principal } });

let bench: Bench;
let runs: number;
beforeEach(() => {
  runs = 0;
});
afterEach(async () => {
  await bench.toolkit.close();
  expect(bench.clock.keptAlive).toBe(0);
  expect(bench.errors()).toEqual([]);
});
const counting = (fields: Partial<Tool> = {}): Tool => ({
  kind: "tool",
  name: "count",
  options: cached,
  ...fields,
  run: () => ({ ran: ++runs }),
});
const make = (options: ToolkitOptions) => {
  bench = new Bench(options);
  return bench.toolkit;
};

describe("the answer of a tool", () => {
  verifies("C9", "is kept where the tool or a setting says so, for as long as it says, and otherwise not", async () => {
    for (const [own, settings, kept] of [
      [undefined, {}, false],
      [cached, {}, true],
      [undefined, { "*.count": cached }, true],
      [cached, { "*": { cache: false } }, false],
    ] as const) {
      runs = 0;
      const toolkit = make({ items: [counting({ options: own })], settings });
      await toolkit.call("count");
      await bench.clock.advance(999);
      expect(await (await toolkit.call("count")).json()).toEqual({ ran: kept ? 1 : 2 });
      await bench.clock.advance(1);
      await toolkit.call("count");
      expect(runs).toBe(kept ? 2 : 3);
      await toolkit.close();
    }
  });

  const equal: readonly (readonly [what: string, a: unknown, b: unknown, same: boolean])[] = [
    ["the order of keys", { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }, true],
    ["a field that is undefined and one that is not there", { a: undefined }, {}, true],
    ["a number as it is written", { a: 1.0 }, { a: 1 }, true],
    ["another value", { a: 1 }, { a: 2 }, false],
    ["a number and its text", { a: 1 }, { a: "1" }, false],
    ["null and nothing", { a: null }, {}, false],
    ["the order of a list", { a: [1, 2] }, { a: [2, 1] }, false],
    ["a resource and its value", resource.json("r", { a: 1 }), { a: 1 }, true],
    ["what JSON does not hold", { a: Number.NaN }, { a: Number.NaN }, false],
    ["what is no plain object", { a: new Map([[1, 2]]) }, { a: new Map([[1, 2]]) }, false],
  ];
  for (const [what, a, b, same] of equal) {
    verifies("C9", `is that of an equal input: ${what}`, async () => {
      const toolkit = make({ items: [counting()] });
      await toolkit.call("count", a);
      await toolkit.call("count", b);
      expect(runs).toBe(same ? 1 : 2);
    });
  }

  verifies("C9", "is never given to another principal; sessions of one share it", async () => {
    const toolkit = make({ items: [counting()] });
    const ask = async (options: CallOptions) => (await toolkit.call("count", {}, options)).json();
    expect(await ask(as("ann", "1"))).toEqual({ ran: 1 });
    expect(await ask(as("ann", "2"))).toEqual({ ran: 1 });
    expect(await ask(as("bob", "1"))).toEqual({ ran: 2 });
    expect(await ask({})).toEqual({ ran: 3 });
    expect(await ask(as(undefined))).toEqual({ ran: 3 });
    expect(await ask(as("null"))).toEqual({ ran: 4 });
  });

  verifies("C9", "of a call inside another is that of the one who called from outside", async () => {
    const outer = defineTool({ name: "outer", run: async (_, { toolbox }) => toolbox.call("count") });
    const toolkit = make({ items: [counting(), outer] });
    for (const principal of ["ann", "bob", "ann"]) await toolkit.call("outer", {}, as(principal));
    expect(runs).toBe(2);
  });

  verifies(["C9", "I5"], "is another once the tool is another", async () => {
    const toolkit = make({ items: [counting()] });
    await toolkit.call("count");
    toolkit.remove("count");
    toolkit.add(counting());
    await toolkit.call("count");
    expect(runs).toBe(1);
    toolkit.remove("count");
    toolkit.add(counting({ options: { ...cached, version: "2" } }));
    await toolkit.call("count");
    expect(runs).toBe(2);
  });

  verifies(["C1", "C9"], "that was never added is its own, whatever its name", async () => {
    const toolkit = make({});
    const [one, other] = ["one", "other"].map((text) => defineTool({ name: "t", options: cached, run: () => text }));
    const texts: string[] = [];
    for (const tool of [one, other, one]) if (tool !== undefined) texts.push(await (await toolkit.call(tool)).text());
    expect(texts).toEqual(["one", "other", "one"]);
  });

  verifies("C9", "of a connector's tool is kept by a setting, until its server changes the tool", async () => {
    const descriptor = { name: "look", input: { type: "object" } };
    const far = new FakeConnector({ lists: { tool: [descriptor] } });
    far.answer = async () => resource.json("answer", { ran: ++runs });
    make({ settings: { "far.*": cached } });
    await bench.start({ far });
    for (let time = 0; time < 3; time += 1) await bench.toolkit.call("far.look");
    expect(runs).toBe(1);
    far.lists = { tool: [{ ...descriptor, description: "looks elsewhere" }] };
    far.session.host.changed({ kind: "tool" });
    await bench.clock.advance(600);
    await bench.toolkit.call("far.look");
    expect(runs).toBe(2);
  });

  verifies("C9", "goes by the key a tool makes of its input", async () => {
    const options = { cache: { ttlMs: 1_000, key: (input: unknown) => String((input as { id: unknown }).id) } };
    const toolkit = make({ items: [counting({ options })] });
    await toolkit.call("count", { id: 1, trace: "a" });
    await toolkit.call("count", { id: 1, trace: "b" });
    expect(runs).toBe(1);
    await toolkit.call("count", { id: 2 });
    expect(runs).toBe(2);
  });

  test("a key that throws is an error of the call", async () => {
    const boom = new Error("boom");
    const key = () => {
      throw boom;
    };
    const toolkit = make({ items: [counting({ options: { cache: { ttlMs: 1, key } } })] });
    expect(await failure(toolkit.call("count"))).toMatchObject({
      code: "TOOL_FAILED",
      cause: boom,
      ref: "builtin.count",
    });
  });

  verifies(["C9", "I2"], "goes by the input as it was mended, before defaults and transforms", async () => {
    const keys: unknown[] = [];
    const key = (input: unknown) => {
      keys.push(input);
      return JSON.stringify(input);
    };
    const input = z.object({ n: z.number(), day: z.string().default("Monday") });
    const toolkit = make({ items: [counting({ input, options: { cache: { ttlMs: 1_000, key } } })] });
    await toolkit.call("count", { n: "1" }, { coerce: true });
    await toolkit.call("count", { n: 1 });
    expect(keys).toEqual([{ n: 1 }, { n: 1 }]);
    expect(runs).toBe(1);
  });

  verifies("C9", "is not kept where it failed", async () => {
    const failing = defineTool({
      name: "t",
      options: cached,
      run: () => {
        runs += 1;
        if (runs < 3) throw new Error("not yet");
        return "at last";
      },
    });
    const toolkit = make({ items: [failing] });
    for (let time = 0; time < 2; time += 1) expect((await failure(toolkit.call("t"))).code).toBe("TOOL_FAILED");
    for (let time = 0; time < 2; time += 1) expect(await (await toolkit.call("t")).text()).toBe("at last");
    expect(runs).toBe(3);
  });

  verifies("C9", "is found out anew with bypassCache, and kept in place of the old", async () => {
    const toolkit = make({ items: [counting()] });
    await toolkit.call("count");
    expect(await (await toolkit.call("count", {}, { bypassCache: true })).json()).toEqual({ ran: 2 });
    expect(await (await toolkit.call("count")).json()).toEqual({ ran: 2 });
  });

  verifies(["C9", "C14"], "is not kept of a call with attachments", async () => {
    const toolkit = make({ items: [counting()] });
    const options = { attachments: [resource.text("a", "b")] };
    for (let time = 0; time < 2; time += 1) await toolkit.call("count", {}, options);
    expect(runs).toBe(2);
  });

  verifies("C9", "that was kept says so in the report", async () => {
    const toolkit = make({ items: [counting()] });
    const reports: CallReport[] = [{}, {}];
    for (const report of reports) await toolkit.call("count", {}, { report });
    expect(reports.map((report) => [report.cached ?? false, report.attempts ?? 1])).toEqual([
      [false, 1],
      [true, 0],
    ]);
  });

  verifies("C9", "cannot be changed for others by whoever gets it", async () => {
    const list = [1, 2, 3];
    const toolkit = make({ items: [defineTool({ name: "t", options: cached, run: () => ({ list }) })] });
    const first = (await toolkit.call("t")) as unknown as {
      json(): Promise<{ list: number[] }>;
      bytes(): Promise<Uint8Array>;
    };
    (await first.json()).list.push(4);
    (await first.bytes()).fill(0);
    list.push(5);
    expect(await (await toolkit.call("t")).json()).toEqual({ list: [1, 2, 3] });
  });

  verifies("C9", "is what it was, though the tool changes later what it made it of", async () => {
    const list = [1];
    const inner = defineTool({ name: "inner", options: cached, run: () => ({ list }) });
    const output = z.object({ list: z.array(z.number()), unit: z.string().default("km") });
    const outer = defineTool({
      name: "outer",
      input: z.object({}),
      output,
      run: async (_, { toolbox }) => (await toolbox.call("inner")) as never,
    });
    const toolkit = make({ items: [inner, outer] });
    await toolkit.call("inner");
    list.push(2);
    expect(await (await toolkit.call("outer")).json()).toEqual({ list: [1], unit: "km" });
  });

  verifies("C9", "that was longest unused is forgotten first, by number and by bytes", async () => {
    const big = defineTool({ name: "big", options: cached, run: ({ size }) => "x".repeat(Number(size) + 0 * ++runs) });
    const ask = async (toolkit: Bench["toolkit"], ...inputs: object[]) => {
      for (const input of inputs) await toolkit.call("big", { size: 10, ...input });
    };
    const few = make({ items: [big], cache: { maxEntries: 2 } });
    await ask(few, { a: 1 }, { a: 2 }, { a: 1 }, { a: 3 });
    expect(runs).toBe(3);
    await ask(few, { a: 1 });
    expect(runs).toBe(3);
    await ask(few, { a: 2 });
    expect(runs).toBe(4);
    await few.close();
    runs = 0;
    const small = make({ items: [big], cache: { maxBytes: 10_000 } });
    await ask(small, { size: 4_000, a: 1 }, { size: 4_000, a: 2 }, { size: 4_000, a: 3 }, { size: 4_000, a: 3 });
    expect(runs).toBe(3);
    await ask(small, { size: 4_000, a: 1 });
    expect(runs).toBe(4);
    // Larger than all may be together: it takes nobody's place.
    await ask(small, { size: 20_000 }, { size: 20_000 }, { size: 4_000, a: 1 });
    expect(runs).toBe(6);
  });
});

describe("equal calls at the same time", () => {
  /** A tool that works until it is told what it gives. */
  const worker = (options: CallSettings = cached) => {
    const contexts: CallContext[] = [];
    const turns: PromiseWithResolvers<unknown>[] = [];
    const tool = defineTool({
      name: "work",
      options,
      run: (_input, context) => {
        contexts.push(context);
        const turn = Promise.withResolvers<unknown>();
        turns.push(turn);
        return turn.promise;
      },
    });
    return { tool, contexts, turns };
  };

  verifies("C9", "share one run, and its answer is kept", async () => {
    const { tool, turns } = worker();
    const toolkit = make({ items: [tool] });
    const reports: CallReport[] = Array.from({ length: 5 }, () => ({}));
    const calls = reports.map((report) => toolkit.call("work", { a: 1 }, { report }));
    const other = toolkit.call("work", { a: 2 });
    await settle();
    expect(turns).toHaveLength(2);
    for (const turn of turns) turn.resolve("done");
    for (const call of [...calls, other]) expect(await (await call).text()).toBe("done");
    await toolkit.call("work", { a: 1 });
    expect(turns).toHaveLength(2);
    expect(reports.map((report) => [report.cached ?? false, report.attempts])).toEqual([
      [false, 1],
      ...Array.from({ length: 4 }, () => [true, 0]),
    ]);
  });

  verifies("C9", "of different principals do not", async () => {
    const { tool, turns } = worker();
    const toolkit = make({ items: [tool] });
    const calls = ["ann", "bob"].map((principal) => toolkit.call("work", {}, as(principal)));
    await settle();
    for (const [index, turn] of turns.entries()) turn.resolve(`for ${index}`);
    expect(await Promise.all(calls.map(async (call) => (await call).text()))).toEqual(["for 0", "for 1"]);
  });

  verifies(["C9", "C6"], "go on when one is aborted, the first too; the run ends with the last", async () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
    ]) {
      const { tool, contexts } = worker();
      const toolkit = make({ items: [tool] });
      const controllers = [0, 1, 2].map(() => new AbortController());
      const calls = controllers.map(({ signal }) => rejection(toolkit.call("work", {}, { signal })));
      await settle();
      for (const [count, index] of order.entries()) {
        controllers[index]?.abort(`reason ${index}`);
        expect(await calls[index]).toBe(`reason ${index}`);
        expect(contexts[0]?.signal.aborted).toBe(count === 2);
      }
      expect(contexts[0]?.signal.reason).toBe(`reason ${order[2]}`);
      await toolkit.close();
    }
  });

  verifies("C9", "after all have gone begin a run of their own, though the tool does not listen", async () => {
    const { tool, turns } = worker();
    const toolkit = make({ items: [tool] });
    const controller = new AbortController();
    const gone = rejection(toolkit.call("work", {}, { signal: controller.signal }));
    await settle();
    controller.abort("gone");
    await gone;
    const next = toolkit.call("work");
    await settle();
    expect(turns).toHaveLength(2);
    turns[0]?.resolve("old");
    turns[1]?.resolve("new");
    expect(await (await next).text()).toBe("new");
    expect(await (await toolkit.call("work")).text()).toBe("new");
  });

  verifies(["C9", "C7"], "each have their own time; the tool's own limit is that of the run", async () => {
    const { tool, turns } = worker({ ...cached, timeoutMs: 5_000 });
    const toolkit = make({ items: [tool] });
    const hasty = failure(toolkit.call("work", {}, { timeoutMs: 100 }));
    const patient = failure(toolkit.call("work"));
    await bench.clock.advance(1_000);
    expect(await hasty).toMatchObject({ code: "TIMEOUT", details: { limit: "call", limitMs: 100 } });
    await bench.clock.advance(5_000);
    expect(await patient).toMatchObject({ code: "TIMEOUT", details: { limit: "inactivity" } });
    expect(turns).toHaveLength(1);
  });

  verifies(["C9", "C7"], "all hear of its progress, and a listener that throws harms no other", async () => {
    const { tool, contexts, turns } = worker({ ...cached, timeoutMs: 1_000 });
    const toolkit = make({ items: [tool] });
    const heard: (readonly [who: number, progress: Progress])[] = [];
    const calls = [0, 1, 2].map((who) =>
      toolkit.call("work", {}, who === 2 ? {} : { onProgress: (progress) => void heard.push([who, progress]) }),
    );
    for (let step = 1; step <= 3; step += 1) {
      await bench.clock.advance(900);
      expect(await contexts[0]?.progress(step, 3)).toBe(true);
    }
    expect(heard.map(([who, { progress }]) => [who, progress])).toEqual([
      [0, 1],
      [1, 1],
      [0, 2],
      [1, 2],
      [0, 3],
      [1, 3],
    ]);
    turns[0]?.resolve("done");
    await Promise.all(calls);
    expect(await contexts[0]?.progress(4)).toBe(false);
  });

  verifies(["C3", "C9"], "all get the parts of it", async () => {
    const gate = Promise.withResolvers<void>();
    const tool = defineTool({
      name: "work",
      options: { ...cached, retry: { attempts: 2 } },
      run: async function* () {
        await gate.promise;
        yield "one";
        yield "two";
      },
    });
    const toolkit = make({ items: [tool] });
    const heard: string[][] = [[], []];
    const calls = heard.map((parts) =>
      toolkit.call("work", {}, { onPartial: async (part) => void parts.push(await part.text()) }),
    );
    await settle();
    gate.resolve();
    await Promise.all(calls);
    await settle();
    expect(heard).toEqual([
      ["one", "two"],
      ["one", "two"],
    ]);
  });

  verifies(["C6", "C9"], "made inside others go on when the one around the first is aborted", async () => {
    const { tool, turns } = worker();
    const outer = defineTool({ name: "outer", run: async (_, { toolbox }) => toolbox.call("work") });
    const toolkit = make({ items: [tool, outer] });
    const controller = new AbortController();
    const first = rejection(toolkit.call("outer", {}, { signal: controller.signal }));
    const second = toolkit.call("work");
    await settle();
    controller.abort("enough");
    expect(await first).toBe("enough");
    turns[0]?.resolve("done");
    expect(await (await second).text()).toBe("done");
    expect(turns).toHaveLength(1);
  });

  verifies(["C7", "C9"], "a sign of life of what they share keeps all the calls around them alive", async () => {
    const inner = defineTool({
      name: "inner",
      run: async (_, context) => {
        for (let step = 0; step < 4; step += 1) {
          await new Promise<void>((resolve) => void bench.clock.setTimer(resolve, 900));
          await context.progress(step);
        }
        await context.elicit("Still there?", { type: "object" });
      },
    });
    const mid = defineTool({
      name: "mid",
      options: { ...cached, retry: { attempts: 2 } },
      run: async (_, { toolbox }) => {
        await toolbox.call("inner");
        return "done";
      },
    });
    const outer = defineTool({
      name: "outer",
      run: async ({ id }, { toolbox }) => (await toolbox.call("mid")).text().then((text) => `${text} ${id}`),
    });
    const elicit = () =>
      new Promise<{ action: "cancel" }>(
        (resolve) => void bench.clock.setTimer(() => resolve({ action: "cancel" }), 5_000),
      );
    const toolkit = make({ items: [inner, mid, outer], timeoutMs: 1_000, delegate: { elicit } });
    const calls = [1, 2].map((id) => toolkit.call("outer", { id }));
    await bench.clock.advance(12_000);
    expect(await Promise.all(calls.map(async (call) => (await call).text()))).toEqual(["done 1", "done 2"]);
  });

  verifies(["C9", "C12"], "that fail each get an error of their own that says the same", async () => {
    const { tool, turns } = worker();
    const toolkit = make({ items: [tool], use: [(call, next) => next(call)] });
    const outer = defineTool({ name: "outer", run: async (_, { toolbox }) => toolbox.call("work") });
    const calls = [failure(toolkit.call(outer)), failure(toolkit.call("work")), failure(toolkit.call("work"))];
    await settle();
    expect(turns).toHaveLength(1);
    turns[0]?.reject(new ToolkitError("NOT_FOUND", "nothing there", { key: "k", suggestions: [] }));
    const [nested, ...errors] = await Promise.all(calls);
    expect(nested).toMatchObject({ code: "TOOL_FAILED", cause: { code: "NOT_FOUND" } });
    for (const error of errors) {
      expect(error).toMatchObject({ code: "NOT_FOUND", ref: "builtin.work", details: { key: "k" } });
    }
    expect(errors[0]).not.toBe(errors[1]);
  });

  verifies("C9", "a call never waits for what waits for it: itself, or another tool that is cached", async () => {
    const itself = defineTool({
      name: "itself",
      options: cached,
      run: async (_, { toolbox, depth }): Promise<string> =>
        depth > 2 ? "deep enough" : (await toolbox.call("itself")).text(),
    });
    const cross = (name: string, peer: string) =>
      defineTool({
        name,
        options: cached,
        run: async (_, { toolbox, depth }): Promise<string> => {
          await settle();
          return depth > 0 ? name : (await toolbox.call(peer)).text();
        },
      });
    const toolkit = make({ items: [itself, cross("left", "right"), cross("right", "left")] });
    expect(await (await toolkit.call("itself")).text()).toBe("deep enough");
    const both = await Promise.all([toolkit.call("left"), toolkit.call("right")]);
    expect(await Promise.all(both.map((content) => content.text()))).toEqual(["right", "left"]);
  });

  verifies(["C9", "C10"], "a call in the only place does not wait for one that waits for the place", async () => {
    const inner = defineTool({ name: "inner", options: cached, run: async () => "inner" });
    const outer = defineTool({
      name: "outer",
      run: async (_, { toolbox }) => {
        await settle();
        return (await toolbox.call("inner")).text();
      },
    });
    const toolkit = make({ items: [inner, outer], settings: { "*": { maxConcurrent: 1 } } });
    const calls = await Promise.all([toolkit.call("outer"), toolkit.call("inner")]);
    expect(await Promise.all(calls.map((content) => content.text()))).toEqual(["inner", "inner"]);
  });

  verifies(["C8", "C9"], "share its retries too", async () => {
    const { tool, turns } = worker({ ...cached, retry: { attempts: 3 } });
    const toolkit = make({ items: [tool] });
    const reports: CallReport[] = [{}, {}];
    const calls = reports.map((report) => toolkit.call("work", {}, { report }));
    await settle();
    turns[0]?.reject(new ToolkitError("UNAVAILABLE", "not now", { namespace: "builtin" }));
    await bench.clock.advance(1_000);
    turns[1]?.resolve("done");
    for (const call of calls) expect(await (await call).text()).toBe("done");
    expect(reports.map(({ attempts }) => attempts)).toEqual([2, 0]);
  });

  verifies(["C9", "M9"], "end with CLOSED when the toolkit closes", async () => {
    const { tool, contexts } = worker();
    const toolkit = make({ items: [tool] });
    const calls = [failure(toolkit.call("work")), failure(toolkit.call("work"))];
    await settle();
    await toolkit.close();
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(["CLOSED", "CLOSED"]);
    expect(contexts[0]?.signal.aborted).toBe(true);
  });

  test("a call made through the outer toolkit while its equal begins waits for it, and for no longer than its caller", async () => {
    const toolkit = make({
      items: [
        defineTool({
          name: "odd",
          options: { ...cached, timeoutMs: 1_000 },
          run: () => toolkit.call("odd"),
        }),
      ],
    });
    const call = failure(toolkit.call("odd"));
    await bench.clock.advance(2_000);
    expect((await call).code).toBe("TIMEOUT");
  });
});

const wrong: readonly (readonly [options: object, path: string])[] = [
  [{ cache: 7 }, "cache"],
  [{ cache: { maxEntries: 0 } }, "cache.maxEntries"],
  [{ cache: { maxBytes: 1.5 } }, "cache.maxBytes"],
  [{ maxQueuedCalls: 0 }, "maxQueuedCalls"],
  [{ settings: { "*": { cache: true } } }, 'settings["*"].cache'],
  [{ settings: { "*": { cache: { ttlMs: 0 } } } }, 'settings["*"].cache'],
  [{ settings: { "*": { cache: { ttlMs: 1, keys: 1 } } } }, 'settings["*"].cache'],
  [{ settings: { "*": { retry: { attempts: 0 } } } }, 'settings["*"].retry'],
  [{ settings: { "*": { retry: true } } }, 'settings["*"].retry'],
  [{ settings: { "*": { retry: { onlyUnsent: 1 } } } }, 'settings["*"].retry'],
  [{ settings: { "*": { rateLimit: { calls: 1 } } } }, 'settings["*"].rateLimit'],
  [{ settings: { "*": { rateLimit: { calls: 0.5, perMs: 1 } } } }, 'settings["*"].rateLimit'],
  [{ settings: { "*": { maxConcurrent: 0 } } }, 'settings["*"].maxConcurrent'],
  [{ settings: { "*": { coerce: "yes" } } }, 'settings["*"].coerce'],
];
for (const [options, path] of wrong) {
  verifies(
    "C2",
    `settings of steps that are none are refused with their path: ${JSON.stringify(options)}`,
    async () => {
      make({});
      const error = await failure((async () => new Toolkit(options))());
      expect(error).toMatchObject({ code: "INVALID_CONFIG", details: { path } });
    },
  );
}

verifies("C9", "a key of its own may be any JSON, and must be there at once", async () => {
  const keyed = (name: string, key: (input: { readonly a?: number }) => unknown) =>
    defineTool({
      name,
      options: { cache: { ttlMs: 60_000, key: key as (input: unknown) => string } },
      run: (input) => input,
    });
  await using toolkit = new Toolkit({
    items: [keyed("object", ({ a }) => ({ a })), keyed("nothing", () => undefined), keyed("later", async () => "key")],
  });
  expect(await (await toolkit.call("object", { a: 1 })).json()).toEqual({ a: 1 });
  expect(await (await toolkit.call("object", { a: 2 })).json()).toEqual({ a: 2 });
  for (const name of ["nothing", "later"]) expect((await failure(toolkit.call(name))).code).toBe("TOOL_FAILED");
});

import { afterEach, describe, expect, test } from "vitest";
import type { CallSettings } from "../../src/core/call-settings.ts";
import { ToolkitError } from "../../src/core/error.ts";
import type { Toolbox } from "../../src/core/item.ts";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Bench } from "../connection/support.ts";
import { failure, rejection } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

type Rules = Readonly<Record<string, CallSettings>>;
let bench: Bench;
const make = (options: ToolkitOptions) => {
  bench = new Bench(options);
  return bench.toolkit;
};
afterEach(async () => {
  await bench.toolkit.close();
  expect(bench.clock.keptAlive).toBe(0);
});

describe("a limit of rate", () => {
  const quick = (name: string, options?: CallSettings) => defineTool({ name, options, run: () => name });

  verifies("C10", "lets so many through in any such time, and tells the others how long to wait", async () => {
    const toolkit = make({ items: [quick("t", { rateLimit: { calls: 2, perMs: 1_000 } })] });
    await toolkit.call("t");
    await bench.clock.advance(600);
    await toolkit.call("t");
    const error = await failure(toolkit.call("t"));
    expect(error).toMatchObject({ code: "RATE_LIMITED", ref: "builtin.t", phase: "policy" });
    expect(error).toMatchObject({ details: { retryAfterMs: 400 } });
    await bench.clock.advance(400);
    await toolkit.call("t");
    expect(await failure(toolkit.call("t"))).toMatchObject({ details: { retryAfterMs: 600 } });
  });

  verifies(
    ["C10", "H4"],
    "counts each principal apart, new sessions without one together, and all together where it says so",
    async () => {
      const each = { rateLimit: { calls: 2, perMs: 60_000 } };
      const all = { rateLimit: { calls: 2, perMs: 60_000, per: "all" } } as const;
      const toolkit = make({ items: [quick("each", each), quick("all", all)] });
      const passed = async (
        name: string,
        owner: (time: number) => { readonly id: string; readonly principal?: string },
      ) => {
        let count = 0;
        for (let time = 0; time < 5; time += 1)
          await toolkit.call(name, {}, { session: owner(time) }).then(
            () => (count += 1),
            (error) => expect(error).toMatchObject({ code: "RATE_LIMITED" }),
          );
        return count;
      };
      const ann = (time: number) => ({ id: `ann ${time}`, principal: "ann" });
      const bob = (time: number) => ({ id: `bob ${time}`, principal: "bob" });
      const stranger = (time: number) => ({ id: `stranger ${time}` });
      expect([await passed("each", ann), await passed("each", bob), await passed("each", stranger)]).toEqual([2, 2, 2]);
      expect([await passed("all", ann), await passed("all", bob), await passed("all", stranger)]).toEqual([2, 0, 0]);
    },
  );

  const limit = (calls: number) => ({ rateLimit: { calls, perMs: 1_000 } });
  const shared: readonly (readonly [
    what: string,
    own: CallSettings | undefined,
    rules: Rules,
    a: number,
    b: number,
  ])[] = [
    ["none", undefined, {}, 9, 9],
    ["a tool's own, for it alone", limit(2), {}, 2, 2],
    ["one by glob, for all together", undefined, { "builtin.*": limit(4) }, 4, 0],
    ["one for a ref", undefined, { "builtin.a": limit(1) }, 1, 9],
    ["each that fits", limit(3), { "*": limit(5) }, 3, 2],
    ["a later one that lifts those before it", limit(1), { "*": { rateLimit: false }, "builtin.b": limit(3) }, 9, 3],
  ];
  for (const [what, own, settings, a, b] of shared) {
    verifies(["C10", "C2"], `holds as it is set: ${what}`, async () => {
      const toolkit = make({ items: [quick("a", own), quick("b", own)], settings });
      const passed = { a: 0, b: 0 };
      for (const name of ["a", "b"] as const) {
        for (let time = 0; time < 9; time += 1) {
          await toolkit.call(name).then(
            () => (passed[name] += 1),
            (error) => expect(error.code).toBe("RATE_LIMITED"),
          );
        }
      }
      expect(passed).toEqual({ a, b });
    });
  }

  verifies(["C9", "C10"], "a kept answer spends none of it", async () => {
    const options = { rateLimit: { calls: 1, perMs: 1_000 }, cache: { ttlMs: 60_000 } };
    const toolkit = make({ items: [quick("t", options)] });
    for (let time = 0; time < 5; time += 1) await toolkit.call("t");
    expect((await failure(toolkit.call("t", { other: true }))).code).toBe("RATE_LIMITED");
  });

  verifies(["C8", "C10"], "a retry spends of it, and what it refuses is not tried again by itself", async () => {
    const far = new FakeConnector({ lists: { tool: tools("t") } });
    let runs = 0;
    far.answer = async () => {
      runs += 1;
      throw new ToolkitError("UNAVAILABLE", "not there", { namespace: "far" });
    };
    make({ settings: { "far.*": { rateLimit: { calls: 2, perMs: 60_000 } } } });
    await bench.start({ far });
    const call = failure(bench.toolkit.call("far.t"));
    await bench.clock.advance(10_000);
    expect(runs).toBe(2);
    expect((await call).code).toBe("RATE_LIMITED");
  });
});

describe("a bound on calls at once", () => {
  /** A tool that works until it is told to stop. */
  const worker = (name: string, options?: CallSettings) => {
    const ends: (() => void)[] = [];
    const started: unknown[] = [];
    const tool = defineTool({
      name,
      options,
      run: (input) => {
        started.push(input.id);
        return new Promise<string>((resolve) => void ends.push(() => resolve(name)));
      },
    });
    const end = async () => {
      ends.shift()?.();
      await settle();
    };
    return { tool, started, end };
  };
  const session = (id: string, principal?: string) => ({ session: { id, principal } });

  verifies(["C10", "C2"], "holds no longer where a later setting lifts it", async () => {
    const { tool, started, end } = worker("t", { maxConcurrent: 1 });
    const toolkit = make({ items: [tool], settings: { "*": { maxConcurrent: false } } });
    const calls = [1, 2, 3].map((id) => toolkit.call("t", { id }));
    await settle();
    expect(started).toHaveLength(3);
    for (let time = 0; time < 3; time += 1) await end();
    await Promise.all(calls);
  });

  verifies("C10", "lets others wait, and each of them in when one is done", async () => {
    const { tool, started, end } = worker("t", { maxConcurrent: 2 });
    const toolkit = make({ items: [tool] });
    const calls = [1, 2, 3, 4].map((id) => toolkit.call("t", { id }));
    await settle();
    expect(started).toEqual([1, 2]);
    await end();
    expect(started).toEqual([1, 2, 3]);
    for (let time = 0; time < 3; time += 1) await end();
    expect(await Promise.all(calls.map(async (call) => (await call).text()))).toEqual(["t", "t", "t", "t"]);
  });

  verifies(
    "C10",
    "one caller with a thousand calls does not starve another; each one's calls keep their order",
    async () => {
      const { tool, started, end } = worker("t", { maxConcurrent: 1 });
      const toolkit = make({ items: [tool] });
      const calls = Array.from({ length: 1_000 }, (_, id) => toolkit.call("t", { id: `a${id}` }, session("1", "ann")));
      for (const id of ["b0", "b1"]) calls.push(toolkit.call("t", { id }, session("2", "bob")));
      calls.push(toolkit.call("t", { id: "c0" }, session("3")));
      calls.push(toolkit.call("t", { id: "d0" }));
      // Another session of somebody is no other caller.
      calls.push(toolkit.call("t", { id: "a-last" }, session("4", "ann")));
      await settle();
      for (let time = 0; time < 7; time += 1) await end();
      expect(started.slice(0, 8)).toEqual(["a0", "a1", "b0", "c0", "d0", "a2", "b1", "a3"]);
      const closing = Promise.all(calls.map((call) => rejection(call).catch(() => undefined)));
      await toolkit.close();
      await closing;
    },
  );

  verifies(["C6", "C7", "C10"], "an abort, a deadline and closing end the wait, and take no place", async () => {
    const { tool, started, end } = worker("t", { maxConcurrent: 1 });
    const toolkit = make({ items: [tool] });
    const first = toolkit.call("t", { id: 1 });
    const controller = new AbortController();
    const aborted = rejection(toolkit.call("t", { id: 2 }, { signal: controller.signal }));
    const late = failure(toolkit.call("t", { id: 3 }, { timeoutMs: 500 }));
    const patient = toolkit.call("t", { id: 4 });
    const closed = failure(toolkit.call("t", { id: 5 }));
    await settle();
    controller.abort("enough");
    expect(await aborted).toBe("enough");
    await bench.clock.advance(600);
    expect(await late).toMatchObject({ code: "TIMEOUT", details: { limit: "call", limitMs: 500 } });
    await end();
    await first;
    expect(started).toEqual([1, 4]);
    const ended = failure(patient);
    await toolkit.close();
    expect([(await ended).code, (await closed).code]).toEqual(["CLOSED", "CLOSED"]);
    expect(started).toEqual([1, 4]);
  });

  verifies("C10", "the time it waits is not that of the attempt", async () => {
    const { tool, end } = worker("t", { maxConcurrent: 1, timeoutMs: 1_000 });
    const toolkit = make({ items: [tool] });
    const first = toolkit.call("t");
    const second = toolkit.call("t");
    await bench.clock.advance(900);
    await end();
    await bench.clock.advance(900);
    await end();
    await Promise.all([first, second]);
  });

  verifies("C10", "too many that wait are refused, beginning with whoever has most of them", async () => {
    const { tool, started, end } = worker("t", { maxConcurrent: 1 });
    const toolkit = make({ items: [tool], maxQueuedCalls: 2 });
    const call = (id: string) => toolkit.call("t", { id }, session(id.charAt(0)));
    const kept = [call("a0"), call("a1")];
    const evicted = failure(call("a2"));
    expect(await failure(call("a3"))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { limit: "maxQueuedCalls", max: 2 },
    });
    kept.push(call("b0"));
    expect((await evicted).code).toBe("LIMIT_EXCEEDED");
    for (let time = 0; time < 3; time += 1) await end();
    await Promise.all(kept);
    expect(started).toEqual(["a0", "a1", "b0"]);
  });

  verifies("C10", "what fails, throws or is ended gives its place back", async () => {
    let runs = 0;
    const failing = defineTool({
      name: "t",
      options: { maxConcurrent: 1, timeoutMs: 100 },
      run: ({ how }) => {
        runs += 1;
        if (how === "throws") throw new Error("now");
        return how === "rejects" ? Promise.reject(new Error("later")) : new Promise(() => undefined);
      },
    });
    const toolkit = make({ items: [failing] });
    for (const how of ["throws", "rejects", "throws", "hangs", "hangs", "rejects"]) {
      const call = failure(toolkit.call("t", { how }));
      await bench.clock.advance(200);
      await call;
    }
    expect(runs).toBe(6);
  });

  verifies("C10", "what would be refused for its rate is refused at once, not after a wait", async () => {
    const { tool } = worker("t", { maxConcurrent: 1, rateLimit: { calls: 1, perMs: 60_000 } });
    const toolkit = make({ items: [tool] });
    const first = failure(toolkit.call("t"));
    expect((await failure(toolkit.call("t"))).code).toBe("RATE_LIMITED");
    await toolkit.close();
    expect((await first).code).toBe("CLOSED");
  });

  verifies(["C6", "C10"], "an abort at the very moment of its turn loses no place", async () => {
    for (let turns = 0; turns < 24; turns += 1) {
      const { tool, end } = worker("t", { maxConcurrent: 1 });
      const toolkit = make({ items: [tool] });
      const first = toolkit.call("t");
      const controller = new AbortController();
      const second = toolkit.call("t", {}, { signal: controller.signal }).catch(() => undefined);
      await settle();
      const ending = end();
      for (let turn = 0; turn < turns; turn += 1) await undefined;
      controller.abort("now");
      await Promise.all([ending, first, second]);
      const third = toolkit.call("t");
      await settle();
      await end();
      await end();
      expect(await (await third).text()).toBe("t");
      await toolkit.close();
    }
  });

  verifies("C10", "a backoff holds no place", async () => {
    const far = new FakeConnector({ lists: { tool: tools("flaky", "steady") } });
    let refusals = 1;
    far.answer = async (name) => {
      if (name === "flaky" && refusals-- > 0)
        throw new ToolkitError("UNAVAILABLE", "not now", { namespace: "far", retryInMs: 10_000 });
      return resource.text("answer", name);
    };
    make({ settings: { "far.*": { maxConcurrent: 1 } } });
    await bench.start({ far });
    const flaky = bench.toolkit.call("far.flaky");
    await settle();
    expect(await (await bench.toolkit.call("far.steady")).text()).toBe("steady");
    await bench.clock.advance(11_000);
    expect(await (await flaky).text()).toBe("flaky");
  });

  describe("of calls inside calls", () => {
    const inner = defineTool({ name: "inner", run: async () => "inner" });
    const other = defineTool({ name: "other", run: async (_, { toolbox }) => (await toolbox.call("inner")).text() });
    const outer = defineTool({ name: "outer", run: async (_, { toolbox }) => (await toolbox.call("other")).text() });
    const itself = defineTool({
      name: "itself",
      options: { maxConcurrent: 1 },
      run: async ({ left }, { toolbox }): Promise<string> =>
        Number(left) > 0 ? (await toolbox.call("itself", { left: Number(left) - 1 })).text() : "done",
    });

    const settings: readonly (readonly [what: string, rules: Rules])[] = [
      ["one for all", { "*": { maxConcurrent: 1 } }],
      [
        "one for each",
        { "*.outer": { maxConcurrent: 1 }, "*.other": { maxConcurrent: 1 }, "*.inner": { maxConcurrent: 1 } },
      ],
      [
        "the narrower first",
        { "*.inner": { maxConcurrent: 1 }, "*.other": { maxConcurrent: 1 }, "*": { maxConcurrent: 1 } },
      ],
    ];
    for (const [what, rules] of settings) {
      verifies("C10", `none waits for itself, nor two for each other: ${what}`, async () => {
        const toolkit = make({ items: [inner, other, outer, itself], settings: rules });
        const calls = ["outer", "other", "inner", "outer", "itself"].flatMap((name) =>
          Array.from({ length: 5 }, () => toolkit.call(name, { left: 3 })),
        );
        const texts = await Promise.all(calls.map(async (call) => (await call).text()));
        expect(texts).toHaveLength(25);
      });
    }

    verifies("C10", "two tools that call each other under bounds of one each both come to an end", async () => {
      const cross = (name: string, peer: string) =>
        defineTool({
          name,
          run: async ({ end }, { toolbox }): Promise<string> => {
            await settle();
            return end === true ? name : (await toolbox.call(peer, { end: true })).text();
          },
        });
      const rules = { "*.left": { maxConcurrent: 1 }, "*.right": { maxConcurrent: 1 } };
      const toolkit = make({ items: [cross("left", "right"), cross("right", "left")], settings: rules });
      const calls = await Promise.all([toolkit.call("left"), toolkit.call("right")]);
      expect(await Promise.all(calls.map((content) => content.text()))).toEqual(["right", "left"]);
    });

    verifies("C10", "what a call still makes of others when it is over waits like any other", async () => {
      const { tool, started, end } = worker("t");
      const toolboxes: Toolbox[] = [];
      const gone = defineTool({ name: "gone", run: (_, { toolbox }) => void toolboxes.push(toolbox) });
      const toolkit = make({ items: [tool, gone], settings: { "*": { maxConcurrent: 1 } } });
      await toolkit.call("gone");
      const calls = [toolkit.call("t", { id: 1 }), toolboxes[0]?.call("t", { id: 2 })];
      await settle();
      expect(started).toEqual([1]);
      await end();
      await end();
      await Promise.all(calls);
    });

    verifies("C10", "what one call makes of others waits for bounds that come after its own", async () => {
      let [now, most] = [0, 0];
      const step = defineTool({
        name: "step",
        run: async () => {
          most = Math.max(most, ++now);
          await settle();
          now -= 1;
        },
      });
      const flow = defineTool({
        name: "flow",
        run: async (_, { toolbox }) => {
          await Promise.all(Array.from({ length: 9 }, () => toolbox.call("step")));
        },
      });
      const toolkit = make({
        items: [step, flow],
        settings: { "*": { maxConcurrent: 4 }, "*.step": { maxConcurrent: 2 } },
      });
      await Promise.all([toolkit.call("flow"), toolkit.call("flow")]);
      expect(most).toBe(2);
    });
  });

  test("a prompt needs no place: what it calls does", async () => {
    const { tool, end } = worker("t");
    const toolkit = make({
      items: [tool, { kind: "prompt", name: "p", render: async () => ({ messages: [] }) }],
      settings: { "*": { maxConcurrent: 1 } },
      delegate: { runPrompt: async (_prompt, _input, { toolbox }) => toolbox.call("t") },
    });
    const calls = [toolkit.call("p"), toolkit.call("p")];
    await settle();
    await end();
    await end();
    expect(await Promise.all(calls.map(async (call) => (await call).text()))).toEqual(["t", "t"]);
  });
});

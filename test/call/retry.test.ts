import { afterEach, beforeEach, describe, expect } from "vitest";
import { z } from "zod";
import type { CallSettings } from "../../src/core/call-settings.ts";
import { ToolkitError } from "../../src/core/error.ts";
import type { ErrorCode } from "../../src/core/error-catalog.ts";
import type { CallContext, Tool } from "../../src/core/item.ts";
import type { CallOptions, CallReport } from "../../src/core/session.ts";
import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Bench } from "../connection/support.ts";
import { failure, rejection } from "../support/failure.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

const lost = (code: "UNAVAILABLE" | "OUTCOME_UNKNOWN", retryInMs?: number) =>
  new ToolkitError(code as ErrorCode, "the connection failed", { namespace: "far", retryInMs } as never);

describe("an attempt that failed with its connection", () => {
  let bench: Bench;
  let far: FakeConnector;
  /** The outcomes of the attempts, in order; then each succeeds. */
  let outcomes: unknown[];
  let attempts: number;

  const fail = async <T>(value: T): Promise<T> => {
    attempts += 1;
    const outcome = outcomes.shift();
    if (outcome !== undefined) throw outcome;
    return value;
  };
  beforeEach(async () => {
    bench = new Bench();
    outcomes = [];
    attempts = 0;
    const annotated = (name: string, annotations: object) => ({ name, input: { type: "object" }, annotations });
    far = new FakeConnector({
      lists: {
        tool: [
          annotated("write", { destructiveHint: true }),
          annotated("put", { idempotentHint: true }),
          annotated("look", { readOnlyHint: true }),
        ],
        prompt: [{ name: "brief" }],
        resource: [{ name: "map", uri: "memo://map" }],
      },
    });
    far.answer = async (name) => fail(resource.text("answer", name));
    await bench.start({ far });
    far.session.read = (uri) => fail(resource.text("read", uri));
    far.session.render = () => fail({ messages: [] });
  });
  afterEach(async () => {
    await bench.toolkit.close();
    expect(bench.errors()).toEqual([]);
    expect(bench.clock.keptAlive).toBe(0);
  });

  verifies("C8", "is made again where it was surely not sent, whatever the tool", async () => {
    outcomes = [lost("UNAVAILABLE"), lost("UNAVAILABLE")];
    const call = bench.toolkit.call("far.write");
    await bench.clock.advance(1_000);
    expect(await (await call).text()).toBe("write");
    expect(attempts).toBe(3);
  });

  verifies("C8", "is not made again where it was sent and the tool is not safe to repeat", async () => {
    outcomes = [lost("OUTCOME_UNKNOWN")];
    expect((await failure(bench.toolkit.call("far.write"))).code).toBe("OUTCOME_UNKNOWN");
    await bench.clock.advance(60_000);
    expect(attempts).toBe(1);
  });

  for (const name of ["put", "look"]) {
    verifies("C8", `is made again though it was sent, where the tool says that it is safe: ${name}`, async () => {
      outcomes = [lost("OUTCOME_UNKNOWN")];
      const call = bench.toolkit.call(`far.${name}`);
      await bench.clock.advance(1_000);
      expect(await (await call).text()).toBe(name);
      expect(attempts).toBe(2);
    });
  }

  verifies(["C8", "K3"], "is made again for a read and a render", async () => {
    outcomes = [lost("UNAVAILABLE"), lost("UNAVAILABLE")];
    const read = bench.toolkit.read("memo://map");
    await bench.clock.advance(5_000);
    expect(await (await read).text()).toBe("memo://map");
    expect(attempts).toBe(3);
    // The first one loads the validator, in real time.
    await bench.toolkit.render("far.brief");
    outcomes = [lost("UNAVAILABLE")];
    const render = bench.toolkit.render("far.brief");
    await bench.clock.advance(5_000);
    expect(await render).toEqual({ messages: [] });
  });

  verifies("C8", "is given up after three more, with backoff in between", async () => {
    outcomes = Array.from({ length: 9 }, () => lost("UNAVAILABLE"));
    const began = bench.clock.now();
    const call = failure(bench.toolkit.call("far.put"));
    const made: number[] = [];
    while (bench.clock.now() - began < 5_000) {
      const before = attempts;
      await bench.clock.advance(10);
      if (attempts > before) made.push(bench.clock.now() - began);
    }
    expect((await call).code).toBe("UNAVAILABLE");
    // Full jitter with a chance of 1 waits as long as it may: 100, 200, 400 ms, each with the time a lost session needs to be known.
    expect(made).toEqual([200, 500, 1_000]);
    expect(attempts).toBe(4);
  });

  verifies("C8", "one that may have run stays the news, whatever became of those after it", async () => {
    outcomes = [lost("OUTCOME_UNKNOWN"), lost("UNAVAILABLE"), lost("UNAVAILABLE"), lost("UNAVAILABLE")];
    const call = failure(bench.toolkit.call("far.put"));
    await bench.clock.advance(10_000);
    expect((await call).code).toBe("OUTCOME_UNKNOWN");
  });

  verifies("C8", "waits as the server says, and not at all where the caller has less time", async () => {
    outcomes = [lost("UNAVAILABLE", 7_000)];
    const call = bench.toolkit.call("far.write");
    await bench.clock.advance(6_900);
    expect(attempts).toBe(1);
    await bench.clock.advance(200);
    await call;
    expect(attempts).toBe(2);
    outcomes = [lost("UNAVAILABLE", 7_000)];
    expect((await failure(bench.toolkit.call("far.write", {}, { timeoutMs: 5_000 }))).code).toBe("UNAVAILABLE");
    expect(attempts).toBe(3);
  });

  verifies(["C6", "C8"], "an abort ends the wait for the next one", async () => {
    outcomes = [lost("UNAVAILABLE", 5_000)];
    const controller = new AbortController();
    const call = rejection(bench.toolkit.call("far.write", {}, { signal: controller.signal }));
    await settle();
    controller.abort("enough");
    expect(await call).toBe("enough");
    await bench.clock.advance(60_000);
    expect(attempts).toBe(1);
  });

  verifies(["C7", "C8"], "the caller's own limit binds all attempts together", async () => {
    outcomes = Array.from({ length: 9 }, () => lost("UNAVAILABLE", 900));
    const call = failure(bench.toolkit.call("far.put", {}, { timeoutMs: 1_000 }));
    await bench.clock.advance(1_100);
    expect(await call).toMatchObject({ code: "TIMEOUT", details: { limit: "call" } });
    await bench.clock.advance(60_000);
    expect(attempts).toBe(2);
  });

  verifies(["C8", "K1"], "the next one waits for the connection, in the time its caller has", async () => {
    far.answer = async (name) => {
      attempts += 1;
      if (attempts > 1) return resource.text("answer", name);
      far.outcomes = [new Error("down"), new Error("down")];
      far.session.lose();
      throw lost("OUTCOME_UNKNOWN");
    };
    const call = bench.toolkit.call("far.put");
    await bench.clock.advance(1_000);
    expect(bench.toolkit.connections[0]?.state).toBe("waiting");
    await bench.clock.advance(20_000);
    expect(await (await call).text()).toBe("put");
    expect([attempts, far.attempts]).toEqual([2, 4]);
  });

  verifies("C8", "waited for in vain it is not made again: the caller has waited once", async () => {
    far.outcomes = Array.from({ length: 20 }, () => new Error("down"));
    far.session.lose();
    await settle();
    const began = bench.clock.now();
    const call = failure(bench.toolkit.call("far.put"));
    await bench.clock.advance(60_000);
    expect(await call).toMatchObject({ code: "UNAVAILABLE", phase: "connect" });
    expect(bench.clock.now() - began).toBe(60_000);
  });

  verifies("C8", "closing ends the wait for the next one", async () => {
    outcomes = [lost("UNAVAILABLE", 5_000)];
    const call = failure(bench.toolkit.call("far.write"));
    await settle();
    await bench.toolkit.close();
    expect((await call).code).toBe("CLOSED");
  });
});

describe("a retry that is asked for", () => {
  const refused = (retryAfterMs: number) => new ToolkitError("RATE_LIMITED", "429", { retryAfterMs });
  const invalid = new ToolkitError("INVALID_OUTPUT", "odd", { issues: [] });
  const timedOut = "hang";
  const marked = { annotations: { idempotentHint: true } };
  const asks = { options: { retry: { attempts: 3 } } };
  const unsent = { options: { retry: { onlyUnsent: true } } };
  /** The outcome of each attempt; then it succeeds. */
  const tool = (fields: Partial<Tool>, outcomes: unknown[]) => {
    let runs = 0;
    const signals: AbortSignal[] = [];
    const flaky = defineTool({
      name: "flaky",
      ...fields,
      input: undefined,
      output: undefined,
      run: async (_input, context) => {
        signals.push(context.signal);
        const outcome = outcomes[runs++];
        if (outcome === timedOut) return new Promise(() => undefined);
        if (outcome !== undefined) throw outcome;
        return "done";
      },
    });
    return { flaky, signals, runs: () => runs };
  };

  const table: readonly (readonly [
    what: string,
    fields: Partial<Tool>,
    rules: Readonly<Record<string, CallSettings>>,
    outcomes: readonly unknown[],
    runs: number,
    code: string | undefined,
  ])[] = [
    ["a builtin that asks for nothing, once", marked, {}, [lost("UNAVAILABLE")], 1, "UNAVAILABLE"],
    [
      "what surely was not run, whatever the tool",
      { options: {} },
      { "*": { retry: {} } },
      [lost("UNAVAILABLE")],
      2,
      undefined,
    ],
    ["what was refused with 429, whatever the tool", {}, { "*": { retry: {} } }, [refused(300)], 2, undefined],
    [
      "not what may have run, of a tool that says nothing",
      {},
      { "*": { retry: {} } },
      [lost("OUTCOME_UNKNOWN")],
      1,
      "OUTCOME_UNKNOWN",
    ],
    ["not what was too late, of a tool that says nothing", {}, { "*": { retry: {} } }, [timedOut], 1, "TIMEOUT"],
    [
      "what may have run, of a tool that is marked",
      marked,
      { "*": { retry: {} } },
      [lost("OUTCOME_UNKNOWN")],
      2,
      undefined,
    ],
    ["what was too late, of a tool that is marked", marked, { "*": { retry: {} } }, [timedOut, timedOut], 3, undefined],
    ["what may have run, of a tool that asks for it", asks, {}, [lost("OUTCOME_UNKNOWN"), timedOut], 3, undefined],
    [
      "what may have run, where a setting names the tool",
      {},
      { "builtin.flaky": { retry: {} } },
      [timedOut],
      2,
      undefined,
    ],
    [
      "what surely was not run, of a tool that asks for no more",
      unsent,
      {},
      [lost("UNAVAILABLE"), refused(300)],
      3,
      undefined,
    ],
    [
      "not what may have run, of a tool that asks for no more, also where it is marked",
      { ...marked, ...unsent },
      {},
      [lost("OUTCOME_UNKNOWN")],
      1,
      "OUTCOME_UNKNOWN",
    ],
    [
      "not what may have run, of a tool that asks for no more, where a glob fits it",
      unsent,
      { "builtin.*": { retry: {} } },
      [lost("OUTCOME_UNKNOWN")],
      1,
      "OUTCOME_UNKNOWN",
    ],
    ["so often as it says", asks, {}, [timedOut, timedOut, timedOut], 3, "TIMEOUT"],
    ["not where the toolkit says no", asks, { "*": { retry: false } }, [timedOut], 1, "TIMEOUT"],
    ["not with one attempt", asks, { "*": { retry: { attempts: 1 } } }, [timedOut], 1, "TIMEOUT"],
    ["never what the tool got wrong", { ...marked, ...asks }, {}, [new Error("boom")], 1, "TOOL_FAILED"],
    ["never an odd result", { ...marked, ...asks }, {}, [invalid], 1, "INVALID_OUTPUT"],
  ];
  for (const [what, fields, settings, outcomes, runs, code] of table) {
    verifies(["C8", "C2"], `repeats ${what}`, async () => {
      const made = tool(fields, [...outcomes]);
      const bench = new Bench({ items: [made.flaky], settings, timeoutMs: 500 });
      const report: CallReport = {};
      const call = bench.toolkit.call("flaky", {}, { report }).then(
        () => undefined,
        (error) => error.code,
      );
      await bench.clock.advance(10_000);
      expect([await call, made.runs(), report.attempts ?? 1]).toEqual([code, runs, runs]);
      await bench.toolkit.close();
      expect(bench.clock.keptAlive).toBe(0);
    });
  }

  verifies("C8", "waits as its setting says, each time up to twice as long", async () => {
    const made = tool({ ...marked, options: { retry: { attempts: 5, baseMs: 1_000, maxMs: 3_000 } } }, [
      ...Array.from({ length: 4 }, () => lost("UNAVAILABLE")),
    ]);
    const bench = new Bench({ items: [made.flaky] });
    const call = bench.toolkit.call("flaky");
    const waits: number[] = [];
    while (made.runs() < 5) {
      const before = made.runs();
      let waited = 0;
      for (; made.runs() === before; waited += 100) await bench.clock.advance(100);
      waits.push(waited);
    }
    // Each with the 100 ms a lost session needs to be known.
    expect(waits.slice(1)).toEqual([2_100, 3_100, 3_100]);
    await call;
    await bench.toolkit.close();
  });

  verifies(
    ["C7", "C8"],
    "each attempt has a signal of its own; what the one before still does is no sign of life of it",
    async () => {
      const signals: AbortSignal[] = [];
      const contexts: CallContext[] = [];
      const slow = defineTool({
        name: "slow",
        options: { retry: { attempts: 2 }, timeoutMs: 1_000 },
        run: (_input, context) => {
          contexts.push(context);
          signals.push(context.signal);
          return new Promise(() => undefined);
        },
      });
      const bench = new Bench({ items: [slow, defineTool({ name: "other", run: () => "ran" })] });
      const heard: unknown[] = [];
      const call = failure(bench.toolkit.call("slow", {}, { onProgress: (progress) => void heard.push(progress) }));
      await bench.clock.advance(1_500);
      expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
      const [first, second] = contexts;
      expect(await first?.progress(1)).toBe(false);
      await expect(first?.toolbox.call("other")).rejects.toMatchObject({ code: "TIMEOUT" });
      expect(await second?.progress(2)).toBe(true);
      expect(heard).toEqual([{ progress: 2 }]);
      expect(first?.session).toBe(second?.session);
      await bench.clock.advance(2_000);
      expect(await call).toMatchObject({ code: "TIMEOUT", details: { limit: "inactivity" } });
      expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
      await bench.toolkit.close();
    },
  );

  verifies(["C6", "C7", "C8"], "an abort and the caller's limit reach the attempt that is there", async () => {
    const ends: readonly [options: (signal: AbortSignal) => CallOptions, reason: unknown][] = [
      [(signal) => ({ signal }), "enough"],
      [() => ({ timeoutMs: 1_500 }), { code: "TIMEOUT", details: { limit: "call" } }],
    ];
    for (const [options, reason] of ends) {
      const made = tool({ options: { retry: { attempts: 3 }, timeoutMs: 1_000 } }, [timedOut, timedOut, timedOut]);
      const bench = new Bench({ items: [made.flaky], use: [(call, next) => next(call)] });
      const controller = new AbortController();
      const call = rejection(bench.toolkit.call("flaky", {}, options(controller.signal)));
      await bench.clock.advance(1_400);
      expect(made.runs()).toBe(2);
      controller.abort("enough");
      await bench.clock.advance(200);
      if (typeof reason === "string") expect(await call).toBe(reason);
      else expect(await call).toMatchObject(reason as object);
      expect(made.signals.map(({ aborted }) => aborted)).toEqual([true, true]);
      await bench.clock.advance(60_000);
      expect(made.runs()).toBe(2);
      await bench.toolkit.close();
    }
  });

  verifies("C8", "a storm of failures adds a tenth to the load, and not more", async () => {
    let runs = 0;
    const far = new FakeConnector({ lists: { tool: [{ name: "look", input: { type: "object" } }] } });
    far.answer = async () => {
      runs += 1;
      throw lost("UNAVAILABLE");
    };
    const bench = new Bench();
    await bench.start({ far });
    const codes = Array.from({ length: 1_000 }, () => failure(bench.toolkit.call("far.look")));
    await bench.clock.advance(30_000);
    expect(new Set((await Promise.all(codes)).map(({ code }) => code))).toEqual(new Set(["UNAVAILABLE"]));
    const retries = runs - 1_000;
    // A tenth, the reserve of 10, and what came back of it in the seconds the waits took.
    expect(retries).toBeGreaterThanOrEqual(100);
    expect(retries).toBeLessThanOrEqual(120);
    await bench.toolkit.close();
  });

  verifies(
    ["C8", "M7"],
    "what a lost connection took with it is made again by the next one, however much that is",
    async () => {
      let runs = 0;
      const far = new FakeConnector({
        lists: { tool: [{ name: "look", input: { type: "object" }, annotations: { readOnlyHint: true } }] },
      });
      far.answer = () => {
        runs += 1;
        return runs > 300 ? Promise.resolve(resource.text("answer", "seen")) : new Promise(() => undefined);
      };
      const bench = new Bench();
      await bench.start({ far });
      const calls = Array.from({ length: 300 }, () => bench.toolkit.call("far.look"));
      await settle();
      far.session.lose();
      await bench.clock.advance(5_000);
      for (const call of calls) expect(await (await call).text()).toBe("seen");
      expect([runs, far.attempts]).toEqual([600, 2]);
      await bench.toolkit.close();
    },
  );

  verifies("C8", "leaves a server that answers 429 alone for as long as it says", async () => {
    const made = tool(asks, [refused(3_000)]);
    const bench = new Bench({ items: [made.flaky] });
    const call = bench.toolkit.call("flaky");
    await bench.clock.advance(2_900);
    expect(made.runs()).toBe(1);
    await bench.clock.advance(200);
    await call;
    expect(made.runs()).toBe(2);
    await bench.toolkit.close();
  });

  verifies(["C6", "C8"], "a call that is aborted while its input is validated never runs", async () => {
    const validated = Promise.withResolvers<void>();
    let runs = 0;
    const input = z.object({}).refine(async () => {
      await validated.promise;
      return true;
    });
    const counting = () => {
      runs += 1;
    };
    const bench = new Bench({ items: [defineTool({ name: "t", ...asks, input, run: counting })] });
    const controller = new AbortController();
    const call = rejection(bench.toolkit.call("t", {}, { signal: controller.signal }));
    await settle();
    controller.abort("enough");
    expect(await call).toBe("enough");
    validated.resolve();
    await settle();
    expect(runs).toBe(0);
    await bench.toolkit.close();
  });

  verifies(
    ["C8", "K1"],
    "a call that waits for a connection in vain says so, also where its own time is over first",
    async () => {
      const far = new FakeConnector({
        lists: { tool: [{ name: "look", input: { type: "object" }, annotations: { readOnlyHint: true } }] },
      });
      const bench = new Bench();
      await bench.start({ far });
      far.outcomes = Array.from({ length: 20 }, () => new Error("down"));
      far.session.lose();
      await settle();
      const call = failure(bench.toolkit.call("far.look", {}, { timeoutMs: 1_000 }));
      await bench.clock.advance(2_000);
      expect(await call).toMatchObject({ code: "UNAVAILABLE", phase: "connect" });
      await bench.toolkit.close();
    },
  );
});

import { trace } from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { defineTool, ToolkitError } from "../../src/index.ts";
import { recordSpans, registerContext, unregister } from "../support/telemetry.ts";
import { verifies } from "../support/verifies.ts";
import { bench, counted, eventually, flow } from "./support.ts";

/** The error of a promise. */
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("a run of a workflow", () => {
  verifies("W3", "is a plain value that can be looked at, while it runs and afterwards", async () => {
    const gate = Promise.withResolvers<string>();
    const held = defineTool({ name: "held", run: () => gate.promise });
    const first = counted("first");
    await using made = await bench(
      [
        { id: "one", tool: "first", params: { text: "${input.word}", password: "xyz" } },
        { id: "never", when: "${input.absent}", tool: "first" },
        { id: "two", tool: "held" },
      ],
      { items: [first.tool, held] },
    );
    const result = made.run({ word: "hello" });
    const running = await eventually(async () => {
      const [run] = await made.flows.runs({ status: "running" });
      return run?.steps.two === undefined ? undefined : run;
    });
    expect(running).toMatchObject({
      ref: "workflow.test",
      input: { word: "hello" },
      steps: {
        one: { state: "succeeded", input: { text: "hello", password: "***" }, result: "hello" },
        two: { state: "running" },
      },
    });
    gate.resolve("done");
    expect(await result).toBe("done");
    const ended = await made.flows.get(running.id);
    expect(ended).toMatchObject({ status: "succeeded", result: "done", steps: { never: { state: "skipped" } } });
    expect(JSON.parse(JSON.stringify(ended))).toEqual(ended);
    expect(await made.flows.runs({ status: "running" })).toEqual([]);
    expect(await made.flows.runs({ session: { id: "b", principal: "bob" } })).toEqual([]);
    await expect(made.flows.get("none")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  verifies(
    ["W3", "H3"],
    "waits for the approval of a step, and goes on with it: its caller is answered then",
    async () => {
      const before = counted("before");
      const pay = counted("pay", { options: { needsApproval: true } });
      await using made = await bench(
        [
          { id: "begin", tool: "before" },
          { id: "payment", tool: "pay", params: { text: "${steps.begin} and paid" } },
          { id: "after", tool: "before", params: { text: "${steps.payment}!" } },
        ],
        { items: [before.tool, pay.tool] },
      );
      const { approvals } = made.toolkit;
      const pending = await failureOf(made.run());
      if (!ToolkitError.is(pending, "PENDING")) throw pending;
      const answer = approvals.wait(pending.details.id);
      const [waiting] = await made.flows.runs({ status: "waiting" });
      expect(pending.details.metadata).toMatchObject({ run: waiting?.id });
      expect(waiting).toMatchObject({ steps: { begin: { state: "succeeded" }, payment: { state: "waiting" } } });
      const [wait] = waiting?.waitsFor ?? [];
      expect((await approvals.resolve(wait?.id ?? "", { approved: true })).status).toBe("succeeded");
      expect(await (await answer).text()).toBe("before and paid!");
      expect(before.calls).toEqual(["before", "before and paid!"]);
      expect(pay.calls).toHaveLength(1);
      expect(await eventually(async () => (await made.flows.runs({ status: "succeeded" }))[0])).toMatchObject({
        result: "before and paid!",
        waitsFor: [],
      });
    },
  );

  verifies(["W3", "H2"], "whose approval is denied fails, or has its fallback run", async () => {
    const pay = counted("pay", { options: { needsApproval: true } });
    const say = counted("say");
    const fallback = [{ id: "other", tool: "say", params: { text: "unpaid" } }];
    for (const [steps, outcome] of [
      [[{ id: "payment", tool: "pay" }], /STEP_FAILED.*DENIED/],
      [[{ id: "payment", tool: "pay", fallback }], /unpaid/],
    ] as const) {
      await using made = await bench(steps, { items: [pay.tool, say.tool] });
      const pending = await failureOf(made.run());
      if (!ToolkitError.is(pending, "PENDING")) throw pending;
      const answer = made.toolkit.approvals.wait(pending.details.id).then(
        (content) => content.text(),
        (error) => JSON.stringify(error),
      );
      const [waiting] = await made.flows.runs({ status: "waiting" });
      await made.toolkit.approvals.resolve(waiting?.waitsFor[0]?.id ?? "", { approved: false });
      expect(await answer).toMatch(outcome);
    }
    expect(pay.calls).toEqual([]);
  });

  verifies("W3", "does what can be done while a branch of it waits", async () => {
    const pay = counted("pay", { options: { needsApproval: true } });
    const say = counted("say");
    await using made = await bench(
      [
        {
          id: "both",
          parallel: [
            { id: "paid", forEach: "${input.sums}", tool: "pay", params: { text: "${item}" } },
            { id: "said", tool: "say" },
          ],
        },
      ],
      { items: [pay.tool, say.tool] },
    );
    const pending = await failureOf(made.run({ sums: ["1", "2"] }));
    if (!ToolkitError.is(pending, "PENDING")) throw pending;
    expect(say.calls).toEqual(["say"]);
    const answer = made.toolkit.approvals.wait(pending.details.id);
    const [waiting] = await made.flows.runs({ status: "waiting" });
    const ids = waiting?.waitsFor.map(({ id }) => id) ?? [];
    expect(ids).toHaveLength(2);
    for (const id of ids) await made.toolkit.approvals.resolve(id, { approved: true });
    expect(await (await answer).json()).toEqual({ paid: ["1", "2"], said: "say" });
    expect([pay.calls.toSorted(), say.calls]).toEqual([["1", "2"], ["say"]]);
  });

  verifies(["W3", "C3"], "that its caller ends has none of its steps at work afterwards", async () => {
    let atWork = 0;
    const slow = defineTool({
      name: "slow",
      run: async (_input, { signal }) => {
        atWork += 1;
        await new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            atWork -= 1;
            reject(signal.reason);
          });
        });
      },
    });
    const parallel = [
      { id: "each", forEach: "${input.list}", concurrency: 3, tool: "slow" },
      { id: "other", tool: "slow", fallback: { value: "never" } },
    ];
    await using made = await bench([{ id: "both", parallel }], { items: [slow] });
    const stop = new AbortController();
    const call = made.toolkit.call("workflow.test", { list: [1, 2, 3, 4] }, { signal: stop.signal });
    await eventually(() => (atWork === 4 ? true : undefined));
    stop.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    expect(await eventually(async () => (await made.flows.runs({ status: "cancelled" }))[0])).toBeDefined();
    expect(atWork).toBe(0);
  });

  verifies(
    "W3",
    "is cancelled by its id, at work or waiting: what it waits for is denied, and its caller reads it",
    async () => {
      const pay = counted("pay", { options: { needsApproval: true } });
      await using made = await bench([{ id: "payment", tool: "pay" }], { items: [pay.tool] });
      const pending = await failureOf(made.run());
      if (!ToolkitError.is(pending, "PENDING")) throw pending;
      const answer = failureOf(made.toolkit.approvals.wait(pending.details.id));
      const [waiting] = await made.flows.runs();
      await made.flows.cancel(waiting?.id ?? "");
      expect(await answer).toMatchObject({ code: "CLOSED", details: { what: "run" } });
      expect(await made.flows.get(waiting?.id ?? "")).toMatchObject({ status: "cancelled", error: { code: "CLOSED" } });
      expect(await made.toolkit.approvals.list({ status: "pending" })).toEqual([]);
      await expect(made.flows.cancel(waiting?.id ?? "")).rejects.toMatchObject({ code: "CONFLICT" });

      const held = defineTool({ name: "held", run: () => new Promise(() => undefined) });
      await using other = await bench([{ id: "held", tool: "held" }], { items: [held] });
      const call = failureOf(other.run());
      const atWork = await eventually(async () => (await other.flows.runs())[0]?.id);
      await other.flows.cancel(atWork);
      const message = `The run "${atWork}" of workflow.test was cancelled.`;
      expect(await call).toMatchObject({ code: "CLOSED", message, details: { what: "run" } });
      expect(await other.flows.get(atWork)).toMatchObject({ status: "cancelled", error: { code: "CLOSED", message } });
    },
  );

  verifies("W3", "ends a step, and itself, at its limit of time", async () => {
    const forever = defineTool({ name: "forever", run: () => new Promise(() => undefined) });
    const step = { id: "slow", tool: "forever", timeoutMs: 30 };
    await using made = await bench([step], { items: [forever] });
    expect(await failureOf(made.run())).toMatchObject({
      code: "STEP_FAILED",
      details: { step: "slow", cause: { code: "TIMEOUT" } },
    });
    await using mended = await bench([{ ...step, fallback: { value: "late" } }], { items: [forever] });
    expect(await mended.run()).toBe("late");
    const limited = flow([{ id: "slow", tool: "forever", fallback: { value: "late" } }], { timeoutMs: 30 });
    await using whole = await bench([limited], { items: [forever] });
    expect(await failureOf(whole.run())).toMatchObject({ code: "TIMEOUT" });
    expect((await whole.flows.runs())[0]).toMatchObject({ status: "failed", error: { code: "TIMEOUT" } });
  });

  verifies(
    "W3",
    "of a thousand elements has no more at once than it may, reports each, and keeps a small record",
    async () => {
      let atWork = 0;
      let most = 0;
      const square = defineTool<{ n: number }>({
        name: "square",
        run: async ({ n }) => {
          most = Math.max(most, ++atWork);
          await new Promise(setImmediate);
          atWork -= 1;
          return { square: n * n };
        },
      });
      const each = { id: "each", forEach: "${input.list}", concurrency: 16, tool: "square", params: { n: "${item}" } };
      await using made = await bench([{ ...each, output: "${steps.each.square}" }], { items: [square] });
      const list = Array.from({ length: 1_000 }, (_, n) => n);
      const reports: number[] = [];
      const content = await made.toolkit.call(
        "workflow.test",
        { list },
        { onProgress: ({ progress }) => reports.push(progress) },
      );
      expect(await content.json()).toEqual(list.map((n) => n * n));
      expect(most).toBe(16);
      expect(reports).toHaveLength(1_001);
      expect(reports).toEqual(reports.toSorted((one, other) => one - other));
      const [run] = await made.flows.runs();
      expect(Object.keys(run?.steps ?? {})).toHaveLength(1_000);
      expect(JSON.stringify(run).length).toBeLessThan(300_000);
    },
  );

  verifies("W3", "keeps no result that is too large, and no more than a run may have", async () => {
    const large = defineTool({ name: "large", run: () => "x".repeat(60_000) });
    const limits = { maxResultBytes: 50_000 };
    await using made = await bench([{ id: "much", tool: "large" }], { items: [large], limits });
    const code = (limit: string) => ({
      details: { cause: { code: "LIMIT_EXCEEDED", message: expect.stringContaining(limit) } },
    });
    expect(await failureOf(made.run())).toMatchObject(code("maxResultBytes"));
    const each = { id: "much", forEach: "${input.list}", tool: "large" };
    await using several = await bench([each], { items: [large], limits: { maxRunBytes: 100_000 } });
    expect(await failureOf(several.run({ list: [1, 2, 3] }))).toMatchObject(code("maxRunBytes"));
    expect(JSON.stringify(await several.flows.runs()).length).toBeLessThan(200_000);
  });

  verifies(["W3", "C10"], "inside of itself ends at the depth that calls may have", async () => {
    await using made = await bench([{ id: "again", tool: "workflow.test" }]);
    const error = await failureOf(made.run());
    expect(error).toMatchObject({
      code: "STEP_FAILED",
      message: expect.stringMatching(/9 calls deep and 8 are allowed/),
    });
    expect((await made.flows.runs()).every(({ status }) => status === "failed")).toBe(true);
  });
});

verifies("W3", "an input that is nested too deep is refused with the bound, and no run begins", async () => {
  const say = counted("say");
  await using made = await bench([{ id: "say", tool: "say" }], { items: [say.tool] });
  const nested = (levels: number) => JSON.parse(`{"v":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`);
  expect(await made.run(nested(500))).toBe("say");
  for (const levels of [501, 5_000])
    expect(await failureOf(made.run(nested(levels)))).toMatchObject({
      code: "INVALID_INPUT",
      message: "The input of workflow.test is nested deeper than 500 levels: make it flatter.",
    });
  expect(await made.flows.runs()).toHaveLength(1);
});

describe("the span of a step", () => {
  const spans = recordSpans();
  beforeEach(() => {
    trace.setGlobalTracerProvider(spans.provider);
    registerContext();
  });
  afterEach(unregister);

  verifies(["W3", "O1"], "is inside that of the workflow, around that of its call", async () => {
    const say = counted("say");
    const steps = [{ id: "each", forEach: "${input.list}", tool: "say", params: { text: "${item}" } }];
    await using made = await bench(steps, { items: [say.tool] });
    await made.run({ list: ["a", "b"] });
    const whole = spans.span("execute_tool test").spanContext();
    const each = spans.spans.filter((span) => span.name === "workflow_step each");
    expect(each.map(({ attributes }) => attributes["toolweave.step"]).toSorted()).toEqual(["each[0]", "each[1]"]);
    for (const { parentSpanContext } of each) expect(parentSpanContext?.spanId).toBe(whole.spanId);
    const calls = spans.spans.filter((span) => span.name === "execute_tool say");
    const around = calls.map(({ parentSpanContext }) => parentSpanContext?.spanId ?? "");
    expect(around.toSorted()).toEqual(each.map((span) => span.spanContext().spanId).toSorted());
  });
});

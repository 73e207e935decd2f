import { afterEach, beforeEach, describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { defineTool } from "../../src/core/tool.ts";
import { toolContent } from "../../src/mcp/result-content.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { RunPolicy, ToolCall } from "../../src/toolset/toolset-types.ts";
import { rejection } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

describe("a run", () => {
  let toolkit: Toolkit;
  let ran: string[];

  const add = defineTool({
    name: "add",
    input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    options: { evaluations: ["sums", "style"] },
    run: ({ a, b }: { a: number; b: number }) => {
      ran.push(`add ${a} ${b}`);
      return { sum: a + b };
    },
  });
  const finish = defineTool({
    name: "finish",
    options: { takesControl: true },
    run: (input) => {
      ran.push("finish");
      return { final: input };
    },
  });
  const fail = defineTool({
    name: "fail",
    run: () => {
      throw new Error("out of ink");
    },
  });
  const wait = defineTool({
    name: "wait",
    run: (_input, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  const far = new FakeConnector({ lists: { tool: tools("forecast") } });

  beforeEach(async () => {
    ran = [];
    toolkit = new Toolkit({ items: [add, finish, fail, wait] });
    toolkit.addConnector(far, { namespace: "weather" });
    await toolkit.start();
  });
  afterEach(() => toolkit.close());

  const call = (name: string, input: unknown = {}, id = name): ToolCall => ({ id, name, input });
  const begin = async (policy?: RunPolicy, options = {}) => (await toolkit.toolset({ policy })).begin(options);

  verifies("T3", "answers every call, in order: what succeeded, failed, is unknown and is refused", async () => {
    const run = await begin({ block: ["weather.*"] });
    const answers = await run.execute([
      call("ad", {}, "1"),
      call("add", { a: 1, b: 2 }, "2"),
      call("fail", {}, "3"),
      call("weather__forecast", {}, "4"),
      call("add", { a: "one" }, "5"),
    ]);
    expect(answers.map(({ id, status, ref, error }) => [id, status, ref, error?.code])).toEqual([
      ["1", "failed", undefined, "NOT_FOUND"],
      ["2", "ok", "builtin.add", undefined],
      ["3", "failed", "builtin.fail", "TOOL_FAILED"],
      ["4", "denied", "weather.forecast", "DENIED"],
      ["5", "failed", "builtin.add", "INVALID_INPUT"],
    ]);
    expect(answers[0]?.error?.message).toContain('Did you mean "add"');
    expect(await answers[1]?.content?.json()).toEqual({ sum: 3 });
    expect(answers[1]?.debug).toEqual({
      origin: "builtin",
      forced: false,
      exclusive: false,
      cached: false,
      attempts: 1,
    });
    expect(answers[3]?.debug.attempts).toBe(0);
    expect(answers.every(({ durationMs }) => durationMs >= 0)).toBe(true);
    expect(run.evaluations).toEqual(["sums", "style"]);
  });

  verifies("T3", "identical calls run once, and each is answered", async () => {
    const run = await begin();
    const answers = await run.execute([
      call("add", { a: 1, b: 2 }, "first"),
      call("add", { b: 2, a: 1 }, "second"),
      call("add", { a: 2, b: 1 }, "third"),
      call("nothing", {}, "x"),
      call("nothing", {}, "y"),
    ]);
    expect(ran).toEqual(["add 1 2", "add 2 1"]);
    expect(answers.map(({ id, debug }) => [id, debug.duplicateOf])).toEqual([
      ["first", undefined],
      ["second", "first"],
      ["third", undefined],
      ["x", undefined],
      ["y", "x"],
    ]);
    expect(answers[1]?.content).toBe(answers[0]?.content);
    expect(run.toolCalls).toBe(2);
  });

  verifies("T3", "runs them side by side, and keeps what was called turn by turn", async () => {
    let open = 0;
    let most = 0;
    far.answer = async () => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return resource.text("answer", "sun");
    };
    const run = await begin();
    await run.execute([1, 2, 3].map((day) => call("weather__forecast", { day }, String(day))));
    expect(most).toBe(3);
    await run.execute([call("add", { a: 1, b: 1 })]);
    expect(run.turn).toBe(2);
    expect(run.history.map(({ calls, answers }) => [calls.length, answers.length])).toEqual([
      [3, 3],
      [1, 1],
    ]);
  });

  verifies("T4", "one that takes control runs alone, and gives the final answer", async () => {
    const run = await begin();
    const together = await run.execute([call("add", { a: 1, b: 2 }), call("finish", {})]);
    expect(ran).toEqual([]);
    expect(together.map(({ status, error }) => [status, error?.details])).toEqual([
      ["denied", { rule: "takesControl" }],
      ["denied", { rule: "takesControl" }],
    ]);
    expect(together[0]?.error?.message).toMatch(
      /finish takes control and must be called alone.*none of these calls ran/,
    );
    expect([run.final, run.toolCalls]).toEqual([undefined, 0]);
    const [alone] = await run.execute([call("finish", { done: true }, "a"), call("finish", { done: true }, "b")]);
    expect(ran).toEqual(["finish"]);
    expect(run.final).toBe(alone?.content);
    expect(await run.final?.json()).toEqual({ final: { done: true } });
  });

  const beside: readonly [string, ToolCall, string][] = [
    ["is unknown", call("nosuch", {}, "b"), "NOT_FOUND"],
    ["is malformed", { ...call("add", {}, "b"), malformed: "Unexpected end" }, "INVALID_INPUT"],
    ["the policy refuses", call("weather__forecast", { day: 1 }, "b"), "DENIED"],
  ];
  for (const [what, other, code] of beside) {
    verifies("T4", `one that takes control does not run beside a call that ${what}`, async () => {
      const run = await begin({ block: ["weather.*"] });
      const answers = await run.execute([call("finish", {}, "a"), other, call("add", { a: 1, b: 2 }, "c")]);
      expect(answers.map(({ error }) => [error?.code, error?.details])).toEqual([
        ["DENIED", { rule: "takesControl" }],
        [code, code === "DENIED" ? { rule: "takesControl" } : expect.anything()],
        ["DENIED", { rule: "takesControl" }],
      ]);
      expect([ran, run.final, run.toolCalls]).toEqual([[], undefined, 0]);
    });
  }

  verifies("T3", "answers a malformed call with what is wrong, and makes the others", async () => {
    const run = await begin();
    const answers = await run.execute([
      { ...call("add", {}, "a"), malformed: "Unexpected end" },
      call("add", { a: 1, b: 2 }, "b"),
    ]);
    expect(answers.map(({ id, status }) => [id, status])).toEqual([
      ["a", "failed"],
      ["b", "ok"],
    ]);
    expect(answers[0]?.error?.message).toMatch(/The arguments of add are no JSON: Unexpected end/);
  });

  verifies("T4", "two of one tool that takes control are not one where they differ", async () => {
    const run = await begin();
    await run.execute([call("finish", { a: 1 }, "a"), call("finish", { a: 2 }, "b")]);
    expect(ran).toEqual([]);
  });

  const limits: readonly [string, RunPolicy, string][] = [
    ["every call where none may be made", { toolChoice: "none" }, "toolChoice"],
    ["what is beyond the calls of a turn", { maxToolCallsPerTurn: 0 }, "maxToolCallsPerTurn"],
    ["what is blocked", { block: ["other.*", "builtin.a*"] }, "block builtin.a*"],
    ["what is not among those allowed", { allow: ["weather.*"] }, "allow weather.*"],
    ["what is beyond the calls of a conversation", { maxTotalToolCalls: 0 }, "maxTotalToolCalls"],
    ["what somebody decides against", { decide: () => false }, "decide"],
    ["what somebody decides against later", { decide: async () => ({ deny: "not on Sundays" }) }, "decide"],
    ["what nobody could decide", { decide: () => Promise.reject(new Error("no answer")) }, "decide"],
    [
      "by the first rule that does",
      { toolChoice: "none", block: ["*"], allow: [], maxTotalToolCalls: 0, maxToolCallsPerTurn: 0 },
      "toolChoice",
    ],
    ["by lists before the total", { block: ["*"], maxTotalToolCalls: 0 }, "block *"],
    ["by the total before what is decided", { maxTotalToolCalls: 0, decide: () => false }, "maxTotalToolCalls"],
  ];
  for (const [what, policy, rule] of limits) {
    verifies("T5", `its policy refuses ${what}`, async () => {
      const [answer] = await (await begin(policy)).execute([call("add", { a: 1, b: 2 })]);
      expect(answer).toMatchObject({
        status: "denied",
        error: { code: "DENIED", details: { rule }, ref: "builtin.add" },
      });
      expect(ran).toEqual([]);
    });
  }

  verifies(
    "T5",
    "counts per turn and in all, goes on from what was called before, and counts no refusals",
    async () => {
      const run = await begin(
        { maxToolCallsPerTurn: 2, maxTotalToolCalls: 5, block: ["builtin.fail"] },
        { toolCalls: 2 },
      );
      const status = async (...calls: ToolCall[]) => (await run.execute(calls)).map((answer) => answer.status);
      const sum = (b: number) => call("add", { a: 0, b }, String(b));
      expect(await status(sum(1), call("fail"), sum(2), sum(3))).toEqual(["ok", "denied", "ok", "denied"]);
      expect(run.toolCalls).toBe(4);
      expect(await status(sum(1), sum(2))).toEqual(["ok", "denied"]);
      expect(run.toolCalls).toBe(5);
    },
  );

  verifies("T5", "whoever decides sees the call and its session", async () => {
    const seen: unknown[] = [];
    const session = { id: "s", principal: "ada" };
    const policy: RunPolicy = {
      decide: ({ entry, input, ...rest }) => seen.push([entry.ref, input, rest.session]) > 0,
    };
    await (await begin(policy, { session })).execute([call("add", { a: 1, b: 2 })]);
    expect(seen).toEqual([["builtin.add", { a: 1, b: 2 }, session]]);
  });

  verifies(["T3", "C6"], "an abort ends the run and all its calls", async () => {
    const controller = new AbortController();
    const run = await begin(undefined, { signal: controller.signal });
    const running = rejection(run.execute([call("wait"), call("add", { a: 1, b: 2 })]));
    controller.abort("enough");
    expect(await running).toBe("enough");
    expect(await rejection(run.execute([call("add", { a: 1, b: 2 })]))).toBe("enough");
  });

  verifies(
    ["T3", "C6"],
    "an abort ends the calls of all runs that share its signal, whichever listeners it has",
    async () => {
      const controller = new AbortController();
      const { signal } = controller;
      // Such as a framework that listens first.
      signal.addEventListener("abort", () => {});
      const aborted: string[] = [];
      const [one, other] = [await begin(undefined, { signal }), await begin(undefined, { signal })];
      const listening = defineTool({
        name: "listening",
        run: (_input, context) => {
          context.signal.addEventListener("abort", () => aborted.push("listening"));
          return new Promise<never>(() => {});
        },
      });
      toolkit.add(listening);
      const third = await begin(undefined, { signal });
      const running = [
        one.execute([call("wait", {}, "1"), call("add", { a: 1, b: 2 })]),
        other.execute([call("wait", {}, "2")]),
        third.execute([call("listening")]),
        toolkit.call("listening", {}, { signal }),
      ].map(rejection);
      await new Promise(setImmediate);
      controller.abort("enough");
      controller.abort("again");
      expect(await Promise.all(running)).toEqual(["enough", "enough", "enough", "enough"]);
      expect(aborted).toEqual(["listening", "listening"]);
      expect(await rejection(one.execute([call("wait")]))).toBe("enough");
      expect(await rejection(toolkit.call("wait", {}, { signal }))).toBe("enough");
    },
  );

  verifies("T3", "a call that waits for something is pending; one whose tool aborts itself has failed", async () => {
    const ref = "weather.forecast";
    const details = { id: "7", reason: "approval", message: "Asked.", tool: ref, arguments: {}, expiresAt: 0 };
    const pending = new ToolkitError("PENDING", "asked", details, { ref });
    far.answer = () => Promise.reject(pending);
    const [first] = await (await begin()).execute([call("weather__forecast")]);
    expect([first?.status, first?.error?.code]).toEqual(["pending", "PENDING"]);
  });

  verifies("T3", "names the resources a result holds or links to", async () => {
    const block = (fields: object) => ({ type: "text", text: "", ...fields });
    const content = [
      block({ type: "resource_link", uri: "memo://a", name: "a" }),
      block({ type: "resource", resource: { uri: "memo://b", text: "b" } }),
      block({ type: "resource_link", uri: "memo://a", name: "again" }),
    ];
    far.answer = async () => toolContent({ content }, { name: "forecast", server: "far" });
    const [answer] = await (await begin()).execute([call("weather__forecast")]);
    expect(answer?.references).toEqual(["memo://a", "memo://b"]);
  });
});

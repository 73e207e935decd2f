import { describe, expect, test } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { defineTool, resource, type Tool, Toolkit, ToolkitError } from "../../src/index.ts";
import { replayed } from "../../src/tape/index.ts";
import { scriptedModel, virtualClock } from "../../src/testing/index.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";
import { planPrompt, scripted, tapeOf, twoCities, weatherTool } from "./support.ts";

const recorded = async (prompt = planPrompt()) => {
  const { tool } = weatherTool();
  await using toolkit = scripted(twoCities, [prompt, tool]);
  return await tapeOf(toolkit, () => toolkit.call("plan", { city: "Bern" }));
};

describe("a replay", () => {
  verifies("Y2", "runs a prompt again, and neither a tool nor a model", async () => {
    const { tool, ran } = weatherTool();
    await using replay = await replayed(await recorded(), { items: [planPrompt(), tool] });
    const [run] = await replay.run();
    expect([run?.ref, await run?.answer?.text(), ran, replay.difference]).toEqual([
      "builtin.plan",
      "It is sunny.",
      [],
      undefined,
    ]);
  });

  verifies("Y2", "names the step and the part in which a changed prompt differs", async () => {
    await using replay = await replayed(await recorded(), { items: [planPrompt("Plan two days in")] });
    await expect(replay.run()).rejects.toMatchObject({
      code: "REPLAY_DIFFERS",
      details: { ref: "builtin.plan", step: 0, part: "message 1 of the request" },
      message: expect.stringContaining("Plan two days in"),
    });
    expect(() => replay.assertSame()).toThrow(/step 0 of builtin\.plan/);
  });

  test.each([
    ["the system prompt", planPrompt(undefined, { render: async () => ({ messages: [] }) }), /message 0|empty/],
    [
      "the model",
      planPrompt(undefined, { model: "anthropic/claude" }),
      /the model:\n- scripted\/model\n\+ anthropic\/claude/,
    ],
    ["the settings", planPrompt(undefined, { settings: { temperature: 0.5 } }), /settings of the request/],
    ["the tools", planPrompt(undefined, { tools: [] }), /tools that are offered:\n- \["weather"\]\n\+ \[\]/],
  ])("finds a difference in %s", async (_, prompt, expected) => {
    await using replay = await replayed(await recorded(), { items: [prompt] });
    await expect(replay.run()).rejects.toThrow(expected);
  });

  verifies("Y2", "finds a tool whose definition changed, and a later step that differs", async () => {
    const { tool } = weatherTool();
    const other = { ...tool, description: "Says what the sky is like." };
    await using changed = await replayed(await recorded(), { items: [planPrompt(), other] });
    await expect(changed.run()).rejects.toThrow(/step 0 .* the definition of the tool weather/);
    const live: Tool = { ...tool, run: ({ city }: { city: string }) => ({ city, sky: "grey" }) };
    await using run = await replayed(await recorded(), { items: [planPrompt(), live], live: ["weather"] });
    await expect(run.run()).rejects.toMatchObject({ details: { step: 1, diff: expect.stringContaining("grey") } });
  });

  verifies("Y2", "without the prompt runs with the messages of the tape, and says so", async () => {
    await using replay = await replayed(await recorded());
    expect(replay.fromTape).toEqual(["builtin.plan"]);
    expect(await (await replay.run())[0]?.answer?.text()).toBe("It is sunny.");
  });

  test("that ends otherwise differs in its answer", async () => {
    const tape = await recorded();
    await using replay = await replayed(tape, { items: [planPrompt()], agent: { maxSteps: 1 } });
    await expect(replay.run()).rejects.toThrow(/differs from the tape at builtin\.plan, in the answer/);
  });

  test("answers calls that are made in another order, and each only as often as the tape has it", async () => {
    const echo = defineTool<{ n: number }>({ name: "echo", run: ({ n }) => `answer ${n}` });
    const all = (order: readonly number[]) =>
      defineTool({
        name: "all",
        run: async (_input, context) => {
          const calls = order.map((n) => context.toolbox.call("echo", { n }).then((content) => content.text()));
          return (await Promise.all(calls)).sort();
        },
      });
    await using toolkit = new Toolkit({ items: [echo, all([1, 2, 3])] });
    const tape = await tapeOf(toolkit, () => toolkit.call("all"));
    await using replay = await replayed(tape, { items: [all([3, 1, 2])], live: ["all"] });
    expect(await (await replay.toolkit.call("all")).json()).toEqual(["answer 1", "answer 2", "answer 3"]);
    await using again = await replayed(tape, { items: [all([3, 3])], live: ["builtin.all"] });
    await expect(again.toolkit.call("all")).rejects.toThrow();
    expect(again.difference?.details).toMatchObject({ part: "the call of builtin.echo" });
  });

  verifies("Y2", "has the errors of the tape, of tools and of models", async () => {
    const fail = defineTool({ name: "fail", run: () => Promise.reject(new Error("It broke.")) });
    await using toolkit = scripted(
      [{ toolCalls: [{ name: "fail" }] }, { error: { status: 400, message: "No." } }],
      [planPrompt(), fail],
    );
    const tape = await tapeOf(toolkit, () => toolkit.call("plan", { city: "Bern" }));
    await using replay = await replayed(tape, { items: [planPrompt()] });
    expect(await replay.run()).toMatchObject([{ ref: "builtin.plan", error: { code: "MODEL_FAILED" } }]);
  });

  test("runs sub-agents, long results and structured answers again", async () => {
    const lines = Array.from({ length: 700 }, (_, n) => `line ${n}`).join("\n");
    const long = defineTool({ name: "long", run: () => lines });
    const inner = planPrompt("Inner", { name: "inner", tools: ["long"] });
    const outer = planPrompt("Outer", {
      name: "outer",
      tools: ["inner"],
      output: { type: "object", properties: { sky: { type: "string" } }, required: ["sky"] },
    });
    const model = scriptedModel(({ prompt }) => {
      const text = JSON.stringify(prompt);
      if (text.includes("Outer")) {
        return text.includes("tool-result")
          ? { toolCalls: [{ name: "submit_output", input: { sky: "blue" } }] }
          : { toolCalls: [{ name: "inner", input: { city: "Rome" } }] };
      }
      const [uri] = /result:[\da-f-]+\/\d+/.exec(text) ?? [];
      if (uri === undefined) return { toolCalls: [{ name: "long" }] };
      return text.includes("line 699")
        ? `I read ${uri}.`
        : { toolCalls: [{ name: "result_read", input: { uri, offset: 4_096 } }] };
    });
    await using toolkit = new Toolkit({ items: [long, inner, outer], delegate: agent({ defaultModel: model }) });
    const tape = await tapeOf(toolkit, () => toolkit.call("outer", { city: "Bern" }));
    const results = tape.lines.filter((line) => line.type === "result");
    expect(results.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
    expect(JSON.stringify(results[1]?.content)).toMatch(/I read result:[\da-f-]{36}\/1\./);
    await using replay = await replayed(tape, { items: [inner, outer] });
    expect(await (await replay.run())[0]?.answer?.json()).toEqual({ sky: "blue" });
  });

  test("stands in for the tools of a connector, streams, takes a clock, and replays secrets masked", async () => {
    const far = new FakeConnector({ lists: { tool: [{ name: "look.up", input: { type: "object" } }] } });
    far.answer = async () => resource.json("found", { apiToken: "tok-abcdefgh", value: 7 });
    await using toolkit = scripted(
      [{ toolCalls: [{ name: "far__look_up", input: { q: 1 } }] }, "It is 7."],
      [planPrompt()],
    );
    toolkit.addConnector(far, { namespace: "far" });
    await toolkit.start();
    const tape = await tapeOf(toolkit, () => toolkit.call("plan", { city: "Bern", password: "hunter-22" }));
    await using replay = await replayed(tape, { items: [planPrompt()], toolkit: { clock: virtualClock() } });
    const deltas: string[] = [];
    const onEvent = (event: { readonly type: string; readonly delta?: string }) =>
      void (event.type === "textDelta" && deltas.push(event.delta ?? ""));
    await replay.toolkit.call("plan", { city: "Bern", password: "***" }, { onEvent });
    expect(deltas).toEqual(["It is 7."]);
    replay.assertSame();
    expect(far.sessions).toHaveLength(1);
  });

  test("of a run that was suspended and resumed goes up to its suspension", async () => {
    const send = defineTool({ name: "send", options: { needsApproval: true }, run: () => "sent" });
    const model = scriptedModel([{ toolCalls: [{ name: "send" }] }, "It is sent."]);
    const assistant = agent({ defaultModel: model });
    await using toolkit = new Toolkit({ items: [planPrompt(), send], delegate: assistant });
    const tape = await tapeOf(toolkit, async () => {
      const error = await toolkit.call("plan", { city: "Bern" }).catch((thrown: unknown) => thrown);
      if (!ToolkitError.is(error, "PENDING")) throw error;
      for (const { id } of await toolkit.approvals.list()) await toolkit.approvals.resolve(id, { approved: true });
      await assistant.resume(error.details.id);
    });
    expect(tape.lines.filter(({ type }) => type === "turn")).toHaveLength(2);
    await using replay = await replayed(tape, { items: [planPrompt()] });
    expect(await replay.run()).toMatchObject([{ ref: "builtin.plan", error: { code: "PENDING" } }]);
  });

  verifies("Y2", "answers the questions of tools that run, as on the tape", async () => {
    const ask = defineTool({
      name: "ask",
      run: async (_input, context) => {
        const { action, content } = await context.elicit("Your name?", { type: "object", properties: {} });
        return { action, content };
      },
    });
    const delegate = { elicit: async () => ({ action: "accept", content: { name: "Ada" } }) as const };
    await using toolkit = new Toolkit({ items: [ask], delegate });
    const tape = await tapeOf(toolkit, () => toolkit.call("ask"));
    await using replay = await replayed(tape, { items: [ask], live: ["ask"] });
    expect(await (await replay.toolkit.call("ask")).json()).toEqual({ action: "accept", content: { name: "Ada" } });
    expect(await (await replay.toolkit.call("ask")).json()).toEqual({ action: "decline" });
  });

  test("options that are wrong are refused", async () => {
    const tape = await recorded();
    await expect(replayed(tape, { prompts: [] } as never)).rejects.toThrow(/no option "prompts"/);
    await expect(replayed(tape, { live: "all" as never })).rejects.toThrow(/list of names/);
  });
});

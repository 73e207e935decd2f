import { describe, expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { defineTool, parsePrompt } from "../../src/index.ts";
import { type ScriptedStep, virtualClock } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { serve, toldIn } from "./support.ts";

const look = defineTool({ name: "look", run: () => "seen" });
const again: ScriptedStep = { text: "Looking.", toolCalls: [{ name: "look" }] };

describe("a run is bounded", () => {
  verifies("A2", "in steps: STEP_LIMIT says what was reached", async () => {
    await using served = serve(() => again, [look], { agent: { maxSteps: 3 } });
    const error = await failure(served.assistant.generate("Go.", { tools: ["look"] }));
    expect(error).toMatchObject({
      code: "STEP_LIMIT",
      details: { maxSteps: 3, reached: { text: "Looking.", toolCalls: 3 } },
    });
    expect(served.model.requests).toHaveLength(3);
  });

  verifies("A2", "in tool calls: those beyond are refused, and the model answers with what it has", async () => {
    await using served = serve([again, again, again, "done"], [look], { agent: { maxToolCalls: 2 } });
    const answer = await served.assistant.generate("Go.", { tools: ["look"] });
    expect(toldIn(served.model.requests[3])).toMatch(/all 2 calls of this conversation were made/);
    expect(answer.meta?.toolCalls).toMatchObject([{ status: "ok" }, { status: "ok" }, { status: "denied" }]);
  });

  verifies(["A2", "A6"], "in tool calls over a conversation that goes on", async () => {
    await using served = serve([again, "one", again, "two"], [look], { agent: { maxToolCalls: 1 } });
    const first = await served.assistant.generate("Go.", { tools: ["look"] });
    const conversation = JSON.parse(JSON.stringify(served.assistant.conversationOf(first)));
    expect(conversation.toolCalls).toBe(1);
    await served.assistant.generate("On.", { tools: ["look"], conversation });
    expect(toldIn(served.model.requests[3])).toMatch(/all 1 calls of this conversation were made/);
    expect(served.model.requests[2]?.prompt.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
  });

  verifies("A2", "in tokens and in cost", async () => {
    const prices = { "scripted/model": { input: 1_000_000, output: 0 } };
    for (const [limit, max] of [
      ["maxTokens", 30],
      ["maxCost", 20],
    ] as const) {
      await using served = serve(() => again, [look], { agent: { [limit]: max, prices } });
      const error = await failure(served.assistant.generate("Go.", { tools: ["look"] }));
      expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit, max } });
      expect(served.model.requests).toHaveLength(2);
    }
  });

  const written: readonly (readonly [string, ScriptedStep])[] = [
    ["text", { text: "漢".repeat(400) }],
    ["thoughts", { reasoning: "漢".repeat(400), text: "short" }],
    ["arguments", { toolCalls: [{ name: "look", input: { note: "漢".repeat(400) } }] }],
  ];
  for (const [what, step] of written) {
    verifies("A2", `in the bytes of an answer, streamed or not: ${what}`, async () => {
      for (const onEvent of [undefined, () => undefined]) {
        await using served = serve([step], [look], { agent: { maxOutputBytes: 1_000 } });
        const error = await failure(served.assistant.generate("Go.", { tools: ["look"], onEvent }));
        expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "maxOutputBytes", max: 1_000 } });
      }
    });
  }

  verifies("A2", "in time", async () => {
    const clock = virtualClock();
    const gate = new Promise<void>(() => undefined);
    await using served = serve([{ text: "late", gate }], [], { agent: { clock, timeoutMs: 5_000 } });
    const run = failure(served.assistant.generate("Go."));
    await expect.poll(() => served.model.requests.length).toBe(1);
    await clock.advance(5_001);
    expect(await run).toMatchObject({ code: "TIMEOUT", details: { limitMs: 5_000 } });
  });

  verifies(["A2", "T6"], "in what the definitions of tools cost: the rest is found on demand", async () => {
    const many = Array.from({ length: 40 }, (_, index) =>
      defineTool({
        name: `tool${index}`,
        description: `Does the thing number ${index}. `.repeat(20),
        run: () => index,
      }),
    );
    const script: ScriptedStep[] = [
      { toolCalls: [{ name: "search_tools", input: { query: "number 7" } }] },
      { toolCalls: [{ name: "tool7" }] },
      { text: "done" },
    ];
    await using served = serve(script, many, { agent: { maxDefinitionTokens: 300 } });
    await served.assistant.generate("Go.", { tools: ["*"] });
    expect(served.model.requests[0]?.tools?.map(({ name }) => name)).toEqual(["describe_tool", "search_tools"]);
    expect(toldIn(served.model.requests[2])).toBe("7");
  });
});

describe("prompts that call prompts", () => {
  const caller = (name: string, tool: string) =>
    parsePrompt(`---\nname: ${name}\ntools: [${tool}]\n---\nI am ${name}.`);
  const callsNext = (next: string): ScriptedStep => ({ toolCalls: [{ name: next }] });

  verifies(["A4", "C11"], "too deep are told so in words, with the chain, and the run goes on", async () => {
    await using served = serve(
      ({ prompt }) => {
        if (prompt.at(-1)?.role === "tool") return "back";
        return callsNext(JSON.stringify(prompt).includes("I am ping") ? "pong" : "ping");
      },
      [caller("ping", "pong"), caller("pong", "ping")],
      { toolkit: { maxDepth: 3 } },
    );
    expect(await (await served.toolkit.call("ping")).text()).toBe("back");
    const told = served.model.requests.map(toldIn).find((text) => text.includes("DEPTH_EXCEEDED"));
    expect(told).toMatch(/ping > .*pong > .*ping/);
  });

  verifies(["A2", "A5"], "add up what they use, each call once, those that fail too", async () => {
    const inner = parsePrompt("---\nname: inner\ntools: [look]\n---\nI am inner.");
    await using served = serve(
      ({ prompt }, index) => {
        if (index === 0) return { toolCalls: [{ name: "inner" }, { name: "inner" }] };
        if (!JSON.stringify(prompt).includes("I am inner")) return "done";
        return prompt.at(-1)?.role === "tool" ? { text: "", finishReason: "error" } : { toolCalls: [{ name: "look" }] };
      },
      [look, inner],
    );
    const answer = await served.assistant.generate("Go.", { tools: ["inner"] });
    expect(served.model.requests).toHaveLength(4);
    expect(answer.meta).toMatchObject({ steps: 2, usage: { inputTokens: 40, outputTokens: 20 } });
  });

  verifies("A2", "share the tokens of the one that was called first", async () => {
    const inner = parsePrompt("---\nname: inner\ntools: [look]\n---\nI am inner.");
    await using served = serve(
      ({ prompt }) => (JSON.stringify(prompt).includes("I am inner") ? again : callsNext("inner")),
      [look, inner],
      { agent: { maxTokens: 40 } },
    );
    expect(await failure(served.assistant.generate("Go.", { tools: ["inner"] }))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { limit: "maxTokens" },
    });
    expect(served.model.requests).toHaveLength(3);
  });

  verifies(["A2", "C13"], "inherit the session, the meta and the policy", async () => {
    const seen: unknown[] = [];
    const spy = defineTool({
      name: "spy",
      run: (_input, { session, meta, depth }) => seen.push([session.id, meta?.tenant, depth]),
    });
    const inner = parsePrompt("---\nname: inner\ntools: [spy]\n---\nI am inner.");
    await using served = serve(
      ({ prompt }) => {
        if (prompt.at(-1)?.role === "tool") return "done";
        return callsNext(JSON.stringify(prompt).includes("I am inner") ? "spy" : "inner");
      },
      [spy, inner],
    );
    const options = { tools: ["inner"], session: { id: "s1" }, meta: { tenant: "t1" } };
    await served.assistant.generate("Go.", options);
    expect(seen).toEqual([["s1", "t1", 2]]);
  });
});

verifies("A2", "in a policy that is none are refused when the agent is made", () => {
  const policy = (given: object) => () => agent({ policy: given });
  expect(policy({ block: "a.*" })).toThrow(/policy\.block must be a list of names/);
  expect(policy({ maxToolCallsPerTurn: 0.5 })).toThrow(/policy\.maxToolCallsPerTurn must be a whole number from 0/);
  expect(policy({ alow: [] })).toThrow(/There is no option "alow" of a policy/);
});

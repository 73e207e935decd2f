import { describe, expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import type { AgentEvent } from "../../src/core/agent-event.ts";
import { defineTool } from "../../src/core/tool.ts";
import { parsePrompt, resource, Toolkit } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { verifies } from "../support/verifies.ts";

const forecast = defineTool<{ city: string }>({
  name: "forecast",
  description: "Tells the weather.",
  input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  options: { guidance: "Ask for one city at a time.", formatGuidance: "Degrees are Celsius." },
  run: ({ city }) => ({ city, degrees: 21 }),
});

const report = parsePrompt(`---
name: report
title: Report the weather
system_prompt: You are a presenter.
tools: [forecast]
input: { type: object, properties: { city: { type: string } }, required: [city] }
---
What will the weather be in {{city}}?`);

describe("an agent", () => {
  verifies("A2", "a tool there is not is NOT_FOUND with what may be meant, before a model is asked", async () => {
    const model = scriptedModel(["never"]);
    const assistant = agent({ defaultModel: model });
    await using toolkit = new Toolkit({ items: [forecast], delegate: assistant });
    const slip = parsePrompt("---\nname: slip\ntools: forcast\n---\nHi");
    toolkit.add(slip);
    for (const asked of [toolkit.call("slip"), assistant.generate("Hi", { tools: ["forcast"] })]) {
      await expect(asked).rejects.toMatchObject({
        code: "NOT_FOUND",
        message: expect.stringMatching(/^tools names "forcast": There is no .* Did you mean "builtin.forecast"\?$/),
        details: { suggestions: ["builtin.forecast"] },
      });
    }
    expect(model.requests).toEqual([]);
  });

  verifies("A2", "asks the model, makes the calls it wants, and gives its answer", async () => {
    const model = scriptedModel([{ toolCalls: [{ name: "forecast", input: { city: "Bern" } }] }, "It is sunny."]);
    await using toolkit = new Toolkit({ items: [forecast, report], delegate: agent({ defaultModel: model }) });
    const answer = await toolkit.call("report", { city: "Bern" });
    expect(await answer.text()).toBe("It is sunny.");
    const [first, second] = model.requests;
    expect(first?.prompt).toEqual([
      { role: "system", content: "You are a presenter.\n\n## forecast\n\nAsk for one city at a time." },
      { role: "user", content: [{ type: "text", text: "What will the weather be in Bern?" }] },
    ]);
    expect(first?.tools?.map(({ name }) => name)).toEqual(["forecast"]);
    expect(second?.prompt.slice(2)).toEqual([
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "call-1", toolName: "forecast", input: { city: "Bern" } }],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "call-1",
            toolName: "forecast",
            output: {
              type: "content",
              value: [
                { type: "text", text: '{"city":"Bern","degrees":21}' },
                { type: "text", text: "[How to read this result]\n## forecast\n\nDegrees are Celsius." },
              ],
            },
          },
        ],
      },
    ]);
    expect(answer.meta).toMatchObject({
      model: "scripted/model",
      finishReason: "stop",
      steps: 2,
      usage: { inputTokens: 20, outputTokens: 10 },
      toolCalls: [{ id: "call-1", name: "forecast", ref: "builtin.forecast", step: 0, status: "ok" }],
    });
  });

  verifies("A3", "gives a structured answer through submit_output where there are tools", async () => {
    const prompt = parsePrompt(`---
name: degrees
tools: [forecast]
output: { type: object, properties: { degrees: { type: number } }, required: [degrees], additionalProperties: false }
---
How warm is it?`);
    const model = scriptedModel([
      { toolCalls: [{ name: "submit_output", input: { degrees: "warm" } }] },
      "21",
      { toolCalls: [{ name: "submit_output", input: { degrees: 21 } }] },
    ]);
    await using toolkit = new Toolkit({ items: [forecast, prompt], delegate: agent({ defaultModel: model }) });
    const answer = await toolkit.call("degrees");
    expect(await answer.json()).toEqual({ degrees: 21 });
    expect(answer.meta).toMatchObject({ finishReason: "control", steps: 3 });
  });

  verifies("A3", "gives a structured answer by the provider's JSON mode where there are no tools", async () => {
    const model = scriptedModel(["no", '```json\n{"answer":[1,2]}\n```']);
    const assistant = agent({ defaultModel: model });
    await using toolkit = new Toolkit({ delegate: assistant });
    const answer = await assistant.generate("Count.", { output: { type: "array", items: { type: "integer" } } });
    expect(await answer.json()).toEqual([1, 2]);
    expect(model.requests[0]?.responseFormat).toMatchObject({ type: "json", schema: { required: ["answer"] } });
    void toolkit;
  });

  verifies("A5", "streams events, one by one", async () => {
    const model = scriptedModel([
      { reasoning: "hm", toolCalls: [{ name: "forecast", input: { city: "Bern" } }] },
      { text: ["It is ", "sunny."] },
    ]);
    const assistant = agent({ defaultModel: model });
    await using toolkit = new Toolkit({ items: [forecast, report], delegate: assistant });
    const events: AgentEvent[] = [];
    const stream = assistant.stream({ prompt: "report", input: { city: "Bern" } });
    for await (const event of stream) events.push(event);
    expect(events.map(({ type }) => type)).toEqual([
      "reasoningDelta",
      "step",
      "usage",
      "toolCall",
      "toolResult",
      "textDelta",
      "textDelta",
      "step",
      "usage",
      "finish",
    ]);
    expect(await (await stream.result).text()).toBe("It is sunny.");
    void toolkit;
  });

  verifies("A7", "a run that waits for an approval goes on from the same step", async () => {
    let ran = 0;
    const pay = defineTool({ name: "pay", options: { needsApproval: true }, run: () => `paid ${++ran}` });
    const model = scriptedModel([
      { toolCalls: [{ name: "pay" }, { name: "forecast", input: { city: "Bern" } }] },
      "All paid.",
    ]);
    const assistant = agent({ defaultModel: model });
    await using toolkit = new Toolkit({ items: [forecast, pay], delegate: assistant });
    const waiting = await assistant.generate("Pay.", { tools: ["pay", "forecast"] }).catch((error) => error);
    expect(waiting).toMatchObject({ code: "PENDING", details: { tool: "inline.generate" } });
    const still = await assistant.resume(waiting.details.id).catch((error) => error);
    expect(still).toMatchObject({ code: "PENDING", details: { id: waiting.details.id } });
    const [approval] = await toolkit.approvals.list();
    await toolkit.approvals.resolve(approval?.id ?? "", { approved: true });
    const answer = await assistant.resume(waiting.details.id);
    expect(await answer.text()).toBe("All paid.");
    expect(ran).toBe(1);
    expect(model.requests[1]?.prompt.at(-1)?.content).toMatchObject([
      { toolName: "pay", output: { value: "paid 1" } },
      { toolName: "forecast" },
    ]);
    await expect(assistant.resume(waiting.details.id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
void resource;

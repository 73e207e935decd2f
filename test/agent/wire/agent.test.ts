import { describe, expect } from "vitest";
import { agent } from "../../../src/agent/index.ts";
import type { AgentEvent } from "../../../src/core/agent-event.ts";
import { defineTool } from "../../../src/core/tool.ts";
import { parsePrompt, resource, Toolkit } from "../../../src/index.ts";
import { failure } from "../../support/failure.ts";
import { type ModelServer, modelServer, type WireScript } from "../../support/model-server/server.ts";
import { verifies } from "../../support/verifies.ts";
import { providers } from "./support.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const forecast = defineTool<{ city: string }>({
  name: "forecast",
  description: "Tells the weather.",
  input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  options: { guidance: "Ask for one city at a time.", formatGuidance: "Degrees are Celsius." },
  run: ({ city }) => ({ city, degrees: 21 }),
});
const broken = defineTool({
  name: "broken",
  run: () => {
    throw new Error("the radar is down");
  },
});
const picture = defineTool({ name: "picture", run: () => resource.data("sky", png) });
const forbidden = defineTool({ name: "forbidden", run: () => "never" });

const report = parsePrompt(`---
name: report
title: Report the weather
system_prompt: You are a presenter.
thinking: true
tools: [forecast, broken, forbidden]
input: { type: object, properties: { city: { type: string } }, required: [city] }
---
What will the weather be in {{city}}?`);

const schema = `{ type: object, properties: { degrees: { type: number }, note: { type: string } }, required: [degrees], additionalProperties: false }`;
const structured = parsePrompt(`---
name: structured
output: ${schema}
---
How warm is it?`);
const structuredWithTools = parsePrompt(`---
name: structured_with_tools
thinking: true
thinking_budget: 2000
tools: [forecast]
output: ${schema}
---
How warm is it?`);

/** Those that say what they think, and want it back. */
const thinkers = ["anthropic", "anthropic without a package", "google", "google 3"];

describe.each(Object.entries(providers))("a run with %s", (name, make) => {
  async function setUp(script: WireScript) {
    const server = await modelServer(script);
    const assistant = agent({ defaultModel: await make(server.url) });
    const items = [forecast, broken, forbidden, picture, report, structured, structuredWithTools];
    const policy = { block: ["builtin.forbidden"] };
    const toolkit = new Toolkit({ items, delegate: assistant, policy });
    const dispose = async () => {
      await toolkit.close();
      await server[Symbol.asyncDispose]();
    };
    return { server, assistant, toolkit, [Symbol.asyncDispose]: dispose };
  }

  /** The body of a request, as text. */
  function asked({ requests }: ModelServer, index: number): string {
    return JSON.stringify(requests[index]?.body);
  }

  const reasoning = thinkers.includes(name) ? "I should look." : "";
  const steps = [
    { reasoning, text: "Looking.", toolCalls: [{ name: "forecast", input: { city: "Bern" } }] },
    {
      reasoning,
      toolCalls: [
        { name: "broken", input: {} },
        { name: "forbidden", input: {} },
        { name: "nobody", input: {} },
        { name: "forecast", input: { town: "Zürich" } },
      ],
    },
    { text: "It is sunny." },
  ];

  verifies(["A2", "A4"], "goes through tools that work, fail, are denied, unknown and called wrongly", async () => {
    await using setting = await setUp(steps);
    const { server, toolkit } = setting;
    const attachments = [resource.text("note", "Remember the umbrella."), await resource.data("sky", png)];
    const answer = await toolkit.call("report", { city: "Bern" }, { attachments });
    expect(server.refused).toEqual([]);
    expect(await answer.text()).toBe("It is sunny.");
    expect(answer.meta).toMatchObject({
      steps: 3,
      usage: { inputTokens: 300, cachedInputTokens: 120, outputTokens: 60 },
    });
    expect(asked(server, 0)).toContain("Remember the umbrella.");
    expect(asked(server, 0)).toContain(png.toString("base64"));
    expect(asked(server, 1)).toMatch(/degrees[^0-9]{1,8}21/);
    expect(asked(server, 2)).toContain("the radar is down");
    for (const [index] of steps.entries()) expect(asked(server, index)).toContain("You are a presenter.");
  });

  verifies("A5", "is told as it happens, and comes to the same", async () => {
    await using setting = await setUp(steps);
    const events: AgentEvent[] = [];
    const stream = setting.assistant.stream({ prompt: "report", input: { city: "Bern" } });
    for await (const event of stream) events.push(event);
    expect(setting.server.refused).toEqual([]);
    const texts = events.flatMap((event) => (event.type === "textDelta" ? [event.delta] : []));
    expect(texts.join("")).toBe("Looking.It is sunny.");
    expect(texts.length).toBeGreaterThan(2);
    expect(events.filter(({ type }) => type === "toolCall")).toHaveLength(5);
    expect(events.some(({ type }) => type === "reasoningDelta")).toBe(reasoning !== "");
    expect((await stream.result).meta).toMatchObject({ steps: 3, usage: { inputTokens: 300, outputTokens: 60 } });
  });

  verifies("A3", "gives what fits the schema by the provider's JSON mode, after a repair", async () => {
    await using setting = await setUp([{ text: '{"degrees":"warm"}' }, { text: '{"degrees":21}' }]);
    const answer = await setting.toolkit.call("structured");
    expect(setting.server.refused).toEqual([]);
    expect(await answer.json()).toEqual({ degrees: 21 });
    expect(asked(setting.server, 1)).toContain("warm");
  });

  verifies("A3", "gives what fits the schema through submit_output beside tools, and while it thinks", async () => {
    const submit = (input: unknown) => ({ reasoning, toolCalls: [{ name: "submit_output", input }] });
    await using setting = await setUp([
      { reasoning, toolCalls: [{ name: "forecast", input: { city: "Bern" } }] },
      submit({ degrees: "warm" }),
      { text: "It is 21 degrees." },
      submit({ degrees: 21 }),
    ]);
    const answer = await setting.toolkit.call("structured_with_tools");
    expect(setting.server.refused).toEqual([]);
    expect(await answer.json()).toEqual({ degrees: 21 });
  });

  verifies("A4", "sees an image that a tool gives, or is told of it", async () => {
    await using setting = await setUp([{ toolCalls: [{ name: "picture", input: {} }] }, { text: "Blue." }]);
    const answer = await setting.assistant.generate("How is the sky?", { tools: ["picture"] });
    expect(setting.server.refused).toEqual([]);
    expect(await answer.text()).toBe("Blue.");
    // As text it would cost a fortune and show nothing.
    const shows = ["anthropic", "anthropic without a package", "openai responses", "google", "google 3"].includes(name);
    expect(asked(setting.server, 1).includes(png.toString("base64"))).toBe(shows);
    if (!shows) expect(asked(setting.server, 1)).toContain("which you cannot be shown in a result");
  });

  verifies(["A2", "A8"], "asks again after an empty answer, and goes on after a tool that took control", async () => {
    const looking = { toolCalls: [{ name: "forecast", input: { city: "Bern" } }] };
    const submit = { toolCalls: [{ name: "submit_output", input: { degrees: 21 } }] };
    await using setting = await setUp([{ text: "" }, looking, { text: "" }, { text: "So." }, submit, { text: "Yes." }]);
    const { assistant, server } = setting;
    const conversation = async (text: string, options: object) => {
      const answer = await assistant.generate(text, { tools: ["forecast"], ...options });
      return { conversation: assistant.conversationOf(answer) };
    };
    const first = await conversation("How is it?", {});
    const output = { type: "object", properties: { degrees: { type: "number" } }, required: ["degrees"] };
    const second = await conversation("In degrees?", { ...first, output });
    await conversation("Is that warm?", second);
    expect(server.refused).toEqual([]);
    expect(server.requests).toHaveLength(6);
  });

  verifies("A6", "fails with what the provider said", async () => {
    await using setting = await setUp([{ status: 400, message: "The prompt is too long." }]);
    const error = await failure(setting.toolkit.call("structured"));
    expect(error).toMatchObject({ code: "MODEL_FAILED", ref: "builtin.structured", details: { status: 400 } });
    expect(error.message).toContain("The prompt is too long.");
  });

  verifies("A8", "goes on with a conversation", async () => {
    await using setting = await setUp([...steps, { text: "Still sunny." }]);
    const { assistant, server, toolkit } = setting;
    const first = await toolkit.call("report", { city: "Bern" });
    const conversation = assistant.conversationOf(first);
    const again = JSON.parse(JSON.stringify(conversation));
    const tools = ["forecast", "broken", "forbidden"];
    const answer = await assistant.generate("And now?", { conversation: again, tools, thinking: true });
    expect(server.refused).toEqual([]);
    expect(await answer.text()).toBe("Still sunny.");
  });
});

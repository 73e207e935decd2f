import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { defineTool, parsePrompt, Toolkit } from "toolweave";
import { agent } from "toolweave/agent";
import { scriptedModel } from "toolweave/testing";
import { z } from "zod";
import { server } from "./server.ts";

const model = scriptedModel([
  { toolCalls: [{ name: "forecast", input: { city: "Bern" } }] },
  "Mild, 21 degrees.",
  JSON.stringify({ warm: true }),
]);

// #region after
// createTool({ id, description, inputSchema, outputSchema, execute })
const forecast = defineTool({
  name: "forecast",
  description: "Tells the weather of a city.",
  input: z.object({ city: z.string() }),
  output: z.object({ degrees: z.number() }),
  run: ({ city }) => ({ degrees: city === "Bern" ? 21 : 15 }),
});

// new Agent({ name, instructions, model, tools }): a prompt, mostly a file
const weather = parsePrompt(`---
name: weather
title: Weather assistant
system_prompt: You are helpful and brief.
input: { type: object, properties: { question: { type: string } }, required: [question] }
tools: [forecast]
---
{{question}}`);

// new Mastra({ agents, tools }), and new MCPClient({ servers })
const assistant = agent({ defaultModel: model }); // or "openai/gpt-5", as in Mastra
const toolkit = new Toolkit({ items: [forecast, weather], delegate: assistant });
toolkit.addConnectors({ mcpServers: { everything: server } });
await toolkit.start();

// agent.generate(text), and with structuredOutput
const answer = await toolkit.call("weather", { question: "How is Bern?" });
const structured = await assistant.generate("Is 21 degrees warm?", { output: z.object({ warm: z.boolean() }) });
// #endregion

strictEqual(await answer.text(), "Mild, 21 degrees.");
deepStrictEqual(await structured.json(), { warm: true });
await toolkit.close();

// Toolsets by hand: selection, a run, and the form of each provider. The providers are played by scripts, so that nothing leaves this
// machine.

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
// #region ai-sdk-import
import { generateText, isStepCount } from "ai";
// #endregion
import { defineTool, Toolkit } from "toolweave";
import { type Embed, toAiSdk, toAnthropic, toGoogle, toOpenAI } from "toolweave/adapters";
import { z } from "zod";
import { anthropicClient, googleClient, model, openAIClient } from "./scripted-models.ts";

const forecast = defineTool({
  name: "forecast",
  description: "Says the weather of the coming days.",
  input: z.object({ city: z.string(), days: z.int().min(1).optional() }),
  options: { guidance: "Say where the forecast is for.", formatGuidance: "Degrees are in Celsius." },
  run: ({ city, days = 1 }) => ({ city, degrees: Array.from({ length: days }, () => 20) }),
});
const lookUp = defineTool({
  name: "look_up",
  description: "Looks something up.",
  input: z.object({ text: z.string() }),
  options: { capability: true },
  run: ({ text }) => `Nothing is known of ${text}.`,
});
const publish = defineTool({ name: "publish", description: "Publishes a report.", run: () => "published" });
const draft = defineTool({ name: "draft", description: "Writes a draft.", run: () => "a draft" });
const answer = defineTool({
  name: "answer",
  description: "Gives the final answer.",
  input: z.object({ text: z.string() }),
  options: { exclusive: true, takesControl: true },
  run: ({ text }) => text,
});

const toolkit = new Toolkit({ items: [forecast, lookUp, publish, draft, answer] });
await toolkit.start();

// #region select
const toolset = await toolkit.toolset({
  include: ["builtin.*"], // default: every tool
  exclude: ["publish"],
  policy: { maxToolCallsPerTurn: 8, maxTotalToolCalls: 30 },
});
const names = toolset.definitions().map(({ name }) => name);
const system = toolset.guidance(); // the instructions of the tools for their use
// #endregion
deepStrictEqual(names, ["draft", "forecast", "look_up"]); // `answer` is exclusive
ok(system.includes("Say where"));

// #region forced
const one = await toolkit.toolset({ forced: ["forecast"] }); // the tool choice of the first turn
const several = await toolkit.toolset({ forced: ["forecast", "draft"] }); // only these in it, and one is required
const alone = await toolkit.toolset({ forced: ["answer"] }); // an exclusive tool: nothing else is there
// #endregion
deepStrictEqual(one.toolChoice, { tool: "forecast" });
strictEqual(several.toolChoice, "required");
deepStrictEqual(
  several.definitions().map(({ name }) => name),
  ["draft", "forecast", "look_up"], // `look_up` only adds an ability
);
deepStrictEqual(
  alone.tools.map(({ alias }) => alias),
  ["answer"],
);

// #region run
const run = toolset.begin({ session: { id: "s1", principal: "ada" } });
const answers = await run.execute([
  { id: "1", name: "forecast", input: { city: "Bern", days: "2" } }, // repaired: "2" is 2
  { id: "2", name: "forcast", input: {} },
]);
const outcome = answers.map(({ id, status, error }) => [id, status, error?.code]);
// #endregion
deepStrictEqual(outcome, [
  ["1", "ok", undefined],
  ["2", "failed", "NOT_FOUND"],
]);
strictEqual(run.turn, 1);
ok(toolset.guidance({ used: ["forecast"] }).includes("Celsius"));

async function chat(): Promise<string> {
  // #region openai-chat
  const run = toolset.begin();
  const openai = toOpenAI(toolset, { api: "chat", run });
  const messages: unknown[] = [{ role: "user", content: "What is the weather in Bern?" }];
  for (;;) {
    const { tools, toolChoice } = openai; // of this turn
    const { choices } = await openAIClient.chat.completions.create({ messages, tools, tool_choice: toolChoice });
    const [{ message }] = choices;
    messages.push(message);
    const calls = openai.calls(message);
    if (calls.length === 0) return message.content ?? "";
    messages.push(...(await openai.results(await run.execute(calls))));
  }
  // #endregion
}
strictEqual(await chat(), "Bern: 20 degrees.");

async function responses(): Promise<string> {
  // #region openai-responses
  const run = toolset.begin();
  const openai = toOpenAI(toolset, { api: "responses", run });
  const input: unknown[] = [{ role: "user", content: "What is the weather in Bern?" }];
  for (;;) {
    const { tools, toolChoice } = openai;
    const response = await openAIClient.responses.create({ input, tools, tool_choice: toolChoice });
    const calls = openai.calls(response);
    if (calls.length === 0) return response.output_text;
    input.push(...response.output, ...(await openai.results(await run.execute(calls))));
  }
  // #endregion
}
strictEqual(await responses(), "Bern: 20 degrees.");

async function claude(): Promise<string> {
  // #region anthropic
  const run = toolset.begin();
  const anthropic = toAnthropic(toolset, { run });
  const messages: unknown[] = [{ role: "user", content: "What is the weather in Bern?" }];
  for (;;) {
    const { tools, toolChoice } = anthropic;
    const { content } = await anthropicClient.messages.create({ messages, tools, tool_choice: toolChoice });
    const calls = anthropic.calls(content);
    if (calls.length === 0) return content[0]?.text ?? "";
    messages.push({ role: "assistant", content }, await anthropic.results(await run.execute(calls)));
  }
  // #endregion
}
strictEqual(await claude(), "Bern: 20 degrees.");

async function gemini(): Promise<string> {
  // #region google
  const run = toolset.begin();
  const google = toGoogle(toolset, { run });
  const contents: unknown[] = [{ role: "user", parts: [{ text: "What is the weather in Bern?" }] }];
  for (;;) {
    const { tools, toolConfig } = google;
    const response = await googleClient.models.generateContent({ contents, config: { tools, toolConfig } });
    const calls = google.calls(response);
    if (calls.length === 0) return response.text;
    contents.push(response.candidates[0].content, await google.results(await run.execute(calls)));
  }
  // #endregion
}
strictEqual(await gemini(), "Bern: 20 degrees.");

// #region ai-sdk
const { tools, prepareStep } = toAiSdk(toolset);
const { text } = await generateText({
  model,
  prompt: "What is the weather in Bern?",
  tools,
  prepareStep, // the tools and the tool choice of each turn
  stopWhen: isStepCount(10),
});
// #endregion
strictEqual(text, "Bern: 20 degrees.");

// #region lost
const odd = defineTool({
  name: "odd",
  input: {
    type: "object",
    properties: { labels: { type: "object", additionalProperties: { type: "string" } } },
  },
  run: () => "done",
});
const { lost } = toOpenAI(toolset.add(odd), { api: "chat" });
// #endregion
deepStrictEqual(lost, [
  {
    tool: "odd",
    pointer: "/properties/labels",
    what: "keeps the tool out of strict mode: it has properties with arbitrary names",
  },
]);

// #region tokens
const { total, namespaces } = toolset.tokens();
// #endregion
strictEqual(namespaces.builtin, total);

toolkit.add(
  ...Array.from({ length: 200 }, (_, at) =>
    defineTool({
      name: `report_${at}`,
      description: `Writes the report of department ${at}.`,
      run: () => `report ${at}`,
    }),
  ),
);
// #region budget
const large = await toolkit.toolset({ maxTokens: 1_000 });
const search = large.begin();
const [found] = await search.execute([{ id: "1", name: "search_tools", input: { query: "report 42" } }]);
await search.execute([{ id: "2", name: "describe_tool", input: { name: "report_42" } }]);
const offered = search.definitions().map(({ name }) => name);
// #endregion
strictEqual(large.tokens().disclosure, "search");
const hits = (await found?.content?.text()) ?? "";
ok(hits.startsWith('{"tools":[{"name":"report_42"'));
deepStrictEqual(offered, ["describe_tool", "search_tools", "look_up", "report_42"]);

// #region embed
const embed: Embed = async (texts) => {
  const { data } = await openAIClient.embeddings.create({ model: "text-embedding-3-small", input: texts });
  return data.map(({ embedding }) => embedding);
};
const meaningful = await toolkit.toolset({ maxTokens: 1_000, embed });
// #endregion
const [alike] = await meaningful.begin().execute([{ id: "1", name: "search_tools", input: { query: "number 42" } }]);
strictEqual(alike?.status, "ok");

await toolkit.close();
console.log(`Four providers and the AI SDK agree: ${text} ${toolset.tools.length} tools cost about ${total} tokens.`);

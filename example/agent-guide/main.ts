// What docs/agent.md shows, piece by piece, with scripted models: it needs no key.
import assert from "node:assert/strict";
import { defineTool, parsePrompt, resource, Toolkit, ToolkitError } from "toolweave";
import { agent } from "toolweave/agent";
import { scriptedModel } from "toolweave/testing";
import { z } from "zod";

const forecast = defineTool({
  name: "forecast",
  description: "Tells the weather of a city.",
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ city, degrees: 21 }),
});
const report = parsePrompt(`---
name: report
title: Report the weather
input: { type: object, properties: { city: { type: string } }, required: [city] }
output: { type: object, properties: { degrees: { type: number } }, required: [degrees] }
tools: [forecast]
---
How warm is it in {{city}}?`);

const asksThenAnswers = (answer: object) => [
  { toolCalls: [{ name: "forecast", input: { city: "Bern" } }] },
  { toolCalls: [{ name: "submit_output", input: answer }] },
];

{
  const model = scriptedModel(asksThenAnswers({ degrees: 21 }));
  // #region delegate
  const assistant = agent({ defaultModel: model }); // or "anthropic/claude-sonnet-5", with ANTHROPIC_API_KEY
  const toolkit = new Toolkit({ items: [forecast, report], delegate: assistant });
  const answer = await toolkit.call("report", { city: "Bern" });
  console.log(await answer.json(), answer.meta); // { degrees: 21 }, { usage, steps, model, finishReason, toolCalls, run }
  // #endregion delegate
  assert.deepEqual(await answer.json(), { degrees: 21 });
  await toolkit.close();
}

{
  const model = scriptedModel(["Two texts."]);
  // #region generate
  const assistant = agent({ defaultModel: model });
  const note = resource.text("note", "Buy milk.");
  const answer = await assistant.generate("What is this?", { attachments: [note], tools: [forecast], maxSteps: 5 });
  console.log(await answer.text());
  // #endregion generate
  assert.equal(await answer.text(), "Two texts.");
}

{
  const model = scriptedModel([JSON.stringify({ answer: ["red", "blue"] })]);
  const assistant = agent({ defaultModel: model });
  // #region output
  const colors = await assistant.generate("Which colors has the flag of Liechtenstein?", {
    output: z.array(z.string()),
  });
  console.log(await colors.json()); // ["red", "blue"]
  // #endregion output
  assert.deepEqual(await colors.json(), ["red", "blue"]);
}

{
  const model = scriptedModel([{ text: ["Once ", "upon ", "a time."] }]);
  const assistant = agent({ defaultModel: model });
  // #region stream
  const stream = assistant.stream("Tell me a story.");
  for await (const event of stream) if (event.type === "textDelta") process.stdout.write(event.delta);
  const story = await stream.result;
  // #endregion stream
  assert.equal(await story.text(), "Once upon a time.");
}

{
  const model = scriptedModel([
    ...asksThenAnswers({ degrees: 21 }).slice(0, 1),
    "In Bern.",
    ...asksThenAnswers({ degrees: 21 }),
  ]);
  const assistant = agent({ defaultModel: model });
  const toolkit = new Toolkit({ items: [forecast, report], delegate: assistant });
  // #region forced
  const found = await assistant.generate("Where does it rain?", { tools: ["*"], forced: ["forecast"] });
  const told = await toolkit.call("report", { city: "Bern" }, { forced: ["forecast"] });
  // #endregion forced
  assert.equal(await found.text(), "In Bern.");
  assert.deepEqual(await told.json(), { degrees: 21 });
  assert.deepEqual(
    model.requests.map(({ toolChoice }) => toolChoice?.type),
    ["tool", "auto", "tool", "auto"],
  );
  await toolkit.close();
}

{
  const log = defineTool({ name: "log", run: () => "ok ".repeat(100_000) });
  const model = scriptedModel([{ toolCalls: [{ name: "log" }] }, "All is well."]);
  const assistant = agent({ defaultModel: model });
  const session = { id: "s1", principal: "ada" };
  let uri = "";
  await assistant.generate("Is all well?", {
    tools: [log],
    session,
    onEvent: (event) => {
      if (event.type === "toolResult") uri = event.uri ?? "";
    },
  });
  // #region results
  const whole = await assistant.readResult(uri, { session }); // the uri of an event toolResult
  // #endregion results
  assert.equal(whole.size, 300_000);
}

{
  const model = scriptedModel(["My name is Ada.", "Ada."]);
  const assistant = agent({ defaultModel: model });
  // #region conversation
  const first = await assistant.generate("Choose a name.");
  const conversation = assistant.conversationOf(first); // JSON holds it
  const second = await assistant.generate("Which one was it?", { conversation });
  // #endregion conversation
  assert.equal(await second.text(), "Ada.");
}

{
  const pay = defineTool({ name: "pay", options: { needsApproval: true }, run: () => "paid" });
  const model = scriptedModel([{ toolCalls: [{ name: "pay" }] }, "It is paid."]);
  const assistant = agent({ defaultModel: model });
  const toolkit = new Toolkit({ items: [pay], delegate: assistant });
  // #region resume
  const waiting = await assistant.generate("Pay the bill.", { tools: ["pay"] }).catch((error: unknown) => error);
  if (!ToolkitError.is(waiting, "PENDING")) throw waiting;
  for (const { id } of await toolkit.approvals.list({ status: "pending" })) {
    await toolkit.approvals.resolve(id, { approved: true, by: "Ada" });
  }
  const answer = await assistant.resume(waiting.details.id);
  // #endregion resume
  assert.equal(await answer.text(), "It is paid.");
  await toolkit.close();
}
console.log("\nEverything is as it should be.");

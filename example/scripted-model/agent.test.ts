import { defineTool, Toolkit } from "toolweave";
import { agent } from "toolweave/agent";
import { scriptedModel } from "toolweave/testing";
import { expect, test } from "vitest";

const forecast = defineTool<{ city: string }>({
  name: "forecast",
  description: "Tells the weather of a city.",
  input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  run: ({ city }) => `${city}: 21 degrees`,
});

// #region run
test("asks for the weather before it answers", async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: "forecast", input: { city: "Bern" } }] },
    { text: "Bern has 21 degrees.", usage: { inputTokens: 120, outputTokens: 8 } },
  ]);
  const assistant = agent({ defaultModel: model });
  const toolkit = new Toolkit({ items: [forecast], delegate: assistant });

  const answer = await assistant.generate("How is Bern?", { tools: ["forecast"] });
  expect(await answer.text()).toBe("Bern has 21 degrees.");

  const [first, second] = model.requests;
  expect(first?.tools?.[0]?.name).toBe("forecast");
  expect(JSON.stringify(second?.prompt.at(-1))).toContain("Bern: 21 degrees");
  expect(model.stepsLeft).toBe(0);
  await toolkit.close();
});
// #endregion

// #region function
test("answers by what it is asked", async () => {
  const model = scriptedModel(({ prompt }) => `I have read ${prompt.length} message.`);
  const assistant = agent({ defaultModel: model });
  const toolkit = new Toolkit({ delegate: assistant });
  expect(await (await assistant.generate("Hello")).text()).toBe("I have read 1 message.");
  await toolkit.close();
});
// #endregion

// #region failure
test("comes through an overload, and not through a lost connection", async () => {
  const model = scriptedModel([
    { error: { status: 529, message: "Overloaded", headers: { "retry-after-ms": "1" } } }, // is asked again
    { text: "Half an ans", isCut: true },
  ]);
  const assistant = agent({ defaultModel: model });
  const toolkit = new Toolkit({ delegate: assistant });
  const stream = assistant.stream("Hello");
  const received: string[] = [];
  const listening = (async () => {
    for await (const event of stream) if (event.type === "textDelta") received.push(event.delta);
  })();
  await expect(listening).rejects.toMatchObject({ code: "MODEL_FAILED", details: { provider: "scripted" } });
  expect(received).toEqual(["Half an ans"]);
  await toolkit.close();
});
// #endregion

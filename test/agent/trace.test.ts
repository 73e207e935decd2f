import { metrics, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterEach, beforeEach, expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { defineTool } from "../../src/core/tool.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { type RecordedSpans, recordMetrics, recordSpans, registerContext, unregister } from "../support/telemetry.ts";
import { verifies } from "../support/verifies.ts";

let spans: RecordedSpans;

beforeEach(() => {
  spans = recordSpans();
  trace.setGlobalTracerProvider(spans.provider);
  registerContext();
});
afterEach(unregister);

const look = defineTool({ name: "look", run: () => "nothing" });
const search = parsePrompt("---\nname: search\ntools: [look]\nsettings: { temperature: 0.5 }\n---\nSearch.");
const step = { toolCalls: [{ name: "look" }], usage: { inputTokens: 100, outputTokens: 7, cachedTokens: 40 } };

verifies(
  "O1",
  "each answer of a model has a span inside that of the prompt, beside those of the tools it called",
  async () => {
    const model = scriptedModel([step, "Done."], { provider: "acme.chat", modelId: "m-1" });
    const prices = { "acme/m-1": { input: 1_000_000, output: 2_000_000, cachedInput: 500_000 } };
    const toolkit = new Toolkit({ items: [look, search], delegate: agent({ defaultModel: model, prices }) });
    await toolkit.call("search");
    const run = spans.span("invoke_agent search").spanContext();
    const [first, second, ...others] = spans.spans.filter(({ name }) => name === "chat m-1");
    expect(others).toEqual([]);
    expect(first?.parentSpanContext?.spanId).toBe(run.spanId);
    expect(second?.parentSpanContext?.spanId).toBe(run.spanId);
    expect(first?.kind).toBe(SpanKind.CLIENT);
    expect(first?.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "acme",
      "gen_ai.request.model": "m-1",
      "gen_ai.request.temperature": 0.5,
      "gen_ai.response.finish_reasons": ["tool-calls"],
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.output_tokens": 7,
      "gen_ai.usage.cache_read.input_tokens": 40,
      "toolweave.cost": 94,
    });
    expect(spans.span("execute_tool look").parentSpanContext?.spanId).toBe(run.spanId);
  },
);

verifies("O1", "a model that fails leaves a span that says so, without what was asked", async () => {
  const model = scriptedModel([{ error: { status: 400, message: "the word was swordfish" } }]);
  const toolkit = new Toolkit({ items: [look, search], delegate: agent({ defaultModel: model }) });
  await failure(toolkit.call("search"));
  const { status, attributes } = spans.span("chat model");
  expect(status.code).toBe(SpanStatusCode.ERROR);
  expect(attributes["error.type"]).toBe("MODEL_FAILED");
  expect(JSON.stringify([status, attributes])).not.toMatch(/swordfish|Search\./);
});

verifies("O1", "what was asked and answered is recorded where content is", async () => {
  const model = scriptedModel(["Found: 7."]);
  const toolkit = new Toolkit({ items: [look, search], recordContent: true, delegate: agent({ defaultModel: model }) });
  await toolkit.call("search");
  const { attributes } = spans.span("chat model");
  expect(attributes["gen_ai.input.messages"]).toContain("Search.");
  expect(attributes["gen_ai.output.messages"]).toContain("Found: 7.");
});

verifies("O2", "tokens, durations and costs of models are measured", async () => {
  const recorded = recordMetrics();
  metrics.setGlobalMeterProvider(recorded.provider);
  const model = scriptedModel([step, "Done."], { provider: "acme.chat", modelId: "m-1" });
  const prices = { "acme/m-1": { input: 1_000_000, output: 0 } };
  await using toolkit = new Toolkit({ items: [look, search], delegate: agent({ defaultModel: model, prices }) });
  await toolkit.call("search");
  const read = await recorded.read();
  const asked = { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "acme", "gen_ai.request.model": "m-1" };
  expect(read.get("gen_ai.client.token.usage")?.map(({ attributes }) => attributes)).toEqual([
    { ...asked, "gen_ai.token.type": "input" },
    { ...asked, "gen_ai.token.type": "output" },
  ]);
  expect(read.get("toolweave.model.cost")).toEqual([{ attributes: asked, value: 110 }]);
  expect(read.get("gen_ai.client.operation.duration")?.[0]?.attributes).toEqual(asked);
  await recorded.provider.shutdown();
});

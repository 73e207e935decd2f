import { inspect } from "node:util";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { afterEach, expect, vi } from "vitest";
import { agent } from "../../../src/agent/index.ts";
import { Models } from "../../../src/agent/model/models.ts";
import { thinkingOptions } from "../../../src/agent/model/provider-quirks.ts";
import { defineTool, Toolkit } from "../../../src/index.ts";
import { failure, rejection } from "../../support/failure.ts";
import { verifies } from "../../support/verifies.ts";
import { begin, block, called, ending, event, messagePartsOf, messagesModel, said } from "./messages-support.ts";
import { callsIn, finishIn, hello, json, textIn, wireServer } from "./support.ts";

const sky = defineTool({ name: "sky", input: { type: "object" }, run: () => "clear" });
const thought = [
  { type: "thinking_delta", thinking: "Hm" },
  { type: "signature_delta", signature: "si" },
  { type: "signature_delta", signature: "gn" },
];
const thinks = block(0, { type: "thinking", thinking: "", signature: "" }, ...thought);
const hides = block(1, { type: "redacted_thinking", data: "hidden" });

afterEach(() => void vi.unstubAllEnvs());

verifies("A11", "a run of an agent calls tools of Messages at once, and sends its thoughts back", async () => {
  await using server = await wireServer(
    {
      pieces: [
        begin,
        thinks,
        hides,
        called(2, "a", "sky", '{"city":', '"Bern"}'),
        called(3, "b", "sky"),
        ending("tool_use"),
      ],
    },
    { pieces: [begin, said(0, "It is "), said(1, "clear."), ending("end_turn")] },
  );
  const assistant = agent({
    models: { proxy: { url: server.url, apiKey: "k", api: "anthropic" } },
    defaultModel: "proxy/claude-sonnet-4-5",
  });
  await using _toolkit = new Toolkit({ items: [sky], delegate: assistant });
  const events: string[] = [];
  const run = assistant.stream("How is it?", { tools: ["sky"], thinking: true });
  for await (const each of run) {
    if (each.type === "textDelta" || each.type === "reasoningDelta") events.push(each.delta);
  }
  expect(events).toEqual(["Hm", "It is ", "clear."]);
  expect(await (await run.result).text()).toBe("It is clear.");
  const [first, second] = server.asked;
  expect(first).toMatchObject({
    path: "/v1/messages",
    headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" },
  });
  expect(first?.headers.authorization).toBeUndefined();
  expect(first?.body).toMatchObject({
    model: "claude-sonnet-4-5",
    max_tokens: 64_000,
    stream: true,
    tools: [{ name: "sky" }],
  });
  expect(second?.body.messages).toEqual([
    { role: "user", content: [{ type: "text", text: "How is it?" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm", signature: "sign" },
        { type: "redacted_thinking", data: "hidden" },
        { type: "tool_use", id: "a", name: "sky", input: { city: "Bern" } },
        { type: "tool_use", id: "b", name: "sky", input: {} },
      ],
    },
    {
      role: "user",
      content: ["a", "b"].map((id) => ({ type: "tool_result", tool_use_id: id, content: "clear" })),
    },
  ]);
});

verifies("A11", "an answer of Messages that comes whole is the one that comes in events", async () => {
  const content = [
    { type: "thinking", thinking: "Hm", signature: "sign" },
    { type: "redacted_thinking", data: "hidden" },
    { type: "text", text: "Look." },
    { type: "tool_use", id: "a", name: "sky", input: { city: "Bern" } },
  ];
  const usage = { input_tokens: 12, cache_read_input_tokens: 3, cache_creation_input_tokens: 5, output_tokens: 7 };
  const message = { id: "msg_1", type: "message", model: "m-1", content, stop_reason: "tool_use", usage };
  await using whole = await wireServer({ pieces: [JSON.stringify(message)], headers: json });
  await using streamed = await wireServer({
    pieces: [begin, thinks, hides, said(2, "Look."), called(3, "a", "sky", '{"city":"Bern"}'), ending("tool_use")],
  });
  const results = await Promise.all([whole, streamed].map((server) => messagesModel(server).doGenerate(hello)));
  for (const result of results) {
    expect(result).toMatchObject({
      content: [
        { type: "reasoning", text: "Hm", providerMetadata: { anthropic: { signature: "sign" } } },
        { type: "reasoning", text: "", providerMetadata: { anthropic: { redactedData: "hidden" } } },
        { type: "text", text: "Look." },
        { type: "tool-call", toolCallId: "a", toolName: "sky", input: '{"city":"Bern"}' },
      ],
      finishReason: { unified: "tool-calls", raw: "tool_use" },
      usage: {
        inputTokens: { total: 20, noCache: 12, cacheRead: 3, cacheWrite: 5 },
        outputTokens: { total: 7 },
      },
      response: { id: "msg_1", modelId: "m-1" },
    });
  }
});

verifies("A11", "the arguments of the tool of an answer are its text, and a text in their place too", async () => {
  const responseFormat = { type: "json" as const, schema: { type: "object" as const } };
  const options = { ...hello, responseFormat };
  const answer = [said(0, "Here it is."), called(1, "a", "json", '{"a"', ":1}")];
  await using server = await wireServer(
    { pieces: [begin, ...answer, ending("tool_use")] },
    { pieces: [begin, said(0, '{"a":2}'), ending("end_turn")] },
    { pieces: [begin, called(0, "a", "json"), ending("tool_use")] },
  );
  for (const text of ['{"a":1}', '{"a":2}', "{}"]) {
    const parts = await messagePartsOf(messagesModel(server), options);
    expect(textIn(parts)).toBe(text);
    expect(callsIn(parts)).toEqual([]);
    expect(finishIn(parts).finishReason.unified).toBe("stop");
  }
  expect(server.asked[0]?.body.tools).toMatchObject([{ name: "json", input_schema: { type: "object" } }]);
});

verifies("A11", "a schema of an answer is closed, and says its constraints in words", async () => {
  const count = { type: "integer" as const, minimum: 1 };
  const inner = { type: "object" as const, properties: { count }, description: "One." };
  const list = { type: "array" as const, items: { anyOf: [inner, { type: "null" as const }] } };
  const schema = { type: "object" as const, properties: { list }, required: ["list"] };
  await using server = await wireServer({ pieces: [begin, said(0, "{}"), ending("end_turn")] });
  const optional = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`p${at}`, { type: "string" as const }]));
  const others = [
    { type: "object" as const, properties: optional },
    { type: "object" as const, properties: { a: { $ref: "#" } } },
    { type: "object" as const, properties: { a: { type: "object" as const } } },
  ];
  for (const each of [schema, ...others]) {
    await messagePartsOf(messagesModel(server), { ...hello, responseFormat: { type: "json", schema: each } });
  }
  const [first, ...rest] = server.asked.map(({ body }) => body);
  expect(first?.tools).toBeUndefined();
  const closed = { additionalProperties: false };
  const described = { type: "integer", description: '{"minimum":1}' };
  expect(first?.output_config).toEqual({
    format: {
      type: "json_schema",
      schema: {
        ...schema,
        ...closed,
        properties: {
          list: {
            ...list,
            items: { anyOf: [{ ...inner, ...closed, properties: { count: described } }, { type: "null" }] },
          },
        },
      },
    },
  });
  // A schema that the API would refuse, or close to nothing, is the schema of a tool.
  expect(rest).toHaveLength(3);
  for (const body of rest) expect(body).toMatchObject({ tools: [{ name: "json" }], tool_choice: { type: "any" } });
});

verifies(["A11", "A6"], "a run asks Messages again where it is busy, and ends where it is refused", async () => {
  const fault = (type: string) => event("error", { error: { type, message: "Not now." } });
  const said529 = {
    status: 529,
    headers: json,
    pieces: ['{"type":"error","error":{"type":"overloaded_error","message":"Busy."}}'],
  };
  const answer = { pieces: [begin, said(0, "Here."), ending("end_turn")] };
  const slow = { ...said529, status: 429, headers: { ...json, "retry-after": "0" } };
  const cut = { pieces: [begin] };
  const busy = ["overloaded_error", "api_error"].map((type) => ({ pieces: [begin, event("ping"), fault(type)] }));
  for (const first of [said529, slow, cut, ...busy]) {
    await using server = await wireServer(first, answer);
    const models = { local: { url: server.url, api: "anthropic" as const } };
    const assistant = agent({ models, defaultModel: "local/claude-sonnet-4-5", random: () => 0 });
    const run = assistant.stream("Where?");
    for await (const _event of run);
    expect(await (await run.result).text()).toBe("Here.");
    expect(server.asked).toHaveLength(2);
  }
  for (const pieces of [
    [begin, fault("invalid_request_error")],
    [begin, said(0, "Half"), fault("overloaded_error")],
  ]) {
    await using server = await wireServer({ pieces });
    const models = { local: { url: server.url, api: "anthropic" as const } };
    const assistant = agent({ models, defaultModel: "local/claude-sonnet-4-5" });
    const run = assistant.stream("Where?");
    const error = await failure(
      (async () => {
        for await (const _event of run);
        return run.result;
      })(),
    );
    expect(error).toMatchObject({ code: "MODEL_FAILED", message: expect.stringContaining("Not now.") });
    expect(server.asked).toHaveLength(1);
  }
});

verifies("A11", "an abort ends a request to Messages, and no error or inspection has the key", async () => {
  const apiKey = "sk-of-the-tests-0123456789";
  await using server = await wireServer(
    { pieces: [begin, said(0, "Half")], end: "hang" },
    {
      status: 401,
      headers: json,
      pieces: [JSON.stringify({ error: { type: "authentication_error", message: `Wrong: ${apiKey}` } })],
    },
  );
  const models = new Models({ models: { local: { url: server.url, apiKey, api: "anthropic" } } });
  const { model } = await models.choose({ model: "local/m" });
  const controller = new AbortController();
  const { stream } = await model.doStream({ ...hello, abortSignal: controller.signal });
  const reader = stream.getReader();
  await reader.read();
  controller.abort("closing time");
  const ended = (async () => {
    while (!(await reader.read()).done);
  })();
  expect(await rejection(ended)).toBe("closing time");
  await server.idle();
  const assistant = agent({ models: { "local/m": model }, defaultModel: "local/m" });
  const error = await failure(assistant.generate("Top secret question"));
  expect(error).toMatchObject({ code: "MODEL_FAILED", details: { status: 401 } });
  for (const each of [error, model]) {
    const everything = inspect(each, { depth: 20, showHidden: true }) + JSON.stringify(each);
    for (const text of [apiKey, "Top secret"]) expect(everything).not.toContain(text);
  }
});

verifies("A11", "Anthropic's models need a key alone, and are asked at the base URL of the environment", async () => {
  await using server = await wireServer({ pieces: [begin, said(0, "Hi."), ending("end_turn")] });
  vi.stubEnv("ANTHROPIC_API_KEY", "k-of-the-tests");
  for (const url of [server.url, server.url.replace(/\/v1$/, ""), `${server.url}/`]) {
    vi.stubEnv("ANTHROPIC_BASE_URL", url);
    const { model } = await new Models({}).choose({ model: "anthropic/claude-opus-5" });
    expect(model).toMatchObject({ provider: "anthropic.messages", modelId: "claude-opus-5" });
    expect(textIn(await messagePartsOf(model))).toBe("Hi.");
  }
  expect(server.asked.map(({ path }) => path)).toEqual(["/v1/messages", "/v1/messages", "/v1/messages"]);
  vi.stubEnv("ANTHROPIC_BASE_URL", "not a url");
  const error = await failure(new Models({}).choose({ model: "anthropic/claude-opus-5" }));
  expect(error).toMatchObject({ code: "INVALID_CONFIG", details: { path: "ANTHROPIC_BASE_URL" } });
  const models = { local: { url: "http://localhost:1", api: "messages" as never } };
  expect(() => new Models({ models })).toThrow(/models\["local"\]\.api must be "chat" or "anthropic"/);
});

verifies("A11", "what Messages cannot be sent is a warning, or an error before anything is sent", async () => {
  await using server = await wireServer({ pieces: [begin, ending("end_turn")] });
  const warningsOf = async (options: Partial<LanguageModelV4CallOptions>, id?: string) => {
    const reader = await messagesModel(server, id).open({ ...hello, ...options });
    const [first] = (await reader.read()) ?? [];
    return first?.type === "stream-start"
      ? first.warnings.map((each) => ("feature" in each ? each.feature : each.message))
      : [];
  };
  const tool = { type: "provider" as const, id: "anthropic.web_search" as const, name: "search", args: {} };
  expect(await warningsOf({ seed: 1, frequencyPenalty: 1, tools: [tool] })).toEqual([
    "frequencyPenalty",
    "seed",
    "provider-defined tool anthropic.web_search",
  ]);
  const thoughts = [{ type: "reasoning" as const, text: "Hm." }];
  const prompt = [...hello.prompt, { role: "assistant" as const, content: thoughts }];
  expect(await warningsOf({ prompt })).toEqual(["A thought without a signature of Anthropic is not sent back."]);
  const model = { ...messagesModel(server, "claude-haiku-5-5"), provider: "anthropic.messages" };
  const options = thinkingOptions(model as never, { thinkingBudget: 5_000 });
  expect(await warningsOf(options, "claude-haiku-5-5")).toEqual(["thinking budget"]);
  expect(server.asked.at(-1)?.body.thinking).toEqual({ type: "adaptive", display: "summarized" });
  const count = server.asked.length;
  const data = { type: "data" as const, data: "AAAA" };
  const file = { type: "file" as const, mediaType: "audio/mpeg", data };
  const asking = messagesModel(server).doStream({ prompt: [{ role: "user", content: [file] }] });
  expect(await rejection(asking)).toMatchObject({
    message: "Anthropic Messages cannot be sent a file of the type audio/mpeg.",
  });
  expect(server.asked).toHaveLength(count);
});

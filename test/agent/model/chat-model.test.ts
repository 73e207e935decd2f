import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { expect } from "vitest";
import { agent } from "../../../src/agent/index.ts";
import { chatRequest, limitFieldOf } from "../../../src/agent/model/chat/chat-request.ts";
import type { PartReader } from "../../../src/agent/model/part-reader.ts";
import { ChatModel } from "../../../src/agent/model/server-models.ts";
import { defineTool, Toolkit } from "../../../src/index.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { listen } from "../../mcp/fixture/http.ts";
import { failure, rejection } from "../../support/failure.ts";
import { verifies } from "../../support/verifies.ts";
import { streamedParts } from "../answer-parts.ts";
import { modelCall } from "../wire/support.ts";
import { delta, hello, modelOf, sse, stream, wireServer } from "./support.ts";

const call = { tool_calls: [{ index: 0, id: "a", function: { name: "sky", arguments: '{"city":"Bern"}' } }] };
const sky = defineTool({ name: "sky", input: { type: "object" }, run: () => "clear" });

verifies("A11", "a run of an agent needs the URL of a server alone, and tells its answer as it comes", async () => {
  await using server = await wireServer(
    { pieces: stream(call) },
    { pieces: stream({ content: "It is " }, { content: "clear." }) },
  );
  const assistant = agent({ models: { local: { url: server.url } }, defaultModel: "local/qwen3" });
  await using _toolkit = new Toolkit({ items: [sky], delegate: assistant });
  const texts: string[] = [];
  const run = assistant.stream("How is it?", { tools: ["sky"] });
  for await (const event of run) if (event.type === "textDelta") texts.push(event.delta);
  expect(texts).toEqual(["It is ", "clear."]);
  expect(await (await run.result).text()).toBe("It is clear.");
  const [first, second] = server.asked;
  expect(first?.headers.authorization).toBeUndefined();
  expect(first?.body).toMatchObject({ model: "qwen3", stream: true, tools: [{ function: { name: "sky" } }] });
  expect(second?.body.messages).toMatchObject([
    { role: "user" },
    { role: "assistant", tool_calls: [{ id: "a", function: { name: "sky" } }] },
    { role: "tool", tool_call_id: "a", content: "clear" },
  ]);
});

verifies(
  ["A11", "A6"],
  "a run asks again where the answer breaks off before it began, and a ping is no beginning",
  async () => {
    const answer = { pieces: stream({ content: "Here." }) };
    const ended = { pieces: [": wait\n\n", ": wait\n\n"] };
    const busy = { pieces: ['data: {"error":{"message":"Busy.","code":503}}\n\n'] };
    const refused = { status: 429, pieces: ['{"error":{"message":"Slow down."}}'], headers: { "retry-after": "0" } };
    for (const fault of [ended, busy, refused, { ...ended, end: "destroy" as const }]) {
      await using server = await wireServer(fault, answer);
      const assistant = agent({ models: { local: { url: server.url } }, defaultModel: "local/m", random: () => 0 });
      const run = assistant.stream("Where?");
      for await (const _event of run);
      expect(await (await run.result).text()).toBe("Here.");
      expect(server.asked).toHaveLength(2);
    }
  },
);

verifies(
  ["A11", "A6"],
  "a server that says that it works, while its model thinks for an hour, is not silent",
  async () => {
    const asked = Promise.withResolvers<ServerResponse>();
    const { origin, close } = await listen((request, response) => {
      request.resume();
      response.writeHead(200, sse).flushHeaders();
      asked.resolve(response);
    });
    const inner = new ChatModel("m", { name: "acme", url: origin });
    let heard = Promise.withResolvers<void>();
    // The same model, which reports that something was read.
    const open = async (options: LanguageModelV4CallOptions): Promise<PartReader> => {
      const reader = await inner.open(options);
      const read = async () => {
        const parts = await reader.read();
        heard.resolve();
        return parts;
      };
      return { read, cancel: () => reader.cancel() };
    };
    const clock = virtualClock();
    const model = Object.assign(Object.create(inner), { open });
    const chosen = { model, provider: "acme", modelId: "m" };
    const answering = (async () => {
      let text = "";
      const call = modelCall({ clock, modelTimeoutMs: 300_000 });
      for await (const part of streamedParts(chosen, hello, call)) if (part.type === "text-delta") text += part.delta;
      return text;
    })();
    const response = await asked.promise;
    for (let minutes = 0; minutes < 60; minutes += 4) {
      response.write(": working\n\n");
      await heard.promise;
      heard = Promise.withResolvers();
      await new Promise(setImmediate);
      await clock.advance(240_000);
    }
    response.end(stream({ content: "42" }).join(""));
    expect(await answering).toBe("42");
    await close();
  },
);

verifies(
  ["A11", "A6"],
  "no error has the key, the headers or the question, and no inspection of the model",
  async () => {
    const apiKey = "sk-of-the-tests-0123456789";
    const secret = "header-of-the-tests-0123456789";
    await using server = await wireServer({
      status: 401,
      pieces: [JSON.stringify({ error: { message: `Wrong: ${apiKey}, ${secret}` } })],
    });
    const local = { url: server.url, apiKey, headers: { "X-Secret": secret } };
    const assistant = agent({ models: { local }, defaultModel: "local/m" });
    const error = await failure(assistant.generate("Top secret question"));
    expect(error).toMatchObject({ code: "MODEL_FAILED", details: { provider: "local", model: "m", status: 401 } });
    const model = modelOf(server, local);
    for (const each of [error, model]) {
      const everything = inspect(each, { depth: 20, showHidden: true }) + JSON.stringify(each);
      for (const text of [apiKey, secret, "Top secret"]) expect(everything).not.toContain(text);
    }
  },
);

verifies("A11", "the URL may have a query, and a call headers of its own", async () => {
  await using server = await wireServer({ pieces: [delta({}, "stop")] });
  const model = modelOf(server, { url: `${server.url}/?api-version=7`, headers: { "X-Team": "a" } });
  await model.doStream({ ...hello, headers: { "x-team": "b", "x-none": undefined } });
  const [{ path, headers } = { path: "", headers: {} }] = server.asked;
  expect(path).toBe("/v1/chat/completions?api-version=7");
  expect(headers).toMatchObject({ "x-team": "b", "content-type": "application/json" });
  expect(headers).not.toHaveProperty("x-none");
});

verifies("A11", "what cannot be sent is a warning, or an error before anything is sent", async () => {
  await using server = await wireServer({ pieces: [delta({}, "stop")] });
  const tools: LanguageModelV4CallOptions["tools"] = [
    { type: "provider", id: "acme.search", name: "search", args: {} },
  ];
  const { stream: parts } = await modelOf(server).doStream({ ...hello, topK: 4, tools, toolChoice: { type: "auto" } });
  for await (const part of parts) {
    if (part.type !== "stream-start") continue;
    const features = ["topK", "provider-defined tool acme.search"];
    expect(part.warnings).toEqual(features.map((feature) => ({ type: "unsupported", feature })));
  }
  expect(server.asked[0]?.body).not.toHaveProperty("tools");
  for (const mediaType of ["audio/flac", "application/zip"]) {
    const file = { type: "file" as const, mediaType, data: { type: "data" as const, data: "AAAA" } };
    const error = await rejection(modelOf(server).doStream({ prompt: [{ role: "user", content: [file] }] }));
    expect(error).toMatchObject({ message: expect.stringContaining(mediaType) });
  }
  expect(server.asked).toHaveLength(1);
});

verifies("A11", "a result with a file is its texts, and a note in place of the file", async () => {
  await using server = await wireServer({ pieces: [delta({}, "stop")] });
  const file = { type: "file" as const, mediaType: "image/png", data: { type: "data" as const, data: "AAAA" } };
  const output = { type: "content" as const, value: [{ type: "text" as const, text: "Seen." }, file] };
  const content = [{ type: "tool-result" as const, toolCallId: "a", toolName: "sky", output }];
  await modelOf(server).doStream({ prompt: [...hello.prompt, { role: "tool", content }] });
  const messages = server.asked[0]?.body.messages as { readonly content: string }[] | undefined;
  expect(messages?.[1]?.content).toMatch(/^Seen\.\n\n\[A file of the type image\/png/);
});

verifies("A11", "the limit of tokens has the name that the server knows", async () => {
  await using server = await wireServer({ pieces: [delta({}, "stop")] });
  await modelOf(server).doStream({ ...hello, maxOutputTokens: 5 });
  expect(server.asked[0]?.body).toMatchObject({ max_tokens: 5 });
  const limitField = limitFieldOf(new URL("https://api.openai.com/v1/chat/completions"));
  const { body } = chatRequest({ ...hello, maxOutputTokens: 5 }, { modelId: "o4", provider: "x", limitField }, true);
  expect(JSON.parse(body)).toMatchObject({ model: "o4", max_completion_tokens: 5 });
  expect(body).not.toContain('"max_tokens"');
});

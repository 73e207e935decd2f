import { describe, expect } from "vitest";
import { rejection } from "../../support/failure.ts";
import { verifies } from "../../support/verifies.ts";
import {
  callsIn,
  chunk,
  delta,
  finishIn,
  hello,
  json,
  modelOf,
  partsOf,
  sse,
  stream,
  textIn,
  type WireAnswer,
  wireServer,
} from "./support.ts";

/** The parts of an answer. */
async function answered(answer: WireAnswer, options = hello) {
  await using server = await wireServer(answer);
  return await partsOf(modelOf(server), options);
}

const piece = (fields: object, called: object = {}) => ({ tool_calls: [{ ...fields, function: called }] });

describe("the calls of a stream", () => {
  const bern = '{"city":"Bern"}';
  const zug = '{"city":"Zug"}';
  const both = [
    { id: "a", name: "sky", input: bern },
    { id: "b", name: "sky", input: zug },
  ];
  const cases: readonly (readonly [title: string, deltas: readonly object[], calls: readonly unknown[]])[] = [
    [
      "of several indexes come in pieces, in any order",
      [
        piece({ index: 0, id: "a" }, { name: "sky", arguments: "" }),
        piece({ index: 1, id: "b" }, { name: "sky", arguments: '{"city"' }),
        piece({ index: 0 }, { arguments: '{"city":' }),
        piece({ index: 1 }, { arguments: ':"Zug"}' }),
        piece({ index: 0 }, { arguments: '"Bern"}' }),
      ],
      both,
    ],
    [
      "come whole, in one delta",
      [
        {
          tool_calls: [
            { index: 0, id: "a", function: { name: "sky", arguments: bern } },
            { index: 1, id: "b", function: { name: "sky", arguments: zug } },
          ],
        },
      ],
      both,
    ],
    [
      "share an index and have ids of their own",
      [
        piece({ index: 0, id: "a" }, { name: "sky", arguments: bern }),
        piece({ index: 0, id: "b" }, { name: "sky", arguments: zug }),
      ],
      both,
    ],
    [
      "have ids and no index",
      [
        piece({ id: "a" }, { name: "sky", arguments: '{"city":' }),
        piece({}, { arguments: '"Bern"}' }),
        piece({ id: "b" }, { name: "sky", arguments: '{"city":' }),
        piece({ id: "b" }, { arguments: '"Zug"}' }),
      ],
      both,
    ],
    [
      "get their ids and names late",
      [
        piece({ index: 0 }, { arguments: '{"city":' }),
        piece({ index: 0 }, { name: "sky" }),
        piece({ index: 0, id: "a" }, { arguments: '"Bern"}' }),
      ],
      [both[0]],
    ],
    [
      "repeat name and id in each piece",
      [
        piece({ index: 0, id: "a" }, { name: "sky", arguments: '{"city":' }),
        piece({ index: 0, id: "a" }, { name: "sky", arguments: '"Bern"}' }),
      ],
      [both[0]],
    ],
    [
      "change their id from piece to piece",
      [
        piece({ index: 0, id: "a" }, { name: "sky", arguments: '{"city":' }),
        piece({ index: 0, id: "a2" }, { arguments: '"Bern"}' }),
      ],
      [both[0]],
    ],
    [
      "have brackets in their texts",
      [
        piece({ index: 0, id: "a" }, { name: "sky", arguments: '{"city":"}\\"{' }),
        piece({ index: 0, id: "x" }, { name: "sky", arguments: 'Bern"}' }),
      ],
      [{ id: "a", name: "sky", input: '{"city":"}\\"{Bern"}' }],
    ],
    [
      "have arguments that are no text, or none",
      [
        piece({ index: 0, id: "a" }, { name: "sky", arguments: { city: "Bern" } }),
        piece({ index: 1, id: "b" }, { name: "now" }),
      ],
      [both[0], { id: "b", name: "now", input: "" }],
    ],
    ["that have no name are none", [piece({ index: 0, id: "a" }, { arguments: "{}" })], []],
  ];
  for (const [title, deltas, calls] of cases) {
    verifies("A11", title, async () => {
      const parts = await answered({ pieces: stream(...deltas) });
      expect(callsIn(parts)).toEqual(calls);
      expect(finishIn(parts).finishReason.unified).toBe(calls.length > 0 ? "tool-calls" : "stop");
      for (const part of parts) {
        if (part.type === "tool-call") {
          const pieces = parts.flatMap((each) =>
            each.type === "tool-input-delta" && each.id === part.toolCallId ? [each.delta] : [],
          );
          expect(pieces.join("")).toBe(part.input);
        }
      }
    });
  }

  verifies("A11", "never get an id from a server that sends none, and have distinct ones", async () => {
    const parts = await answered({
      pieces: stream(
        piece({ index: 0 }, { name: "sky", arguments: bern }),
        piece({ index: 0 }, { name: "sky", arguments: zug }),
      ),
    });
    const [first, second, ...others] = callsIn(parts) as { readonly id: string; readonly input: string }[];
    expect([first?.input, second?.input, others]).toEqual([bern, zug, []]);
    expect(first?.id).toMatch(/^call-/);
    expect(first?.id).not.toBe(second?.id);
  });
});

describe("an answer", () => {
  verifies("A11", "has thoughts, text, a refusal, its tokens, id, model and time", async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 5, accepted_prediction_tokens: 3 },
    };
    const parts = await answered({
      pieces: [
        delta({ role: "assistant", content: "", reasoning_content: "Hm" }),
        delta({ reasoning: "m." }),
        delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "So" }] }] }),
        delta({ content: "No" }),
        delta({ refusal: ", sorry." }),
        delta({}, "stop"),
        chunk({ choices: [], usage }),
        "data: [DONE]\n\n",
      ],
    });
    expect(parts).toEqual([
      { type: "response-metadata", id: "c1", modelId: "m-1", timestamp: new Date(1_700_000_000_000) },
      { type: "reasoning-start", id: "reasoning-0" },
      { type: "reasoning-delta", id: "reasoning-0", delta: "Hm" },
      { type: "reasoning-delta", id: "reasoning-0", delta: "m." },
      { type: "reasoning-delta", id: "reasoning-0", delta: "So" },
      { type: "reasoning-end", id: "reasoning-0" },
      { type: "text-start", id: "text-1" },
      { type: "text-delta", id: "text-1", delta: "No" },
      { type: "text-delta", id: "text-1", delta: ", sorry." },
      { type: "text-end", id: "text-1" },
      {
        type: "finish",
        finishReason: { unified: "content-filter", raw: "stop" },
        usage: {
          inputTokens: { total: 100, noCache: 60, cacheRead: 40, cacheWrite: undefined },
          outputTokens: { total: 20, text: 15, reasoning: 5 },
          raw: usage,
        },
        providerMetadata: { acme: { acceptedPredictionTokens: 3 } },
      },
    ]);
  });

  const said = "Grüße 🌍, and more.";
  const events = stream({ content: "Grüße " }, { content: "🌍, and" }, { content: " more." });
  const bytes = Buffer.from(events.join(""));
  const forms: Readonly<Record<string, WireAnswer>> = {
    "event by event": { pieces: events },
    "byte by byte, characters in the middle": { pieces: [...bytes].map((byte) => Uint8Array.of(byte)) },
    "all at once": { pieces: [bytes] },
    "with line ends of two characters": { pieces: [events.join("").replaceAll("\n", "\r\n")] },
    "with line ends of the old Mac": { pieces: [events.join("").replaceAll("\n", "\r")] },
    "with comments between": { pieces: [": OPENROUTER PROCESSING\n\n", ...events.flatMap((each) => [":\n\n", each])] },
    "without [DONE]": { pieces: events.slice(0, -1) },
    "without a finish reason": { pieces: [...events.slice(0, 3), "data: [DONE]\n\n"] },
    "with empty fields for what is not there": {
      pieces: events.map((each) => each.replace("null", '""').replace("{", '{"error":"",')),
    },
    "without an empty line at the end": { pieces: [...events.slice(0, 3), delta({}, "stop").trimEnd()] },
    "without blanks after colons": { pieces: [events.join("").replaceAll("data: ", "data:")] },
    "with another type": { pieces: events, headers: { "content-type": "text/plain" } },
    "without a type": { pieces: events, headers: {} },
    "with events of other fields": { pieces: ["id: 1\nretry: 5\nevent: message\n", ...events] },
    "whose connection breaks after its end": { pieces: events, end: "destroy" },
    "whole, as JSON": {
      pieces: [JSON.stringify({ choices: [{ message: { content: said }, finish_reason: "stop" }] })],
      headers: json,
    },
    "whole, without a type": {
      pieces: ["\n ", JSON.stringify({ choices: [{ message: { content: said }, finish_reason: "stop" }] })],
      headers: {},
    },
  };
  for (const [title, answer] of Object.entries(forms)) {
    verifies("A11", `is read ${title}`, async () => {
      const parts = await answered(answer);
      expect(textIn(parts)).toBe(said);
      expect(finishIn(parts).finishReason.unified).toBe(title === "without a finish reason" ? "other" : "stop");
    });
  }

  verifies("A11", "is given whole too, from a server that sends it so or as events", async () => {
    const tool_calls = [
      { id: "a", type: "function", function: { name: "sky", arguments: '{"city":"Bern"}' } },
      { type: "function", function: { name: "sky", arguments: "{}" } },
    ];
    const message = { role: "assistant", content: "Looking.", reasoning: "Hm.", tool_calls };
    const usage = { prompt_tokens: 7, completion_tokens: 3 };
    const whole = { id: "c1", model: "m-1", created: 1, choices: [{ message, finish_reason: "stop" }], usage };
    await using server = await wireServer(
      { pieces: [JSON.stringify(whole)], headers: json },
      { pieces: stream({ content: "Hi" }), headers: sse },
    );
    const result = await modelOf(server).doGenerate(hello);
    expect(result).toMatchObject({
      content: [
        { type: "reasoning", text: "Hm." },
        { type: "text", text: "Looking." },
        { type: "tool-call", toolCallId: "a", toolName: "sky", input: '{"city":"Bern"}' },
        { type: "tool-call", toolCallId: expect.stringMatching(/^call-/), toolName: "sky", input: "{}" },
      ],
      finishReason: { unified: "tool-calls", raw: "stop" },
      usage: { inputTokens: { total: 7 }, outputTokens: { total: 3 } },
      response: { id: "c1", modelId: "m-1", timestamp: new Date(1_000) },
    });
    expect(server.asked[0]?.body).not.toHaveProperty("stream");
    expect((await modelOf(server).doGenerate(hello)).content).toEqual([{ type: "text", text: "Hi" }]);
  });

  verifies(
    "A11",
    "is a web stream for all others, slow readers included, and its raw chunks are given to who wants them",
    async () => {
      const many = Array.from({ length: 5_000 }, (_, at) => ({ content: `${at} ` }));
      await using server = await wireServer({ pieces: [stream(...many).join("")] });
      const { stream: parts } = await modelOf(server).doStream({ ...hello, includeRawChunks: true });
      let text = "";
      let raw = 0;
      for await (const part of parts) {
        if (part.type === "text-delta") text += part.delta;
        if (part.type === "raw") raw += 1;
        if (raw % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      expect(text).toBe(many.map(({ content }) => content).join(""));
      expect(raw).toBe(many.length + 1);
      const { stream: left } = await modelOf(server).doStream(hello);
      await left.cancel();
      await server.idle();
    },
  );
});

describe("an answer that is none", () => {
  const half = [delta({ content: "Half" })];
  const said = (text: string) => expect.objectContaining({ message: expect.stringContaining(text) });
  const cases: readonly (readonly [title: string, answer: WireAnswer, error: unknown])[] = [
    ["ends in the middle", { pieces: half }, said("ended before it was finished")],
    [
      "ends in the middle, with empty finish reasons",
      { pieces: [delta({ content: "Half" }, "")] },
      said("ended before it was finished"),
    ],
    ["ends before its beginning", { pieces: [] }, said("ended before it was finished")],
    ["breaks off", { pieces: half, end: "destroy" }, expect.objectContaining({ code: "UND_ERR_SOCKET" })],
    [
      "reports an error among its chunks",
      { pieces: [...half, 'data: {"error":{"message":"Too busy.","code":529}}\n\n'] },
      expect.objectContaining({ message: "Too busy.", statusCode: 529, isRetryable: true }),
    ],
    [
      "reports an error that may pass",
      { pieces: ['data: {"error":{"message":"Oops.","type":"server_error","code":null}}\n\n'] },
      expect.objectContaining({ message: "Oops.", isRetryable: true }),
    ],
    [
      "reports an error by an event of that name",
      { pieces: [...half, 'event: error\ndata: {"message":"Out of memory.","code":400}\n\n'] },
      expect.objectContaining({ message: "Out of memory.", statusCode: 400, isRetryable: false }),
    ],
    ["reports an error in plain text", { pieces: ["event: error\ndata: boom\n\n"] }, said("boom")],
    [
      "is an error though its status is 200",
      { pieces: ['{"error":"model not found"}'], headers: json },
      expect.objectContaining({ message: "model not found" }),
    ],
    ["is a page", { pieces: ["<!doctype html><p>Login"], headers: { "content-type": "text/html" } }, said("is a page")],
    ["is JSON of something else", { pieces: ["[1]"], headers: json }, said("has no choice")],
    ["has an event of something else", { pieces: ["data: {no json\n\n"] }, said("not in the form of Chat Completions")],
  ];
  for (const [title, answer, error] of cases) {
    verifies("A11", `${title} is an error`, async () => {
      await using server = await wireServer(answer);
      const parts = await partsOf(modelOf(server)).catch((thrown: unknown) => [
        { type: "error" as const, error: thrown },
      ]);
      expect(parts.find(({ type }) => type === "error")).toEqual({ type: "error", error });
      expect(await rejection(modelOf(server).doGenerate(hello))).toEqual(error);
    });
  }

  const statuses: readonly (readonly [body: string, headers: Readonly<Record<string, string>>, message: string])[] = [
    ['{"error":{"message":"No such model."}}', json, "No such model."],
    ['{"error":"no such model"}', json, "no such model"],
    ['[{"error":{"message":"In a list."}}]', json, "In a list."],
    ['{"detail":"Not Found"}', json, "Not Found"],
    ['{"detail":[{"loc":["body","x"]}]}', json, '[{"loc":["body","x"]}]'],
    ["upstream connect error", { "content-type": "text/plain" }, "upstream connect error"],
    ["<html><h1>502</h1></html>", { "content-type": "text/html" }, "Service Unavailable"],
    ["", {}, "Service Unavailable"],
  ];
  verifies(
    "A11",
    "a status is an error with the message of its body, never a page, and with the wait it asks for",
    async () => {
      for (const [body, headers, message] of statuses) {
        const answer = { status: 503, pieces: [body], headers: { ...headers, "retry-after": "7" } };
        await using server = await wireServer(answer);
        for (const ask of [modelOf(server).doGenerate(hello), modelOf(server).doStream(hello)]) {
          expect(await rejection(ask)).toMatchObject({
            message,
            statusCode: 503,
            isRetryable: true,
            requestBodyValues: undefined,
            responseHeaders: { "retry-after": "7" },
          });
        }
      }
    },
  );

  verifies(
    "A11",
    "an error within an answer that does not end ends the request, also where it is wanted whole",
    async () => {
      const error = 'data: {"error":{"message":"Too busy."}}\n\n';
      await using server = await wireServer({ pieces: [error], end: "hang" });
      expect(await rejection(modelOf(server).doGenerate(hello))).toMatchObject({ message: "Too busy." });
      await server.idle();
    },
  );

  verifies("A11", "an abort ends the request at once, before the answer and within", async () => {
    await using server = await wireServer({ pieces: half, end: "hang" });
    const controller = new AbortController();
    const reader = await modelOf(server).open({ ...hello, abortSignal: controller.signal });
    await reader.read();
    const reading = rejection(
      (async () => {
        while ((await reader.read()) !== undefined);
      })(),
    );
    controller.abort("enough");
    expect(await reading).toBe("enough");
    await server.idle();
    expect(await rejection(modelOf(server).open({ ...hello, abortSignal: AbortSignal.abort("never") }))).toBe("never");
    expect(server.asked).toHaveLength(1);
  });
});

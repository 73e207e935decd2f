import { describe, expect } from "vitest";
import { MessagesModel } from "../../src/agent/model/server-models.ts";
import { expectGivenUp, filler, smallLimits, zipped } from "../agent/model/endless-answers.ts";
import { begin, called, ending, event, messagePartsOf, messagesModel, said } from "../agent/model/messages-support.ts";
import {
  callsIn,
  finishIn,
  json,
  sse,
  textIn,
  type WireAnswer,
  type WireServer,
  wireServer,
} from "../agent/model/support.ts";
import { rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

function bounded({ url }: WireServer): MessagesModel {
  return new MessagesModel("claude-sonnet-4-5", { name: "anthropic", url }, smallLimits);
}

describe("what a server of Messages sends", () => {
  const many = (piece: string, times = 64) => Array.from({ length: times }, () => piece);
  const delta = (fields: object) => event("content_block_delta", { index: 0, delta: fields });
  const opened = (content_block: object) => event("content_block_start", { index: 0, content_block });
  const call = opened({ type: "tool_use", id: "a", name: "sky", input: {} });
  const cases: readonly (readonly [title: string, answer: WireAnswer, message: RegExp])[] = [
    ["a line without end", { pieces: ["data: ", ...many(filler)], end: "hang" }, /event .* larger than 1048576/],
    [
      "text without end",
      {
        pieces: [begin, opened({ type: "text", text: "" }), ...many(delta({ type: "text_delta", text: filler }))],
        end: "hang",
      },
      /larger than 2097152/,
    ],
    [
      "a signature without end",
      {
        pieces: [opened({ type: "thinking" }), ...many(delta({ type: "signature_delta", signature: filler }))],
        end: "hang",
      },
      /larger than 2097152/,
    ],
    ["pings without end", { pieces: many(event("ping").repeat(2_048)), end: "hang" }, /larger than 2097152/],
    ["JSON without end", { pieces: ["{", ...many(filler)], headers: json, end: "hang" }, /larger than 1048576/],
    ["64 MiB in 64 KiB", zipped(), /larger than/],
    [
      "arguments without end",
      { pieces: [call, ...many(delta({ type: "input_json_delta", partial_json: filler }))], end: "hang" },
      /arguments of more than 524288/,
    ],
    ["blocks without end", { pieces: many(call, 10_001), end: "hang" }, /more than 10000 blocks/],
  ];
  for (const [title, answer, message] of cases) {
    verifies("A11", `is bounded: ${title}`, async () => {
      await using server = await wireServer(answer);
      await expectGivenUp(server, bounded(server), messagePartsOf, message);
    });
  }

  verifies("A11", "may be anything: blocks of other types, deltas of no block, numbers beyond numbers", async () => {
    const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const odd = [
      "data: null\n\n",
      "data: 7\n\n",
      'data: {"type":7}\n\n',
      'data: {"type":"message_start","message":[]}\n\n',
      'data: {"type":"message_start","message":{"id":7,"usage":{"input_tokens":1e999,"output_tokens":-5}}}\n\n',
      'data: {"__proto__":{"error":{"message":"x"}},"type":"constructor"}\n\n',
      event("content_block_start", { index: -1, content_block: null }),
      event("content_block_start", {
        index: 1e99,
        content_block: { type: "server_tool_use", name: "x", input: { a: 1 } },
      }),
      event("content_block_start", { index: 5, content_block: { type: "tool_use", name: 7, input: "x" } }),
      event("content_block_start", { index: 6, content_block: { type: "text", text: 7 } }),
      event("content_block_delta", { index: 6, delta: { type: "text_delta", text: {} } }),
      event("content_block_delta", { index: 99, delta: { type: "text_delta", text: "lost" } }),
      event("content_block_delta", { index: 6, delta: [] }),
      event("content_block_stop", { index: 99 }),
      event("message_delta", { delta: 7, usage: [] }),
      event("of_a_later_version", { a: 1 }),
      `data: {"type":"ping","x":${deep}}\n\n`,
    ];
    await using server = await wireServer({ pieces: [...odd, said(0, "Fine."), ending("end_turn")] });
    const parts = await messagePartsOf(messagesModel(server));
    expect(textIn(parts)).toBe("Fine.");
    expect(callsIn(parts)).toEqual([]);
    expect(finishIn(parts)).toMatchObject({
      finishReason: { unified: "stop" },
      usage: { inputTokens: { total: 0, cacheRead: 0 }, outputTokens: { total: 7 } },
    });
    expect(({} as Readonly<Record<string, unknown>>).error).toBeUndefined();
    const nested = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"a","input":${deep}}}`;
    await using other = await wireServer({ pieces: [`data: ${nested}\n\n`] });
    expect(await rejection(messagePartsOf(messagesModel(other)))).toMatchObject({
      message: "the answer has arguments that are nested too deep",
    });
  });

  verifies("A11", "is read in linear time: a call in 200,000 pieces", async () => {
    const pieces = many(delta({ type: "input_json_delta", partial_json: "7" }).repeat(20_000), 10);
    await using server = await wireServer({ pieces: [begin, call, ...pieces, ending("tool_use")] });
    const before = process.cpuUsage();
    const [found] = callsIn(await messagePartsOf(messagesModel(server)));
    expect(found).toMatchObject({ id: "a", name: "sky", input: "7".repeat(200_000) });
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(10_000);
  });

  verifies("A11", "gets no key of Anthropic by a redirect to another origin", async () => {
    const answer = { pieces: [begin, called(0, "a", "sky"), ending("tool_use")] };
    await using thief = await wireServer(answer);
    const location = `${thief.url}/messages`;
    await using server = await wireServer({ status: 307, headers: { ...sse, location }, pieces: [] });
    expect(callsIn(await messagePartsOf(messagesModel(server)))).toHaveLength(1);
    for (const { headers } of thief.asked) expect(headers).not.toHaveProperty("x-api-key");
    expect(thief.asked).toHaveLength(1);
  });
});

import { describe, expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { ChatModel } from "../../src/agent/model/server-models.ts";
import { expectGivenUp, filler, smallLimits, zipped } from "../agent/model/endless-answers.ts";
import {
  callsIn,
  chunk,
  delta,
  finishIn,
  json,
  modelOf,
  partsOf,
  sse,
  stream,
  type WireAnswer,
  type WireServer,
  wireServer,
} from "../agent/model/support.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

function bounded({ url }: WireServer): ChatModel {
  return new ChatModel("m", { name: "acme", url }, smallLimits);
}

describe("what a model's server sends", () => {
  const without = (end: string, times: number) => Array.from({ length: times }, () => filler + end);
  const cases: readonly (readonly [title: string, answer: WireAnswer, message: RegExp])[] = [
    ["a line without end", { pieces: ["data: ", ...without("", 64)], end: "hang" }, /event .* larger than 1048576/],
    [
      "lines of one event without end",
      { pieces: without("\ndata: ", 64).map((each) => `data: ${each}`), end: "hang" },
      /larger than/,
    ],
    [
      "chunks without end",
      { pieces: Array.from({ length: 64 }, () => delta({ role: filler })), end: "hang" },
      /larger than 2097152/,
    ],
    [
      "comments without end",
      { pieces: Array.from({ length: 64 }, () => ":\n".repeat(32 * 1024)), end: "hang" },
      /larger than 2097152/,
    ],
    ["JSON without end", { pieces: ["{", ...without("", 64)], headers: json, end: "hang" }, /larger than 1048576/],
    [
      "blanks without end",
      { pieces: Array.from({ length: 64 }, () => " ".repeat(65_536)), headers: json, end: "hang" },
      /larger than/,
    ],
    ["64 MiB in 64 KiB", zipped(), /larger than/],
    [
      "arguments without end",
      {
        pieces: Array.from({ length: 64 }, () =>
          delta({ tool_calls: [{ index: 0, id: "a", function: { name: "sky", arguments: filler } }] }),
        ),
        end: "hang",
      },
      /arguments of more than 524288/,
    ],
    [
      "calls without end",
      {
        pieces: [
          delta({ tool_calls: Array.from({ length: 10_001 }, (_, index) => ({ index, function: { name: "a" } })) }),
        ],
      },
      /more than 10000 tool calls/,
    ],
  ];
  for (const [title, answer, message] of cases) {
    verifies("A11", `is bounded: ${title}`, async () => {
      await using server = await wireServer(answer);
      await expectGivenUp(server, bounded(server), partsOf, message);
    });
  }

  verifies("A11", "is not read on where it fails: 64 KiB of the body of an error, and the run ends", async () => {
    await using server = await wireServer({ status: 400, headers: json, pieces: without("", 64), end: "hang" });
    const assistant = agent({ models: { local: { url: server.url } }, defaultModel: "local/m" });
    const error = await failure(assistant.generate("Go."));
    expect(error).toMatchObject({ code: "MODEL_FAILED", details: { status: 400 } });
    expect(error.message.length).toBeLessThan(700);
    await server.idle();
  });

  verifies(
    "A11",
    "is put together in linear time, in 200,000 pieces of one call that each repeat its name",
    async () => {
      const piece = { index: 0, function: { name: "sky", arguments: "[]" } };
      const many = delta({ tool_calls: Array.from({ length: 20_000 }, () => piece) });
      const first = delta({ tool_calls: [{ index: 0, id: "a", function: { name: "sky", arguments: '{"a":"' } }] });
      await using server = await wireServer({
        pieces: [first, ...Array.from({ length: 10 }, () => many), ...stream()],
      });
      const before = process.cpuUsage();
      const parts = await partsOf(modelOf(server));
      expect(callsIn(parts)).toMatchObject([{ id: "a" }]);
      const { user } = process.cpuUsage(before);
      expect(user / 1_000).toBeLessThan(10_000);
    },
  );

  verifies("A11", "may be anything: fields of other types, names of prototypes, numbers beyond numbers", async () => {
    const odd = [
      "data: null\n\n",
      "data: 7\n\n",
      "data: []\n\n",
      'data: {"choices":{}}\n\n',
      'data: {"choices":[null]}\n\n',
      'data: {"choices":[{"delta":"x"}]}\n\n',
      'data: {"__proto__":{"error":{"message":"x"}},"choices":[{"delta":{"constructor":1}}]}\n\n',
      chunk({ id: 7, model: {}, created: 1e300, choices: [{ delta: { content: 7, reasoning: [], refusal: false } }] }),
      delta({ content: [null, 7, { type: "text" }, { type: "thinking", thinking: "x" }], tool_calls: "x" }),
      delta({ tool_calls: [null, 7, {}, { index: -1, function: 7 }, { index: 1e99, function: { name: 7 } }] }),
      'data: {"usage":{"prompt_tokens":1e999,"completion_tokens":-5,"prompt_tokens_details":7},"choices":[]}\n\n',
      `data: {"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}\n\n`,
    ];
    await using server = await wireServer({ pieces: [...odd, ...stream({ content: "Fine." })] });
    const parts = await partsOf(modelOf(server));
    expect(parts).toContainEqual({ type: "text-delta", id: "text-0", delta: "Fine." });
    expect(finishIn(parts)).toMatchObject({
      finishReason: { unified: "stop" },
      usage: { inputTokens: { total: 0, cacheRead: 0 }, outputTokens: { total: 0 } },
    });
    expect(({} as Readonly<Record<string, unknown>>).error).toBeUndefined();
  });

  verifies("A11", "gets no key by a redirect to another origin", async () => {
    await using thief = await wireServer({ pieces: stream({ content: "Thanks." }) });
    const location = `${thief.url}/chat/completions`;
    await using server = await wireServer({ status: 307, headers: { ...sse, location }, pieces: [] });
    const model = modelOf(server, { apiKey: "sk-of-the-tests-0123456789" });
    await partsOf(model);
    expect(thief.asked[0]?.headers).not.toHaveProperty("authorization");
  });
});

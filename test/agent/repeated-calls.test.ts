import { describe, expect } from "vitest";
import { defineTool } from "../../src/index.ts";
import type { ScriptedToolCall } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { resultsIn, type ServedOptions, serve, toldIn } from "./support.ts";

let ran = 0;
const items = [
  defineTool({ name: "look", input: { type: "object" }, run: () => `seen ${++ran}` }),
  defineTool({ name: "fail", run: () => Promise.reject(new Error("no luck")) }),
  defineTool({ name: "json", run: () => ({ a: 1 }) }),
];
const look = (input: object): ScriptedToolCall => ({ name: "look", input });
const note = /in (\d+) turns in a row/;

/** The number of turns that the model was told of with each result, 0 for none. */
async function notices(turns: readonly (readonly ScriptedToolCall[])[], agent: ServedOptions["agent"] = {}) {
  await using served = serve([...turns.map((toolCalls) => ({ toolCalls })), "done"], items, { agent });
  await served.assistant.generate("Go.", { tools: ["*"] });
  return served.model.requests.slice(1).map((request) => Number(note.exec(toldIn(request))?.[1] ?? 0));
}

describe("the same call in turns in a row", () => {
  verifies("A2", "is reported to the model at the third, whatever the order of its fields", async () => {
    expect(await notices([[look({ a: 1, b: 2 })], [look({ b: 2, a: 1 })], [look({ a: 1, b: 2 })]])).toEqual([0, 0, 3]);
    expect(await notices([[{ name: "fail" }], [{ name: "fail" }], [{ name: "fail" }], [{ name: "fail" }]])).toEqual([
      0, 0, 3, 4,
    ]);
    expect(await notices([[{ name: "json" }], [{ name: "json" }], [{ name: "json" }]])).toEqual([0, 0, 3]);
  });

  verifies("A2", "is none where another turn is between, the input differs, or it is in one turn", async () => {
    const one = [look({ n: 1 })];
    const two = [look({ n: 2 })];
    expect(await notices([one, one, two, one, one, two])).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await notices([[...one, ...one, ...one], two])).toEqual([0, 0]);
  });

  verifies("A2", "beside others is reported with its own result", async () => {
    const turn = (n: number) => [look({ n: 0 }), look({ n })];
    await using served = serve([...[1, 2, 3].map((n) => ({ toolCalls: turn(n) })), "done"], items);
    await served.assistant.generate("Go.", { tools: ["*"] });
    const [same, other] = resultsIn(served.model.requests[3]).map(({ output }) => JSON.stringify(output));
    expect([note.test(same ?? ""), note.test(other ?? "")]).toEqual([true, false]);
  });

  verifies("A2", "ends the run at the fifth, before it is made", async () => {
    ran = 0;
    await using served = serve(() => ({ toolCalls: [look({})] }), items);
    const error = await failure(served.assistant.generate("Go.", { tools: ["*"] }));
    expect([error.code, error.message]).toEqual(["STEP_LIMIT", expect.stringMatching(/same call of look in 5 turns/)]);
    expect([served.model.requests.length, ran]).toEqual([5, 4]);
  });

  verifies("A2", "is bounded by options", async () => {
    const turns = Array.from({ length: 7 }, () => [look({})]);
    const limits = { repeatNoticeAt: 7, maxRepeatedCalls: Number.POSITIVE_INFINITY };
    expect(await notices(turns, limits)).toEqual([0, 0, 0, 0, 0, 0, 7]);
    await using served = serve(() => ({ toolCalls: [look({})] }), items);
    expect((await failure(served.assistant.generate("Go.", { tools: ["*"], maxRepeatedCalls: 2 }))).code).toBe(
      "STEP_LIMIT",
    );
    expect(served.model.requests).toHaveLength(2);
  });

  verifies("A2", "in an earlier run of a conversation does not count", async () => {
    await using served = serve(
      ({ prompt }) =>
        prompt.at(-1)?.role === "user" || prompt.filter(({ role }) => role === "tool").length % 2 === 1
          ? { toolCalls: [look({})] }
          : "done",
      items,
    );
    const first = await served.assistant.generate("Go.", { tools: ["*"] });
    const conversation = served.assistant.conversationOf(first);
    await served.assistant.generate("Again.", { tools: ["*"], conversation });
    expect(served.model.requests.some((request) => note.test(toldIn(request)))).toBe(false);
  });
});

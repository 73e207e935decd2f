import { describe, expect } from "vitest";
import * as z from "zod";
import { defineTool, parsePrompt, type SchemaLike } from "../../src/index.ts";
import type { ScriptedStep } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { faultsOf, serve, toldIn } from "./support.ts";

const look = defineTool({ name: "look", run: () => "seen" });
const tree = {
  $ref: "#/$defs/node",
  $defs: {
    node: {
      type: "object",
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
      required: ["name"],
      additionalProperties: false,
    },
  },
};
const forms: readonly (readonly [string, SchemaLike, unknown, unknown?])[] = [
  ["an object", { type: "object", properties: { n: { type: "number" } }, required: ["n"] }, { n: 1 }],
  ["a list", { type: "array", items: { type: "integer" } }, [1, 2]],
  ["a text", { type: "string", enum: ["yes", "no"] }, "yes"],
  ["a number", { type: "number" }, 7],
  ["true or false", { type: "boolean" }, false],
  [
    "a choice of objects",
    {
      anyOf: [
        { type: "object", required: ["a"] },
        { type: "object", required: ["b"] },
      ],
    },
    { b: 1 },
  ],
  ["a recursive schema", tree, { name: "a", children: [{ name: "b", children: [] }] }],
  [
    "zod with defaults",
    z.object({ city: z.string(), days: z.number().default(3) }),
    { city: "Bern" },
    { city: "Bern", days: 3 },
  ],
  ["zod with a transform", z.string().transform(Number).pipe(z.number()), "12", 12],
  [
    "zod with a transform inside",
    z.object({
      at: z
        .string()
        .transform((text) => text.length)
        .pipe(z.number()),
    }),
    { at: "noon" },
    { at: 4 },
  ],
];
describe("a structured answer", () => {
  for (const [what, output, written, given = written] of forms) {
    verifies("A3", `in JSON mode: ${what}`, async () => {
      const isWrapped = (request: { responseFormat?: unknown }) =>
        JSON.stringify(request.responseFormat).includes('"answer"');
      await using served = serve((request) => JSON.stringify(isWrapped(request) ? { answer: written } : written));
      const answer = await served.assistant.generate("Go.", { output });
      expect(await answer.json()).toEqual(given);
      expect(answer.meta).toMatchObject({ steps: 1, finishReason: "stop", usage: { inputTokens: 10 } });
    });

    verifies("A3", `written bare, as where no JSON mode holds a model to the form: ${what}`, async () => {
      await using served = serve([JSON.stringify(written)]);
      expect(await (await served.assistant.generate("Go.", { output })).json()).toEqual(given);
    });

    verifies("A3", `through submit_output: ${what}`, async () => {
      await using served = serve(
        ({ tools = [] }) => {
          const [form] = tools.flatMap((tool) =>
            tool.type === "function" && tool.name === "submit_output" ? [tool] : [],
          );
          const isWrapped = JSON.stringify(form?.inputSchema).includes('"answer"');
          return { toolCalls: [{ name: "submit_output", input: isWrapped ? { answer: written } : written }] };
        },
        [look],
      );
      const answer = await served.assistant.generate("Go.", { output, tools: ["look"] });
      expect(await answer.json()).toEqual(given);
      expect(answer.meta).toMatchObject({ steps: 1, finishReason: "control", toolCalls: [{ status: "ok" }] });
      expect(faultsOf(served.assistant.conversationOf(answer)?.messages ?? [])).toEqual([]);
    });
  }

  const output = {
    type: "object",
    properties: { n: { type: "integer" } },
    required: ["n"],
    additionalProperties: false,
  } as const;
  const texts: readonly (readonly [string, string, unknown])[] = [
    ["in a fence", '```json\n{"n":1}\n```', { n: 1 }],
    ["in a fence without a language", '```\n{"n":1}\n```', { n: 1 }],
    ["in a fence with words around", 'Here it is:\n```json\n{"n":1}\n```\nDone.', { n: 1 }],
    ["with blanks around", ' \n{"n":1}\n', { n: 1 }],
  ];
  for (const [what, text, value] of texts) {
    verifies("A3", `is read ${what}`, async () => {
      await using served = serve([text]);
      expect(await (await served.assistant.generate("Go.", { output })).json()).toEqual(value);
    });
  }

  verifies("A3", "with a fence within its JSON is read as it is", async () => {
    const code = JSON.stringify({ code: "```json\n{}\n```" }, null, 2);
    await using served = serve([code]);
    const answer = await served.assistant.generate("Go.", { output: { type: "object", required: ["code"] } });
    expect(await answer.json()).toEqual({ code: "```json\n{}\n```" });
  });

  verifies("A3", "that is written as text instead of the tool is taken where it fits", async () => {
    await using served = serve(['{"n":5}'], [look]);
    const answer = await served.assistant.generate("Go.", { output, tools: ["look"] });
    expect(await answer.json()).toEqual({ n: 5 });
  });

  const submit = (input: unknown): ScriptedStep => ({ toolCalls: [{ name: "submit_output", input }] });
  const repairs: readonly (readonly [string, readonly (ScriptedStep | string)[], readonly string[], RegExp])[] = [
    ["JSON that does not fit", ['{"n":"x"}', '{"n":2}'], [], /does not fit: .*n.*integer.*nothing but JSON/s],
    ["no JSON", ["sure!", '{"n":2}'], [], /is no JSON/],
    ["nothing", ["", '{"n":2}'], [], /is empty/],
    ["arguments that do not fit", [submit({ n: "x" }), submit({ n: 2 })], ["look"], /INVALID_INPUT.*\/n/],
    ["arguments that are no JSON", [submit("{"), submit({ n: 2 })], ["look"], /no JSON/],
    ["text instead of the tool", ["two", submit({ n: 2 })], ["look"], /calling submit_output/],
  ];
  for (const [what, script, tools, words] of repairs) {
    verifies("A3", `is asked for again with what is wrong: ${what}`, async () => {
      await using served = serve(script, [look]);
      const reasons: string[] = [];
      const answer = await served.assistant.generate("Go.", {
        output,
        tools,
        onEvent: (event) => {
          if (event.type === "repair") reasons.push(event.reason);
        },
      });
      expect(await answer.json()).toEqual({ n: 2 });
      expect(reasons).toHaveLength(1);
      const { prompt = [] } = served.model.requests[1] ?? {};
      expect(JSON.stringify(prompt.at(-1))).toMatch(words);
      expect(faultsOf(prompt)).toEqual([]);
    });

    verifies("A3", `is INVALID_OUTPUT after its repairs: ${what}`, async () => {
      const [wrong = ""] = script;
      await using served = serve(() => wrong, [look], { agent: { maxRepairs: 3 } });
      const error = await failure(served.assistant.generate("Go.", { output, tools }));
      expect(error).toMatchObject({ code: "INVALID_OUTPUT", details: { issues: [expect.anything()] } });
      expect(error.message).toMatch(/asked again 3 times/);
      expect(served.model.requests).toHaveLength(4);
    });
  }

  verifies(
    "A3",
    "is held to what only the schema's own validation knows, through the tool and in JSON mode",
    async () => {
      const even = z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") });
      for (const tools of [["look"], []]) {
        const answers = tools.length > 0 ? [submit({ n: 1 }), submit({ n: 2 })] : ['{"n":1}', '{"n":2}'];
        await using served = serve(answers, [look]);
        const answer = await served.assistant.generate("Go.", { output: even, tools });
        expect(await answer.json()).toEqual({ n: 2 });
        expect(JSON.stringify(served.model.requests[1]?.prompt.at(-1))).toMatch(/must be even/);
      }
    },
  );

  verifies(["A3", "T4"], "with other calls beside it is refused, and nothing runs", async () => {
    let ran = 0;
    const count = defineTool({ name: "count", run: () => ++ran });
    const both = { toolCalls: [{ name: "count" }, { name: "submit_output", input: { n: 1 } }] };
    await using served = serve([both, submit({ n: 1 })], [count]);
    await served.assistant.generate("Go.", { output, tools: ["count"] });
    expect(toldIn(served.model.requests[1])).toMatch(/submit_output takes control and must be called alone/);
    expect(ran).toBe(0);
  });

  verifies("A3", "that was cut at the most tokens is not asked for again", async () => {
    await using served = serve([{ text: '{"n":', finishReason: "length" }]);
    const error = await failure(served.assistant.generate("Go.", { output }));
    expect(error).toMatchObject({ code: "INVALID_OUTPUT" });
    expect(error.message).toMatch(/truncated at the token limit/);
  });

  verifies(["A3", "T5"], "is given whatever the policy says of other tools", async () => {
    for (const policy of [
      { allow: ["builtin.look"] },
      { block: ["*"] },
      { maxTotalToolCalls: 0 },
      { maxToolCallsPerTurn: 0 },
      { decide: () => false },
    ]) {
      await using served = serve([submit({ n: 1 })], [look], { agent: { policy } });
      const answer = await served.assistant.generate("Go.", { output, tools: ["look"] });
      expect(await answer.json()).toEqual({ n: 1 });
    }
  });

  verifies("A3", "of a prompt file keeps what the run was, and its conversation", async () => {
    const prompt = parsePrompt(`---
name: count
output: { type: object, properties: { n: { type: integer } }, required: [n] }
---
Count.`);
    await using served = serve(['{"n":1}', "one more"], [prompt]);
    const answer = await served.toolkit.call("count");
    const conversation = served.assistant.conversationOf(answer);
    expect(conversation?.messages).toHaveLength(2);
    await served.assistant.generate("And?", { conversation });
    expect(served.model.requests[1]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  verifies(["A3", "A5"], "that zod makes another value of keeps its meta and its conversation", async () => {
    await using served = serve(['{"n":"4"}']);
    const output = z.object({ n: z.string().transform(Number).pipe(z.number()) });
    const answer = await served.assistant.generate("Go.", { output });
    expect(answer.meta).toMatchObject({ model: "scripted/model", steps: 1 });
    expect(served.assistant.conversationOf(answer)?.messages).toHaveLength(2);
  });
});

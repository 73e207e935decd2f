import fc from "fast-check";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { defineTool } from "../../src/index.ts";
import type { ScriptedStep } from "../../src/testing/index.ts";
import { verifies } from "../support/verifies.ts";
import { faultsOf, serve } from "./support.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeEach(() => process.on("unhandledRejection", note));
afterEach(() => process.off("unhandledRejection", note));

const items = [
  defineTool<{ n: number }>({
    name: "double",
    input: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    run: ({ n }) => ({ doubled: 2 * n }),
  }),
  defineTool({ name: "big", run: () => "漢👍".repeat(200) }),
  defineTool({ name: "take", options: { takesControl: true }, run: () => "taken" }),
  defineTool({
    name: "breaks",
    run: () => {
      throw new Error("broken");
    },
  }),
  defineTool({ name: "guarded", options: { needsApproval: true }, run: () => "guarded" }),
];
const names = ["double", "big", "take", "breaks", "guarded", "result_read", "submit_output", "nosuch", ""];
const call = fc.record(
  {
    name: fc.constantFrom(...names),
    input: fc.oneof(
      fc.jsonValue(),
      fc.string(),
      fc.record({ n: fc.oneof(fc.integer(), fc.string(), fc.constant(null)) }),
      fc.record({ uri: fc.string(), offset: fc.integer() }),
    ),
    id: fc.constantFrom("a", "b", ""),
  },
  { requiredKeys: ["name"] },
);
const step: fc.Arbitrary<ScriptedStep> = fc.record(
  {
    text: fc.oneof(fc.string(), fc.constant('{"n":1}'), fc.constant('```json\n{"n":1}\n```')),
    reasoning: fc.string(),
    toolCalls: fc.array(call, { maxLength: 4 }),
    finishReason: fc.constantFrom("stop", "length", "tool-calls", "other", "content-filter", "error"),
    error: fc.constantFrom(new Error("model broken"), { status: 400 }),
    isCut: fc.boolean(),
  },
  { requiredKeys: [] },
);
const output = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;

describe("whatever a model says", () => {
  verifies(
    ["A2", "A3", "A4"],
    "the run ends with an answer or an error of its own, and every call has one result",
    async () => {
      const runs = fc.record({
        steps: fc.array(fc.oneof({ weight: 3, arbitrary: step }, { weight: 1, arbitrary: fc.string() }), {
          maxLength: 8,
        }),
        isStreamed: fc.boolean(),
        isStructured: fc.boolean(),
        hasTools: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(runs, async ({ steps, isStreamed, isStructured, hasTools }) => {
          {
            await using served = serve((_request, index) => steps[index] ?? "the end", items, {
              agent: { maxSteps: 6, maxResultBytes: 100, modelAttempts: 1 },
            });
            const { assistant, model, toolkit } = served;
            const options = {
              toolbox: toolkit,
              tools: hasTools ? ["*"] : [],
              ...(isStructured && { output }),
              ...(isStreamed && { onEvent: () => undefined }),
            };
            const end = await assistant.generate("Go.", options).catch((error: unknown) => error);
            if (end instanceof Error) expect(ToolkitError.is(end)).toBe(true);
            for (const { prompt } of model.requests) expect(faultsOf(prompt)).toEqual([]);
            const conversation = end instanceof Error ? undefined : assistant.conversationOf(end as never);
            expect(faultsOf(conversation?.messages ?? [])).toEqual([]);
            expect(JSON.parse(JSON.stringify(conversation ?? null))).toEqual(conversation ?? null);
          }
          // An unhandled rejection is reported after all that was under way, closing included, and a turn of the event loop.
          await new Promise((resolve) => setImmediate(resolve));
          expect(unhandled.splice(0)).toEqual([]);
        }),
        { numRuns: 150 },
      );
    },
  );
});

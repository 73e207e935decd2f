import { afterEach, beforeEach, describe, expect } from "vitest";
import { toOpenAI } from "../../src/adapters/openai.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { adapterToolkit, png } from "./toolkit.ts";

describe("OpenAI", () => {
  let toolkit: Toolkit;
  beforeEach(() => {
    toolkit = adapterToolkit();
  });
  afterEach(() => toolkit.close());

  const call = (id: string, name: string, given: unknown) => ({
    id,
    type: "function",
    function: { name, arguments: typeof given === "string" ? given : JSON.stringify(given) },
  });

  verifies("T6", "Chat Completions: tools in strict mode where they can be, and why others are not", async () => {
    const toolset = await toolkit.toolset({ include: ["forecast", "search"], forced: ["forecast"] });
    const openai = toOpenAI(toolset, { api: "chat" });
    expect(openai.tools?.[0]).toEqual({
      type: "function",
      function: {
        name: "forecast",
        description: "Says the weather.",
        strict: true,
        parameters: {
          type: "object",
          properties: { city: { type: "string" }, days: { type: ["integer", "null"], minimum: 1 } },
          required: ["city", "days"],
          additionalProperties: false,
        },
      },
    });
    expect(openai.tools?.[1]?.function).toMatchObject({ name: "search", strict: false });
    expect(openai.tools?.[1]?.function.parameters.anyOf).toBeUndefined();
    expect(openai.lost[0]).toEqual({
      tool: "search",
      pointer: "/properties/query",
      what: "keeps the tool out of strict mode: it takes anything",
    });
    expect(openai.toolChoice).toEqual({ type: "function", function: { name: "forecast" } });
    expect(openai.tools?.[0]).toBe(toOpenAI(toolset, { api: "chat" }).tools?.[0]);
    expect(toOpenAI(toolset, { api: "chat", strict: false }).tools?.[0]?.function.strict).toBe(false);
  });

  verifies("T6", "Chat Completions: a turn there and back", async () => {
    const toolset = await toolkit.toolset();
    const run = toolset.begin({ coerce: false });
    const openai = toOpenAI(toolset, { api: "chat", run });
    const message = {
      role: "assistant",
      content: null,
      tool_calls: [
        call("1", "forecast", { city: "Bern", days: null }),
        call("2", "fail", ""),
        call("3", "forecast", "{no json"),
        call("4", "picture", {}),
        call("5", "nothing", {}),
        { id: "6", type: "custom", custom: { name: "x", input: "y" } },
      ],
    };
    const calls = openai.calls(message);
    expect(calls.map(({ input }) => input)).toEqual([{ city: "Bern" }, {}, "{no json", {}, {}]);
    const results = await openai.results(await run.execute(calls));
    expect(results.map(({ role, tool_call_id }) => [role, tool_call_id])).toEqual(
      ["1", "2", "3", "4", "5"].map((id) => ["tool", id]),
    );
    expect(results.map(({ content }) => content)).toEqual([
      '{"asked":{"city":"Bern"},"sun":true}',
      expect.stringMatching(/^Failed \(TOOL_FAILED\): .*out of ink/),
      expect.stringContaining("Failed (INVALID_INPUT)"),
      expect.stringMatching(/^A dot:\n\n\[dot: image\/png, \d+ bytes, cannot be shown here\]/),
      "Done. It has no result.",
    ]);
  });

  verifies("T6", "Responses: a turn there and back, images included", async () => {
    const toolset = await toolkit.toolset({ policy: { block: ["builtin.fail"] } });
    const run = toolset.begin();
    const openai = toOpenAI(toolset, { api: "responses", run });
    expect(openai.tools?.find(({ name }) => name === "forecast")).toMatchObject({ type: "function", strict: true });
    expect(openai.toolChoice).toBe("auto");
    const output = [
      { type: "reasoning", id: "r" },
      { type: "function_call", id: "fc", call_id: "1", name: "picture", arguments: "{}" },
      { type: "function_call", id: "fc", call_id: "2", name: "forecast", arguments: '{"city":"Bern","days":2}' },
      { type: "function_call", id: "fc", call_id: "3", name: "fail", arguments: "{}" },
    ];
    const calls = openai.calls({ output });
    expect(openai.calls(output)).toEqual(calls);
    expect(await openai.results(await run.execute(calls))).toEqual([
      {
        type: "function_call_output",
        call_id: "1",
        output: [
          { type: "input_text", text: "A dot:" },
          { type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "auto" },
          { type: "input_text", text: "[sound: application/x-sound, 3 bytes, cannot be shown here]" },
        ],
      },
      { type: "function_call_output", call_id: "2", output: '{"asked":{"city":"Bern","days":2},"sun":true}' },
      {
        type: "function_call_output",
        call_id: "3",
        output: expect.stringMatching(/^Not done, because it is not allowed/),
      },
    ]);
    const forced = await toolkit.toolset({ forced: ["nothing"] });
    expect(toOpenAI(forced, { api: "responses" }).toolChoice).toEqual({ type: "function", name: "nothing" });
  });

  verifies("T6", "where there are no tools there is no list of none, and no choice", async () => {
    const openai = toOpenAI(await toolkit.toolset({ include: [] }), { api: "chat" });
    expect([openai.tools, openai.toolChoice, openai.lost]).toEqual([undefined, undefined, []]);
    expect(openai.calls({ role: "assistant", content: "Hello." })).toEqual([]);
    expect(openai.calls(undefined)).toEqual([]);
  });

  verifies(["T6", "T2"], "it follows the turns of its run", async () => {
    const toolset = await toolkit.toolset({ forced: ["forecast", "nothing"] });
    const run = toolset.begin();
    const openai = toOpenAI(toolset, { api: "chat", run });
    expect([openai.tools?.length, openai.toolChoice]).toEqual([2, "required"]);
    await run.execute(openai.calls({ tool_calls: [call("1", "nothing", {})] }));
    expect([openai.tools?.length, openai.toolChoice]).toEqual([5, "auto"]);
  });
});

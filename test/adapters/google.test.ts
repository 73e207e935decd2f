import { afterEach, beforeEach, describe, expect } from "vitest";
import { toGoogle } from "../../src/adapters/google.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { adapterToolkit, png } from "./toolkit.ts";

describe("Gemini", () => {
  let toolkit: Toolkit;
  beforeEach(() => {
    toolkit = adapterToolkit();
  });
  afterEach(() => toolkit.close());

  verifies(
    "T6",
    "functions in its own form of a schema, none where there are no members, and every tool choice",
    async () => {
      const google = toGoogle(await toolkit.toolset({ include: ["forecast", "nothing"] }));
      expect(google.tools).toEqual([
        {
          functionDeclarations: [
            {
              name: "forecast",
              description: "Says the weather.",
              parameters: {
                type: "OBJECT",
                properties: { city: { type: "STRING" }, days: { type: "INTEGER", minimum: 1 } },
                required: ["city"],
              },
            },
            { name: "nothing" },
          ],
        },
      ]);
      const config = async (options: object) => toGoogle(await toolkit.toolset(options)).toolConfig;
      const calling = (functionCallingConfig: object) => ({ functionCallingConfig });
      expect(await config({})).toEqual(calling({ mode: "AUTO" }));
      expect(await config({ policy: { toolChoice: "none" } })).toBeUndefined();
      expect(toGoogle(await toolkit.toolset({ policy: { toolChoice: "none" } })).tools).toBeUndefined();
      expect(await config({ policy: { toolChoice: "required" } })).toEqual(calling({ mode: "ANY" }));
      expect(await config({ forced: ["fail"] })).toEqual(calling({ mode: "ANY", allowedFunctionNames: ["fail"] }));
      expect(toGoogle(await toolkit.toolset({ include: [] })).tools).toBeUndefined();
    },
  );

  verifies("T6", "a turn there and back, from a response, a content or its parts, with and without ids", async () => {
    const toolset = await toolkit.toolset();
    const run = toolset.begin();
    const google = toGoogle(toolset, { run });
    const parts = [
      { text: "Let me see." },
      { functionCall: { name: "forecast", args: { city: "Bern" } } },
      { functionCall: { id: "abc", name: "fail", args: {} } },
      { functionCall: { name: "picture" } },
    ];
    const calls = google.calls({ candidates: [{ content: { role: "model", parts } }] });
    expect(google.calls({ role: "model", parts })).toEqual(calls);
    expect(google.calls(parts)).toEqual(calls);
    expect(calls.map(({ name, input }) => [name, input])).toEqual([
      ["forecast", { city: "Bern" }],
      ["fail", {}],
      ["picture", {}],
    ]);
    const { role, parts: results } = await google.results(await run.execute(calls));
    expect(role).toBe("user");
    expect(results).toEqual([
      { functionResponse: { name: "forecast", response: { output: { asked: { city: "Bern" }, sun: true } } } },
      { functionResponse: { id: "abc", name: "fail", response: { error: expect.stringContaining("out of ink") } } },
      {
        functionResponse: {
          name: "picture",
          response: { output: expect.stringMatching(/^A dot:\n\n\[sound: /) },
        },
      },
      { inlineData: { mimeType: "image/png", data: png } },
    ]);
  });
});

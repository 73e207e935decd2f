import { afterEach, beforeEach, describe, expect } from "vitest";
import { toAnthropic } from "../../src/adapters/anthropic.ts";
import { ToolkitError } from "../../src/core/error.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { adapterToolkit, png } from "./toolkit.ts";

describe("Anthropic", () => {
  let toolkit: Toolkit;
  beforeEach(() => {
    toolkit = adapterToolkit();
  });
  afterEach(() => toolkit.close());

  verifies("T6", "tools with an object at the top and names it takes, and every tool choice", async () => {
    const toolset = await toolkit.toolset({ include: ["search"] });
    const anthropic = toAnthropic(toolset);
    const [tool] = anthropic.tools ?? [];
    expect(tool).toEqual({
      name: "search",
      input_schema: {
        type: "object",
        description: "Give one of these: filter[id]; query.",
        properties: { [expectedName(tool)]: { type: "string", format: "uri" }, query: {} },
      },
    });
    expect(anthropic.lost.map(({ tool: name, pointer }) => [name, pointer])).toEqual([
      ["search", "/anyOf"],
      ["search", "/properties/filter[id]"],
    ]);
    const choice = async (options: object) => toAnthropic(await toolkit.toolset(options)).toolChoice;
    expect(await choice({})).toEqual({ type: "auto" });
    expect(await choice({ policy: { toolChoice: "none" } })).toBeUndefined();
    expect(toAnthropic(await toolkit.toolset({ policy: { toolChoice: "none" } })).tools).toBeUndefined();
    expect(await choice({ policy: { toolChoice: "required" } })).toEqual({ type: "any" });
    expect(await choice({ forced: ["fail"] })).toEqual({ type: "tool", name: "fail" });
    expect(await choice({ include: [] })).toBeUndefined();
  });

  verifies("T6", "a turn there and back: one message with all results, errors as such", async () => {
    const toolset = await toolkit.toolset();
    const run = toolset.begin();
    const anthropic = toAnthropic(toolset, { run });
    const renamed = expectedName(anthropic.tools?.find(({ name }) => name === "search"));
    const content = [
      { type: "text", text: "Let me see." },
      { type: "tool_use", id: "1", name: "search", input: { [renamed]: "a:b" } },
      { type: "tool_use", id: "2", name: "fail", input: {} },
      { type: "tool_use", id: "3", name: "picture", input: {} },
      { type: "tool_use", id: "4", name: "nothing" },
    ];
    const calls = anthropic.calls({ role: "assistant", content });
    expect(calls[0]).toEqual({ id: "1", name: "search", input: { "filter[id]": "a:b" } });
    expect(await anthropic.results(await run.execute(calls))).toEqual({
      role: "user",
      content: [
        result("1", false, { type: "text", text: '{"filter[id]":"a:b"}' }),
        result("2", true, { type: "text", text: expect.stringContaining("out of ink") }),
        result(
          "3",
          false,
          { type: "text", text: "A dot:" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
          { type: "text", text: "[sound: application/x-sound, 3 bytes, cannot be shown here]" },
        ),
        result("4", false, { type: "text", text: "Done. It has no result." }),
      ],
    });
  });

  verifies("T6", "what waits is told to a model as what waits", async () => {
    const anthropic = toAnthropic(await toolkit.toolset());
    const waiting = { id: "7", reason: "approval", message: "Ada must agree.", tool: "builtin.fail", arguments: {} };
    const error = new ToolkitError("PENDING", "Ada must agree.", { ...waiting, expiresAt: 0 });
    const debug = { forced: false, exclusive: false, cached: false, attempts: 0 };
    const answer = { id: "1", name: "fail", status: "pending", error, references: [], durationMs: 0, debug } as const;
    const { content } = await anthropic.results([answer]);
    expect(content[0]).toMatchObject({
      is_error: true,
      content: [{ text: expect.stringMatching(/^Not done yet: Ada must agree\. .*Do not call it again/) }],
    });
  });
});

function expectedName(tool: { readonly input_schema: { readonly [key: string]: unknown } } | undefined): string {
  const name = Object.keys((tool?.input_schema.properties ?? {}) as object).find((key) => key.startsWith("filter"));
  expect(name).toMatch(/^filter_id__[A-Za-z0-9]{6}$/);
  return name ?? "";
}

function result(tool_use_id: string, is_error: boolean, ...content: unknown[]) {
  return { type: "tool_result", tool_use_id, is_error, content };
}

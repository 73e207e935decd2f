import { DynamicStructuredTool, type StructuredToolInterface } from "@langchain/core/tools";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { describe, expect } from "vitest";
import { toLangChain } from "../../src/adapters/index.ts";
import { defineTool } from "../../src/index.ts";
import { rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { adapterToolkit } from "./toolkit.ts";

const toolCall = (id: string, name: string, args: Record<string, unknown>) => ({
  type: "tool_call" as const,
  ...{ id, name, args },
});

describe("LangChain", () => {
  verifies("T6", "its tools are those of the toolset, with the schema that models get", async () => {
    await using toolkit = adapterToolkit();
    const tools: StructuredToolInterface[] = toLangChain(await toolkit.toolset(), DynamicStructuredTool);
    expect(tools.map(({ name }) => name)).toEqual(["fail", "forecast", "nothing", "picture", "search"]);
    const forecast = tools.find(({ name }) => name === "forecast");
    expect(forecast && convertToOpenAITool(forecast)).toMatchObject({
      function: { name: "forecast", description: "Says the weather.", parameters: { required: ["city"] } },
    });
  });

  verifies("T6", "a call of a model is answered by a ToolMessage, with common mistakes repaired", async () => {
    await using toolkit = adapterToolkit();
    const toolset = await toolkit.toolset({ policy: { block: ["builtin.search"] } });
    const tools = new Map(toLangChain(toolset, DynamicStructuredTool).map((tool) => [tool.name, tool]));
    const message = await tools.get("forecast")?.invoke(toolCall("1", "forecast", { city: "Bern", days: "2" }));
    expect(message).toMatchObject({ tool_call_id: "1", name: "forecast", artifact: { status: "ok" } });
    expect(JSON.parse(String(message?.content))).toEqual({ asked: { city: "Bern", days: 2 }, sun: true });
    const picture = await tools.get("picture")?.invoke(toolCall("2", "picture", {}));
    expect(picture?.content).toMatchObject([
      { type: "text" },
      { type: "image", mimeType: "image/png" },
      { type: "file" },
    ]);
    expect(
      String(await rejection(tools.get("fail")?.invoke(toolCall("3", "fail", {})) ?? Promise.resolve())),
    ).toContain("out of ink");
    const denied = await tools.get("search")?.invoke(toolCall("4", "search", { query: "x" }));
    expect(denied?.content).toContain("not allowed");
    expect(await tools.get("nothing")?.invoke({})).toContain("no result");
  });

  verifies(["T6", "T3"], "calls that are made at once are one turn", async () => {
    await using toolkit = adapterToolkit();
    let ran = 0;
    toolkit.add(defineTool({ name: "count", run: () => String(++ran) }));
    const toolset = await toolkit.toolset();
    const run = toolset.begin();
    const count = toLangChain(toolset, DynamicStructuredTool, run).find(({ name }) => name === "count");
    const calls = ["1", "2"].map((id) => count?.invoke(toolCall(id, "count", {})));
    expect((await Promise.all(calls)).map((message) => message?.tool_call_id)).toEqual(["1", "2"]);
    expect(ran).toBe(1);
    expect(run.history).toHaveLength(1);
  });
});

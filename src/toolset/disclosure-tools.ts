import type { ToolDefinitionForModel } from "./toolset-types.ts";

/** Finds tools that are not told. */
export const searchTool: ToolDefinitionForModel = Object.freeze({
  name: "search_tools",
  description:
    "Finds tools by words of their names and descriptions. There are more tools than you see: search before you say that something cannot be done.",
  inputSchema: Object.freeze({
    type: "object",
    properties: {
      query: { type: "string", description: "What the tool is to do, in a few words." },
      limit: { type: "integer", minimum: 1, maximum: 50, description: "How many to show. Default 10." },
    },
    required: ["query"],
    additionalProperties: false,
  }),
});

/** Tells of one tool, which is there from then on. */
export const describeTool: ToolDefinitionForModel = Object.freeze({
  name: "describe_tool",
  description:
    "Tells what a tool that was found does and takes. From then on it is among your tools: call it by its name.",
  inputSchema: Object.freeze({
    type: "object",
    properties: { name: { type: "string", description: "The name, as it was found." } },
    required: ["name"],
    additionalProperties: false,
  }),
});

/** The names that no tool gets in a toolset with a budget. */
export const reservedAliases: ReadonlySet<string> = new Set([searchTool.name, describeTool.name]);

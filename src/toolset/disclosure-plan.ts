import { ToolkitError } from "../core/error.ts";
import { invalidOption, shown } from "../core/options.ts";
import { shortened } from "./model-definition.ts";
import { sumTokens, type TokenReport } from "./tokens.ts";
import type { ToolDefinitionForModel } from "./toolset-types.ts";

/** The tool by which a model finds tools that are disclosed on demand. */
export const searchTool: ToolDefinitionForModel = Object.freeze({
  name: "search_tools",
  description:
    "Finds tools by words of their names, descriptions and parameters. There are more tools than you see: search before you say that something cannot be done.",
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

/** The tool that gives the definition of another one, which is offered from then on. */
export const describeTool: ToolDefinitionForModel = Object.freeze({
  name: "describe_tool",
  description:
    "Gives the full definition of a tool that was found. From then on it is among your tools: call it by its name.",
  inputSchema: Object.freeze({
    type: "object",
    properties: { name: { type: "string", description: "The name, as it was found." } },
    required: ["name"],
    additionalProperties: false,
  }),
});

/** The aliases that no other tool gets in a toolset with a budget. */
export const reservedAliases: ReadonlySet<string> = new Set([searchTool.name, describeTool.name]);

/** The definitions that a toolset gives to a model, within its budget. */
export interface DisclosurePlan {
  readonly disclosure: TokenReport["disclosure"];
  /** Every tool, in the form in which it is disclosed. */
  readonly all: readonly ToolDefinitionForModel[];
  /** Disclosed from the first turn on. */
  readonly first: readonly ToolDefinitionForModel[];
  /** Disclosed on demand, by name. */
  readonly hidden: ReadonlyMap<string, ToolDefinitionForModel>;
  readonly maxTokens: number;
}

/** A budget for definitions. */
export interface BudgetOptions {
  /** Default: no limit. */
  readonly maxTokens: number | undefined;
  /** True for the alias of a tool that is disclosed in any case. */
  readonly isKept: (alias: string) => boolean;
}

const none: DisclosurePlan["hidden"] = new Map();

/**
 * Fits definitions into a budget: in full, else shortened. Where neither fits, only those that are kept are disclosed, shortened, beside
 * two tools by which a model finds the rest; these cost what they cost. Where that saves nothing, all are disclosed shortened.
 */
export function planDisclosure(
  full: readonly ToolDefinitionForModel[],
  { maxTokens = Number.POSITIVE_INFINITY, isKept }: BudgetOptions,
): DisclosurePlan {
  if (maxTokens === Number.POSITIVE_INFINITY || sumTokens(full) <= maxTokens)
    return { disclosure: "full", all: full, first: full, hidden: none, maxTokens };
  const short = Object.freeze(full.map(shortened));
  const first = [describeTool, searchTool, ...short.filter(({ name }) => isKept(name))];
  const cost = sumTokens(short);
  if (cost <= maxTokens || cost <= sumTokens(first))
    return { disclosure: "shortened", all: short, first: short, hidden: none, maxTokens };
  const shown = new Set(first.map(({ name }) => name));
  return {
    disclosure: "search",
    all: Object.freeze([describeTool, searchTool, ...full]),
    first: Object.freeze(first),
    hidden: new Map(full.filter(({ name }) => !shown.has(name)).map((each) => [each.name, each])),
    maxTokens,
  };
}

/** @throws ToolkitError `INVALID_INPUT` for a budget that is no whole number from 1, `INVALID_CONFIG` for an `embed` that is no function */
export function assertBudget({ maxTokens, embed }: { readonly maxTokens: unknown; readonly embed: unknown }): void {
  if (embed !== undefined && typeof embed !== "function")
    throw invalidOption("embed", "a function", embed, "of a toolset");
  if (maxTokens === undefined || (Number.isInteger(maxTokens) && Number(maxTokens) > 0)) return;
  const message = "must be a whole number from 1";
  throw new ToolkitError("INVALID_INPUT", `maxTokens ${message}, and is ${shown(maxTokens)}.`, {
    issues: [{ pointer: "/maxTokens", message }],
  });
}

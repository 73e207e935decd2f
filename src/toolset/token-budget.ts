import { ToolkitError } from "../core/error.ts";
import { shown } from "../core/options.ts";
import { describeTool, searchTool } from "./disclosure-tools.ts";
import { shortened } from "./shorten.ts";
import { sumTokens, type TokenReport } from "./tokens.ts";
import type { ToolDefinitionForModel } from "./toolset-types.ts";

/** How the definitions of a toolset are told. */
export interface DisclosurePlan {
  readonly disclosure: TokenReport["disclosure"];
  /** Every tool there is, as it is told when it is. */
  readonly all: readonly ToolDefinitionForModel[];
  /** What is told from the first turn on. */
  readonly first: readonly ToolDefinitionForModel[];
  readonly maxTokens: number;
}

/** How a budget is kept. */
export interface BudgetOptions {
  /** Default: no limit. */
  readonly maxTokens?: number | undefined;
  /** True for a tool that is told in any case. */
  readonly isKept: (alias: string) => boolean;
}

/**
 * Tells definitions within a budget: in full where they fit, else shortened where they fit then. Else only what is kept is told,
 * shortened, and two tools by which a model finds and learns of the rest; these are told whatever the budget. Where that costs no less,
 * all are told shortened.
 */
export function planDisclosure(
  full: readonly ToolDefinitionForModel[],
  { maxTokens, isKept }: BudgetOptions,
): DisclosurePlan {
  if (maxTokens === undefined || sumTokens(full) <= maxTokens) {
    return { disclosure: "full", all: full, first: full, maxTokens: maxTokens ?? Number.POSITIVE_INFINITY };
  }
  const short = Object.freeze(full.map(shortened));
  const first = [describeTool, searchTool, ...short.filter(({ name }) => isKept(name))];
  const cost = sumTokens(short);
  if (cost <= maxTokens || cost <= sumTokens(first))
    return { disclosure: "shortened", all: short, first: short, maxTokens };
  return {
    disclosure: "search",
    all: Object.freeze([describeTool, searchTool, ...full]),
    first: Object.freeze(first),
    maxTokens,
  };
}

/** @throws ToolkitError `INVALID_INPUT` for a budget that is no whole number from 1 */
export function assertBudget(maxTokens: unknown): void {
  if (maxTokens === undefined || (Number.isInteger(maxTokens) && Number(maxTokens) > 0)) return;
  const message = "must be a whole number from 1";
  throw new ToolkitError("INVALID_INPUT", `maxTokens ${message}, and is ${shown(maxTokens)}.`, {
    issues: [{ pointer: "/maxTokens", message }],
  });
}

import { definitionFor } from "./model-definition.ts";
import type { ToolDefinitionForModel, ToolEntry } from "./toolset-types.ts";

/** What the definitions of a toolset cost a model, in tokens. See `estimateTokens` for how good the numbers are. */
export interface TokenReport {
  /** What is told in the first turn. */
  readonly total: number;
  /** All tools, told in full. */
  readonly full: number;
  /**
   * How the tools are told: in `full`; `shortened`, with the first sentence of each description; or by `search`, where most are told
   * when the model asks for them.
   */
  readonly disclosure: "full" | "shortened" | "search";
  /** Each tool told in full, in the order of the toolset. */
  readonly tools: readonly { readonly alias: string; readonly ref: string; readonly tokens: number }[];
  /** Each namespace: the sum of its tools, told in full. */
  readonly namespaces: Readonly<Record<string, number>>;
}

const bytesPerToken = 4;
const counted = new WeakMap<ToolDefinitionForModel, number>();

/**
 * Estimates what a definition costs a model: one token for each four bytes of its name, description and schema as JSON in UTF-8. Each
 * provider counts otherwise, and writes definitions otherwise: take it as a measure to compare by, not as a bill.
 * The same definition always gives the same number.
 */
export function estimateTokens(definition: ToolDefinitionForModel): number {
  let tokens = counted.get(definition);
  if (tokens === undefined) {
    const { name, description, inputSchema } = definition;
    tokens = Math.ceil(
      Buffer.byteLength(JSON.stringify({ name, description, parameters: inputSchema })) / bytesPerToken,
    );
    counted.set(definition, tokens);
  }
  return tokens;
}

/** What several definitions cost. */
export function sumTokens(definitions: readonly ToolDefinitionForModel[]): number {
  return definitions.reduce((sum, definition) => sum + estimateTokens(definition), 0);
}

/** What a toolset costs. */
export function tokenReport(
  tools: readonly { readonly alias: string; readonly entry: ToolEntry }[],
  {
    disclosure,
    first,
  }: { readonly disclosure: TokenReport["disclosure"]; readonly first: readonly ToolDefinitionForModel[] },
): TokenReport {
  const namespaces: Record<string, number> = {};
  let full = 0;
  const each = tools.map(({ alias, entry }) => {
    const tokens = estimateTokens(definitionFor(alias, entry));
    full += tokens;
    namespaces[entry.namespace] = (namespaces[entry.namespace] ?? 0) + tokens;
    return Object.freeze({ alias, ref: entry.ref, tokens });
  });
  return Object.freeze({
    total: sumTokens(first),
    full,
    disclosure,
    tools: Object.freeze(each),
    namespaces: Object.freeze(namespaces),
  });
}

import { definitionFor } from "./model-definition.ts";
import type { ToolDefinitionForModel, ToolEntry } from "./toolset-types.ts";

/** The cost of the definitions of a toolset, in estimated tokens: see `estimateTokens`. */
export interface TokenReport {
  /** The definitions of the first turn. */
  readonly total: number;
  /** All tools, in full. */
  readonly full: number;
  /**
   * The form of disclosure: in `full`; `shortened` to the first sentence of each description; or by `search`, where most tools are
   * disclosed when the model asks for them.
   */
  readonly disclosure: "full" | "shortened" | "search";
  /** Each tool in full, in the order of the toolset. */
  readonly tools: readonly { readonly alias: string; readonly ref: string; readonly tokens: number }[];
  /** Each namespace: the sum of its tools, in full. */
  readonly namespaces: Readonly<Record<string, number>>;
}

/** For estimates. */
export const bytesPerToken = 4;
const counted = new WeakMap<ToolDefinitionForModel, number>();

/**
 * Estimates the tokens of a definition: one for each four bytes of its name, description and schema as JSON in UTF-8. Providers count and
 * write definitions differently, so it is a measure to compare by, not a bill. The same definition always gives the same number.
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

/** The cost of several definitions. */
export function sumTokens(definitions: readonly ToolDefinitionForModel[]): number {
  return definitions.reduce((sum, definition) => sum + estimateTokens(definition), 0);
}

/** The cost of a toolset. */
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

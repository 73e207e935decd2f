import { ToolkitError } from "../core/error.ts";
import type { CallOptions } from "../core/session.ts";
import { didYouMean, nearest } from "../lib/similar.ts";
import { isRecord } from "../lib/value.ts";
import { resource } from "../resource/resource-factory.ts";
import { type DisclosurePlan, describeTool, searchTool } from "./disclosure-plan.ts";
import { firstSentence } from "./model-definition.ts";
import { type RunTool, runTool } from "./run-tool.ts";
import { estimateTokens, sumTokens } from "./tokens.ts";
import { searchTools } from "./tool-search.ts";
import type { Callee, OfferedTools, ToolDefinitionForModel } from "./toolset-types.ts";

const defaultLimit = 10;
const maxLimit = 50;
/** The description of a tool that was found, in characters. */
const maxFoundCharacters = 120;

/** The disclosed tools of one run whose toolset does not fit its budget: those of the first turn, and those that the model asked for. */
export class Disclosure {
  /** The tools by which the model finds the others. */
  readonly tools: readonly RunTool[];
  readonly #offered: OfferedTools;
  readonly #plan: DisclosurePlan;
  /** In the order in which they were asked for. */
  readonly #revealed = new Set<string>();

  constructor(offered: OfferedTools, plan: DisclosurePlan) {
    this.#offered = offered;
    this.#plan = plan;
    this.tools = [
      disclosureTool(searchTool, (input, { signal }) => this.#search(input, signal)),
      disclosureTool(describeTool, (input) => this.#describe(input)),
    ];
  }

  /** The definitions of a turn. Of those asked for, the latest stay as far as the budget goes, and the very latest in any case. */
  definitionsOf(turn: number): readonly ToolDefinitionForModel[] {
    const first = this.#offered.definitionsOf(turn);
    let left = this.#plan.maxTokens - sumTokens(first);
    const shown = new Set<ToolDefinitionForModel>();
    for (const alias of [...this.#revealed].reverse()) {
      const definition = this.#plan.hidden.get(alias);
      if (definition === undefined) continue;
      left -= estimateTokens(definition);
      if (left < 0 && shown.size > 0) break;
      shown.add(definition);
    }
    return [...first, ...[...shown].reverse()];
  }

  /** A tool was called, or asked for: it is offered in full from the next turn on. */
  reveal(alias: string): void {
    if (!this.#plan.hidden.has(alias)) return;
    this.#revealed.delete(alias);
    this.#revealed.add(alias);
  }

  #search(input: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    return foundTools(this.#offered, input, { hidden: this.#plan.hidden, signal });
  }

  #describe(input: unknown): ToolDefinitionForModel {
    const name = textIn(input, "name");
    const definition = this.#plan.all.find((each) => each.name === name);
    if (definition === undefined) throw noSuchTool(name, this.#plan.hidden.keys());
    this.reveal(name);
    return definition;
  }
}

/**
 * The answer of `search_tools`.
 *
 * @param hidden - by alias: only these are found. Always the same for a list of tools
 * @throws ToolkitError `INVALID_INPUT` for an input without a query; the reason of an abort
 */
export async function foundTools(
  offered: OfferedTools,
  input: unknown,
  { hidden, signal }: { readonly hidden: DisclosurePlan["hidden"]; readonly signal: AbortSignal | undefined },
): Promise<Readonly<Record<string, unknown>>> {
  const { limit } = isRecord(input) ? input : {};
  const most = Number.isInteger(limit) ? Math.min(Math.max(Number(limit), 1), maxLimit) : defaultLimit;
  const query = textIn(input, "query");
  const { aliases, count } = await searchTools(offered, { query, limit: most, hidden, signal });
  const tools = aliases.map((name) => ({ name, description: foundText(hidden.get(name)) }));
  const found = { tools, more: count - tools.length };
  if (tools.length > 0) return found;
  const namespaces = [...new Set(offered.tools.map(({ entry }) => entry.namespace))];
  return { ...found, hint: "Nothing was found. Try other words, or the name of a namespace.", namespaces };
}

/** The error for a name that no tool has, with the names that are like it. It is for the model that gave the name. */
export function noSuchTool(name: string, names: Iterable<string>): ToolkitError<"NOT_FOUND"> {
  const suggestions = nearest(name, names);
  const hint = didYouMean(suggestions, "Search for it.");
  return new ToolkitError("NOT_FOUND", `There is no tool "${name}". ${hint}`, { key: name, suggestions });
}

const foundTexts = new WeakMap<ToolDefinitionForModel, string>();

/** The description of a tool that was found, shortened once. */
function foundText(definition: ToolDefinitionForModel | undefined): string {
  if (definition === undefined) return "";
  let text = foundTexts.get(definition);
  if (text === undefined) {
    text = firstSentence(definition.description ?? "", maxFoundCharacters);
    foundTexts.set(definition, text);
  }
  return text;
}

/** It counts as a call, so that a model cannot search for ever. Its input is not validated: the model may give the text bare. */
function disclosureTool(
  definition: ToolDefinitionForModel,
  answer: (input: unknown, options: CallOptions) => unknown,
): RunTool {
  const execute: Callee["execute"] = async (input, options) =>
    resource.json(definition.name, await answer(input, options));
  return { ...runTool(definition, () => undefined), isCounted: true, execute };
}

/** A text of an input, which a model may also give bare. @throws ToolkitError `INVALID_INPUT` */
export function textIn(input: unknown, key: string): string {
  const text = isRecord(input) ? input[key] : input;
  if (typeof text === "string" && text.trim() !== "") return text.trim();
  const message = "must be a text that is not blank";
  throw new ToolkitError("INVALID_INPUT", `${key} ${message}.`, { issues: [{ pointer: `/${key}`, message }] });
}

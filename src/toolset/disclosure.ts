import { ToolkitError } from "../core/error.ts";
import { nearest } from "../lib/similar.ts";
import { isRecord } from "../lib/value.ts";
import { resource } from "../resource/resource-factory.ts";
import { type DisclosurePlan, describeTool, searchTool } from "./disclosure-plan.ts";
import { firstSentence } from "./model-definition.ts";
import { type RunTool, runTool } from "./run-tool.ts";
import { estimateTokens, sumTokens } from "./tokens.ts";
import type { OfferedTools, ToolDefinitionForModel } from "./toolset-types.ts";

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
  readonly #hidden: ReadonlyMap<string, ToolDefinitionForModel>;
  /** In the order in which they were asked for. */
  readonly #revealed = new Set<string>();

  constructor(offered: OfferedTools, plan: DisclosurePlan) {
    this.#offered = offered;
    this.#plan = plan;
    const first = new Set(plan.first.map(({ name }) => name));
    this.#hidden = new Map(plan.all.filter(({ name }) => !first.has(name)).map((each) => [each.name, each]));
    this.tools = [
      disclosureTool(searchTool, (input) => this.#search(input)),
      disclosureTool(describeTool, (input) => this.#describe(input)),
    ];
  }

  /** The definitions of a turn. Of those asked for, the latest stay as far as the budget goes, and the very latest in any case. */
  definitionsOf(turn: number): readonly ToolDefinitionForModel[] {
    const first = this.#offered.definitionsOf(turn);
    let left = this.#plan.maxTokens - sumTokens(first);
    const shown = new Set<ToolDefinitionForModel>();
    for (const alias of [...this.#revealed].reverse()) {
      const definition = this.#hidden.get(alias);
      if (definition === undefined) continue;
      left -= estimateTokens(definition);
      if (left < 0 && shown.size > 0) break;
      shown.add(definition);
    }
    return [...first, ...[...shown].reverse()];
  }

  /** A tool was called, or asked for: it is offered in full from the next turn on. */
  reveal(alias: string): void {
    if (!this.#hidden.has(alias)) return;
    this.#revealed.delete(alias);
    this.#revealed.add(alias);
  }

  #search(input: unknown): unknown {
    const { limit } = isRecord(input) ? input : {};
    const most = Number.isInteger(limit) ? Math.min(Math.max(Number(limit), 1), maxLimit) : defaultLimit;
    const found = searchTools([...this.#hidden.values()], textIn(input, "query"), most);
    if (found.tools.length > 0) return found;
    const namespaces = [...new Set(this.#offered.tools.map(({ entry }) => entry.namespace))];
    return { ...found, hint: "Nothing was found. Try other words, or the name of a namespace.", namespaces };
  }

  #describe(input: unknown): ToolDefinitionForModel {
    const name = textIn(input, "name");
    const definition = this.#plan.all.find((each) => each.name === name);
    if (definition === undefined) {
      const suggestions = nearest(name, this.#hidden.keys(), 3);
      const hint = suggestions.length === 0 ? "Search for it." : `Did you mean ${suggestions.join(", ")}?`;
      throw new ToolkitError("NOT_FOUND", `There is no tool "${name}". ${hint}`, { key: name, suggestions });
    }
    this.reveal(name);
    return definition;
  }
}

/** It counts as a call, so that a model cannot search for ever. Its input is not validated: the model may give the text bare. */
function disclosureTool(definition: ToolDefinitionForModel, answer: (input: unknown) => unknown): RunTool {
  const execute = async (input: unknown) => resource.json(definition.name, answer(input));
  return { ...runTool(definition, answer), isCounted: true, execute };
}

/** A text of an input, which a model may also give bare. */
function textIn(input: unknown, key: string): string {
  const text = isRecord(input) ? input[key] : input;
  if (typeof text === "string" && text.trim() !== "") return text.trim();
  const message = "must be a text that is not blank";
  throw new ToolkitError("INVALID_INPUT", `${key} ${message}.`, { issues: [{ pointer: `/${key}`, message }] });
}

/** Weights of a query's word by the place where it is found. */
const weights = { inName: 8, partOfName: 4, inDescription: 2, partOfDescription: 1 };

/**
 * Finds tools by the words of a query in their names and descriptions: best first, of equals in the order of the toolset. A whole word
 * weighs twice a part of one, and the name four times the description.
 */
function searchTools(
  definitions: readonly ToolDefinitionForModel[],
  query: string,
  limit: number,
): { readonly tools: readonly { readonly name: string; readonly description: string }[]; readonly more: number } {
  const wanted = [...new Set(wordsOf(query))];
  const scored = definitions
    .map((definition) => ({ definition, score: scoreOf(definition, wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const tools = scored.slice(0, limit).map(({ definition: { name, description = "" } }) => ({
    name,
    description: firstSentence(description, maxFoundCharacters),
  }));
  return { tools, more: scored.length - tools.length };
}

function scoreOf({ name, description = "" }: ToolDefinitionForModel, wanted: readonly string[]): number {
  const nameWords = new Set(wordsOf(name));
  const words = new Set(wordsOf(description));
  const plainName = name.toLowerCase();
  const plain = description.toLowerCase();
  return wanted.reduce((sum, word) => {
    const byName = nameWords.has(word) ? weights.inName : plainName.includes(word) ? weights.partOfName : 0;
    const byText = words.has(word) ? weights.inDescription : plain.includes(word) ? weights.partOfDescription : 0;
    return sum + byName + byText;
  }, 0);
}

/** Words in lower case: `getUserName` is three. */
function wordsOf(text: string): readonly string[] {
  const split = text.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2").toLowerCase();
  return split.match(/[\p{L}\p{N}]+/gu) ?? [];
}

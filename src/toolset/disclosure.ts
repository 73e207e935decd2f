import { readDefinition } from "../core/definition.ts";
import { makeEntry } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions } from "../core/session.ts";
import { nearest } from "../lib/similar.ts";
import { isRecord } from "../lib/value.ts";
import { resource } from "../resource/resource-factory.ts";
import { describeTool, searchTool } from "./disclosure-tools.ts";
import { searchTools } from "./search-index.ts";
import type { DisclosurePlan } from "./token-budget.ts";
import { estimateTokens, sumTokens } from "./tokens.ts";
import type { Caller, OfferedTools, ToolDefinitionForModel, ToolEntry } from "./toolset-types.ts";

const defaultLimit = 10;
const maxLimit = 50;

/** What one run tells of a toolset that does not fit its budget: what is told from the first turn, and what the model asked for. */
export class Disclosure implements OfferedTools, Caller {
  readonly #offer: OfferedTools;
  readonly #telling: DisclosurePlan;
  readonly #caller: Caller;
  readonly #own: ReadonlyMap<string, ToolEntry>;
  readonly #hidden: ReadonlyMap<string, ToolDefinitionForModel>;
  readonly #aliasOf: ReadonlyMap<ToolEntry, string>;
  /** In the order in which they were asked for. */
  readonly #revealed = new Set<string>();

  constructor(offer: OfferedTools, telling: DisclosurePlan, caller: Caller) {
    this.#offer = offer;
    this.#telling = telling;
    this.#caller = caller;
    this.#own = new Map([searchTool, describeTool].map((definition) => [definition.name, entryOf(definition)]));
    const first = new Set(telling.first.map(({ name }) => name));
    this.#hidden = new Map(telling.all.filter(({ name }) => !first.has(name)).map((each) => [each.name, each]));
    this.#aliasOf = new Map(offer.tools.map(({ alias, entry }) => [entry, alias]));
  }

  get tools() {
    return this.#offer.tools;
  }

  get policy() {
    return this.#offer.policy;
  }

  get(alias: string): ToolEntry | undefined {
    return this.#own.get(alias) ?? this.#offer.get(alias);
  }

  isForced(alias: string): boolean {
    return this.#offer.isForced(alias);
  }

  takesControl(calls: readonly { readonly name: string }[]): boolean {
    return this.#offer.takesControl(calls);
  }

  toolChoiceOf(turn: number) {
    return this.#offer.toolChoiceOf(turn);
  }

  tells(entry: ToolEntry): boolean {
    return [...this.#own.values()].includes(entry);
  }

  /** What is told in a turn: what was asked for last stays longest, as far as the budget goes, and the newest in any case. */
  definitionsOf(turn: number): readonly ToolDefinitionForModel[] {
    const first = this.#offer.definitionsOf(turn);
    let left = this.#telling.maxTokens - sumTokens(first);
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

  async call(entry: ToolEntry, input: unknown, options: CallOptions): Promise<Content> {
    if (entry === this.#own.get(searchTool.name)) return resource.json(searchTool.name, this.#search(input));
    if (entry === this.#own.get(describeTool.name)) return resource.json(describeTool.name, this.#describe(input));
    this.#reveal(this.#aliasOf.get(entry));
    return this.#caller.call(entry, input, options);
  }

  #search(input: unknown): unknown {
    const { limit } = isRecord(input) ? input : {};
    const most = Number.isInteger(limit) ? Math.min(Math.max(Number(limit), 1), maxLimit) : defaultLimit;
    const found = searchTools([...this.#hidden.values()], textIn(input, "query"), most);
    if (found.tools.length > 0) return found;
    const namespaces = [...new Set([...this.#aliasOf.keys()].map(({ namespace }) => namespace))];
    return { ...found, hint: "Nothing was found. Try other words, or the name of a namespace.", namespaces };
  }

  #describe(input: unknown): ToolDefinitionForModel {
    const name = textIn(input, "name");
    const definition = this.#telling.all.find((each) => each.name === name);
    if (definition === undefined) {
      const suggestions = nearest(name, this.#hidden.keys(), 3);
      const hint = suggestions.length === 0 ? "Search for it." : `Did you mean ${suggestions.join(", ")}?`;
      throw new ToolkitError("NOT_FOUND", `There is no tool "${name}". ${hint}`, { key: name, suggestions });
    }
    this.#reveal(name);
    return definition;
  }

  #reveal(alias: string | undefined): void {
    if (alias === undefined || !this.#hidden.has(alias)) return;
    this.#revealed.delete(alias);
    this.#revealed.add(alias);
  }
}

/** A text of an input, which a model may give bare. */
function textIn(input: unknown, key: string): string {
  const text = isRecord(input) ? input[key] : input;
  if (typeof text === "string" && text.trim() !== "") return text.trim();
  const message = "must be a text that is not blank";
  throw new ToolkitError("INVALID_INPUT", `${key} ${message}.`, { issues: [{ pointer: `/${key}`, message }] });
}

function entryOf({ name, description, inputSchema }: ToolDefinitionForModel): ToolEntry {
  const tool = { kind: "tool", name, description, input: inputSchema, run: () => undefined } as const;
  return makeEntry<"tool">(readDefinition(tool, "local"), tool, inlineNamespace, false);
}

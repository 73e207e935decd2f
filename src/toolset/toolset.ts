import { readDefinition } from "../core/definition.ts";
import { definitionOf, makeEntry } from "../core/entry.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Entry, Tool, Toolbox } from "../core/item.ts";
import { PolicyLists } from "../core/policy.ts";
import type { CallOptions } from "../core/session.ts";
import { aliasesOf } from "./alias.ts";
import { formatGuidanceOf, guidanceOf } from "./guidance.ts";
import { type BeginOptions, ToolRun } from "./run.ts";
import { type Selection, select } from "./selection.ts";
import type { Offer, RunPolicy, ToolChoice, ToolDefinitionForModel, ToolEntry } from "./types.ts";

/** How a toolset is made. */
export interface ToolsetOptions extends Selection {
  /** Which calls may be made in its runs, beside what the toolkit's own policy says. */
  readonly policy?: RunPolicy | undefined;
}

/** Which tools are asked for, and for whom. */
export interface ToolsetRequest extends ToolsetOptions, Pick<CallOptions, "signal" | "session"> {}

/** What one model run may use: a frozen view, with names and definitions that stay the same from turn to turn. */
export class Toolset implements Offer {
  /** What is offered, in the order of lists. */
  readonly tools: readonly { readonly alias: string; readonly entry: ToolEntry }[];
  readonly policy: RunPolicy;
  readonly #toolbox: Toolbox;
  readonly #entries: readonly ToolEntry[];
  readonly #options: ToolsetOptions;
  readonly #byAlias: ReadonlyMap<string, ToolEntry>;
  readonly #forced: ReadonlySet<string>;
  readonly #lists: PolicyLists;
  #definitions: readonly ToolDefinitionForModel[] | undefined;

  private constructor(toolbox: Toolbox, entries: readonly ToolEntry[], { policy = {}, ...selection }: ToolsetOptions) {
    const { offered, forced } = select(entries, selection);
    this.#toolbox = toolbox;
    this.#entries = entries;
    this.#options = { policy, ...selection };
    this.policy = policy;
    this.#lists = new PolicyLists(policy);
    this.#byAlias = aliasesOf(offered);
    const aliasOf = new Map([...this.#byAlias].map(([alias, entry]) => [entry, alias]));
    this.tools = Object.freeze(offered.map((entry) => Object.freeze({ alias: aliasOf.get(entry) ?? "", entry })));
    this.#forced = new Set([...forced].map((entry) => aliasOf.get(entry) ?? ""));
  }

  /**
   * Takes down what there is now.
   *
   * @throws ToolkitError `NOT_FOUND` for a forced or excluded ref nothing has, `INVALID_INPUT` for a selection that contradicts itself,
   *   `INVALID_CONFIG` for a policy that is none
   */
  static async of(toolbox: Toolbox, options: ToolsetRequest = {}): Promise<Toolset> {
    const { signal, session, ...selection } = options;
    const { entries } = await toolbox.list({ kind: ["tool", "prompt"], signal, session });
    return new Toolset(toolbox, entries, selection);
  }

  /** What a model is told of the tools. The same objects at each call. */
  definitions(): readonly ToolDefinitionForModel[] {
    this.#definitions ??= Object.freeze(this.tools.map(({ alias, entry }) => definitionFor(alias, entry)));
    return this.#definitions;
  }

  /** What a model is told of the tools it may use in a turn, from 0: in the first one, of several that are forced only these. */
  definitionsOf(turn: number): readonly ToolDefinitionForModel[] {
    if (turn > 0 || this.#forced.size < 2) return this.definitions();
    return this.definitions().filter(({ name }) => this.#forced.has(name) || this.#isCapability(name));
  }

  /** What a model must do in its first turn. */
  get toolChoice(): ToolChoice {
    return this.toolChoiceOf(0);
  }

  /** What a model must do in a turn, from 0. */
  toolChoiceOf(turn: number): ToolChoice {
    const { toolChoice = "auto" } = this.policy;
    const [only] = this.#forced;
    if (toolChoice === "none" || only === undefined || turn > 0) return toolChoice;
    return this.#forced.size === 1 ? { tool: only } : "required";
  }

  /**
   * What the tools say of their use, for a system prompt; with `used`, how to read the results of these.
   *
   * @param used - aliases
   */
  guidance({ used }: { readonly used?: readonly string[] | undefined } = {}): string {
    if (used === undefined) return guidanceOf(this.#byAlias);
    const wanted = new Set(used);
    return formatGuidanceOf([...this.#byAlias].filter(([alias]) => wanted.has(alias)));
  }

  /** The entry of an alias. */
  get(alias: string): ToolEntry | undefined {
    return this.#byAlias.get(alias);
  }

  /** True for an alias that must be called in the first turn. */
  isForced(alias: string): boolean {
    return this.#forced.has(alias);
  }

  /** True where one of the calls is of a tool that takes control: it must be called alone. */
  takesControl(calls: readonly { readonly name: string }[]): boolean {
    return calls.some(({ name }) => this.#optionsOf(name)?.takesControl === true);
  }

  /** Opens the state of one run: its turn, counters, history and evaluations. */
  begin(options: BeginOptions = {}): ToolRun {
    return new ToolRun(this, this.#lists, this.#toolbox, options);
  }

  /**
   * The same, with tools of the service's own beside, which are called under the namespace `inline`.
   *
   * @throws ToolkitError as `toolkit.add` does
   */
  add(...tools: readonly Tool[]): Toolset {
    const added = tools.map((tool) => makeEntry(readDefinition(tool, "local"), tool, inlineNamespace, false));
    const { include } = this.#options;
    const refs = added.map(({ ref }) => ref);
    const options = include === undefined ? this.#options : { ...this.#options, include: [...include, ...refs] };
    return new Toolset(this.#toolbox, [...this.#entries, ...(added as unknown as readonly ToolEntry[])], options);
  }

  /**
   * The same without what fits a glob on refs.
   *
   * @throws ToolkitError `NOT_FOUND` for a ref nothing has
   */
  exclude(ref: string): Toolset {
    const { exclude = [] } = this.#options;
    return new Toolset(this.#toolbox, this.#entries, { ...this.#options, exclude: [...exclude, ref] });
  }

  #isCapability(alias: string): boolean {
    return this.#optionsOf(alias)?.capability === true;
  }

  #optionsOf(alias: string) {
    const entry = this.#byAlias.get(alias);
    return entry === undefined ? undefined : definitionOf(entry as Entry).options;
  }
}

function definitionFor(name: string, entry: ToolEntry): ToolDefinitionForModel {
  const { description, title, input = { type: "object" } } = definitionOf(entry as Entry);
  const inputSchema = input.type === "object" ? input : { ...input, type: "object" };
  return Object.freeze({ name, description: description ?? title, inputSchema });
}

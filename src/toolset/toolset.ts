import { readDefinition } from "../core/definition.ts";
import { definitionOf, makeEntry } from "../core/entry.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Entry, Tool, Toolbox } from "../core/item.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import type { PolicyRules } from "../core/policy.ts";
import type { CallOptions } from "../core/session.ts";
import { aliasesOf } from "./alias.ts";
import { Disclosure } from "./disclosure.ts";
import { reservedAliases } from "./disclosure-tools.ts";
import { formatGuidanceOf, guidanceOf } from "./guidance.ts";
import { definitionFor } from "./model-definition.ts";
import { type OwnTool, OwnTools } from "./own-tools.ts";
import { runRules } from "./run-policy.ts";
import { assertGlobs, hidingRule, type Selection, select, selectionNames } from "./selection.ts";
import { assertBudget, type DisclosurePlan, planDisclosure } from "./token-budget.ts";
import { type TokenReport, tokenReport } from "./tokens.ts";
import { type BeginOptions, ToolRun } from "./tool-run.ts";
import type { OfferedTools, RunPolicy, ToolChoice, ToolDefinitionForModel, ToolEntry } from "./toolset-types.ts";

/** How a toolset is made. */
export interface ToolsetOptions extends Selection {
  /** Which calls may be made in its runs, beside what the toolkit's own policy says. */
  readonly policy?: RunPolicy | undefined;
  /**
   * What the definitions may cost a model, in tokens as `tokens()` estimates them. What does not fit is shortened: of each description
   * the first sentence is told. What does not fit then is told on demand: the model gets `search_tools` and `describe_tool`, beside
   * what is forced and what only adds an ability, and a tool is offered from the turn after it was asked for. Default: no limit.
   */
  readonly maxTokens?: number | undefined;
}

/** How a toolset treats a tool. */
export interface ToolStanding {
  readonly alias?: string | undefined;
  /** Why it is not offered. */
  readonly hidden?: string | undefined;
  /** The rule of its policy that refuses it. */
  readonly refusal?: string | undefined;
}

/** Which tools are asked for, and for whom. */
export interface ToolsetRequest extends ToolsetOptions, Pick<CallOptions, "signal" | "session"> {}

const requestNames: OptionNames<ToolsetRequest> = {
  ...selectionNames,
  policy: true,
  maxTokens: true,
  signal: true,
  session: true,
};

/** What one model run may use: a frozen view, with names and definitions that stay the same from turn to turn. */
export class Toolset implements OfferedTools {
  /** What is offered, in the order of lists. */
  readonly tools: readonly { readonly alias: string; readonly entry: ToolEntry }[];
  readonly policy: RunPolicy;
  readonly #toolbox: Toolbox;
  readonly #entries: readonly ToolEntry[];
  readonly #options: ToolsetOptions;
  readonly #byAlias: ReadonlyMap<string, ToolEntry>;
  readonly #forced: ReadonlySet<string>;
  readonly #rules: PolicyRules;
  #cachedPlan: DisclosurePlan | undefined;

  private constructor(toolbox: Toolbox, entries: readonly ToolEntry[], options: ToolsetOptions) {
    const { policy = {}, maxTokens, ...selection } = options;
    assertBudget(maxTokens);
    const { offered, forced } = select(entries, selection);
    this.#toolbox = toolbox;
    this.#entries = entries;
    this.#options = options;
    this.policy = policy;
    this.#rules = runRules(policy);
    this.#byAlias = aliasesOf(offered, maxTokens === undefined ? undefined : reservedAliases);
    const aliasOf = new Map([...this.#byAlias].map(([alias, entry]) => [entry, alias]));
    this.tools = Object.freeze(offered.map((entry) => Object.freeze({ alias: aliasOf.get(entry) ?? "", entry })));
    this.#forced = new Set([...forced].map((entry) => aliasOf.get(entry) ?? ""));
  }

  /**
   * Takes down what there is now.
   *
   * @throws ToolkitError `NOT_FOUND` for a forced or excluded ref nothing has, `INVALID_INPUT` for a selection that contradicts itself,
   *   `INVALID_CONFIG` for a policy or selection that is none, or says what there is not; `INVALID_INPUT` too for a budget that is no
   *   whole number from 1
   */
  static async of(toolbox: Toolbox, options: ToolsetRequest = {}): Promise<Toolset> {
    assertOptionNames(options, requestNames, "of a toolset");
    for (const name of ["include", "exclude", "forced"] as const) assertGlobs(name, options[name], "of a toolset");
    const { signal, session, ...selection } = options;
    const { entries } = await toolbox.list({ kind: ["tool", "prompt"], signal, session });
    return new Toolset(toolbox, entries, selection);
  }

  /** As `of`, of what was chosen already. @internal */
  static ofEntries(toolbox: Toolbox, entries: readonly ToolEntry[], options: ToolsetOptions): Toolset {
    return new Toolset(toolbox, entries, options);
  }

  /** What a model is told of the tools in its first turn, within the budget. The same objects at each call. */
  definitions(): readonly ToolDefinitionForModel[] {
    return this.definitionsOf(0);
  }

  /** What a model is told of the tools it may use in a turn, from 0: in the first one, of several that are forced only these. */
  definitionsOf(turn: number): readonly ToolDefinitionForModel[] {
    const { first } = this.#plan();
    if (turn > 0 || this.#forced.size < 2) return first;
    return first.filter(({ name }) => !this.#byAlias.has(name) || this.#isKept(name));
  }

  /** Every tool there is, as a model is told of it: in each turn, or when it asks. */
  get all(): readonly ToolDefinitionForModel[] {
    return this.#plan().all;
  }

  /** What the definitions cost a model: in all, and each tool and namespace. */
  tokens(): TokenReport {
    return tokenReport(this.tools, this.#plan());
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

  /** How a tool or prompt is offered here, or why it is not, and the rule that refuses it. */
  standingOf({ kind, ref }: Entry): ToolStanding {
    const entry = this.#entries.find((each) => each.kind === kind && each.ref === ref);
    if (entry === undefined) return { hidden: "it was not there when the toolset was made" };
    const forced = new Set(
      [...this.#forced].map((alias) => this.#byAlias.get(alias)).filter((each) => each !== undefined),
    );
    const hidden = hidingRule(entry, this.#options, forced);
    const alias = this.tools.find((each) => each.entry === entry)?.alias;
    const refusal = this.policy.toolChoice === "none" ? "toolChoice" : this.#rules.refusal(ref);
    return { alias, hidden, refusal };
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
    return Toolset.beginWith(this, options, []);
  }

  /** As `begin`, with tools the run has by itself. @internal */
  static beginWith(toolset: Toolset, options: BeginOptions, own: readonly OwnTool[]): ToolRun {
    const telling = toolset.#plan();
    const disclosure = telling.disclosure === "search" ? new Disclosure(toolset, telling, toolset.#toolbox) : undefined;
    const offer = disclosure ?? toolset;
    const caller = disclosure ?? toolset.#toolbox;
    if (own.length === 0) return new ToolRun(offer, toolset.#rules, caller, options);
    const all = new OwnTools(offer, caller, own);
    return new ToolRun(all, toolset.#rules, all, options);
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

  #plan(): DisclosurePlan {
    if (this.#cachedPlan === undefined) {
      const full = Object.freeze(this.tools.map(({ alias, entry }) => definitionFor(alias, entry)));
      const { maxTokens } = this.#options;
      this.#cachedPlan = planDisclosure(full, { maxTokens, isKept: (alias) => this.#isKept(alias) });
    }
    return this.#cachedPlan;
  }

  /** What is forced, and what only adds an ability, is told in any case. */
  #isKept(alias: string): boolean {
    return this.#forced.has(alias) || this.#optionsOf(alias)?.capability === true;
  }

  #optionsOf(alias: string) {
    const entry = this.#byAlias.get(alias);
    return entry === undefined ? undefined : definitionOf(entry as Entry).options;
  }
}

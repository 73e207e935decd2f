import { readDefinition } from "../core/definition.ts";
import { definitionOf, makeEntry } from "../core/entry.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Entry, Tool, Toolbox } from "../core/item.ts";
import { assertRules, emptyScope, type NameScope, RefusingRules } from "../core/name-rules.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import type { PolicyRules, StandingRule } from "../core/policy.ts";
import type { CallOptions } from "../core/session.ts";
import { aliasesOf } from "./alias.ts";
import { Disclosure } from "./disclosure.ts";
import { reservedAliases } from "./disclosure-tools.ts";
import { formatGuidanceOf, guidanceOf } from "./guidance.ts";
import { definitionFor } from "./model-definition.ts";
import { type OwnTool, OwnTools } from "./own-tools.ts";
import { runRules } from "./run-policy-check.ts";
import { LookedUpNames, namedTool, type Selection, SelectionRules, selectionNames } from "./selection.ts";
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
  /** The rules that offer or hide it, and that allow or refuse its calls. */
  readonly rules: readonly StandingRule[];
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
  readonly #selection: SelectionRules;
  readonly #scope: NameScope;
  readonly #byAlias: ReadonlyMap<string, ToolEntry>;
  readonly #forced: ReadonlySet<string>;
  readonly #rules: PolicyRules;
  #cachedPlan: DisclosurePlan | undefined;

  private constructor(toolbox: Toolbox, entries: readonly ToolEntry[], options: ToolsetOptions, scope: NameScope) {
    const { policy = {}, maxTokens, ...selection } = options;
    assertBudget(maxTokens);
    this.#selection = new SelectionRules(selection, scope);
    this.#scope = scope;
    const { offered, forced } = this.#selection.select(entries);
    this.#toolbox = toolbox;
    this.#entries = entries;
    this.#options = options;
    this.policy = policy;
    this.#rules = runRules(policy, scope);
    this.#byAlias = aliasesOf(offered, maxTokens === undefined ? undefined : reservedAliases);
    const aliasOf = new Map([...this.#byAlias].map(([alias, entry]) => [entry, alias]));
    this.tools = Object.freeze(offered.map((entry) => Object.freeze({ alias: aliasOf.get(entry) ?? "", entry })));
    this.#forced = new Set([...forced].map((entry) => aliasOf.get(entry) ?? ""));
  }

  /**
   * Takes down what there is now.
   *
   * @throws ToolkitError `NOT_FOUND` for a name in the selection that nothing has, `INVALID_INPUT` for a selection that contradicts itself,
   *   `INVALID_CONFIG` for a policy or selection that is none, or says what there is not; `INVALID_INPUT` too for a budget that is no
   *   whole number from 1
   */
  static async of(toolbox: Toolbox, options: ToolsetRequest = {}): Promise<Toolset> {
    assertOptionNames(options, requestNames, "of a toolset");
    for (const name of ["include", "exclude", "forced"] as const) assertRules(options[name], name, "of a toolset");
    const { signal, session, ...selection } = options;
    const { include, exclude = [], forced, policy = {} } = selection;
    // Before anything is looked up: a policy that is none is refused at once.
    const { allow } = runRules(policy, emptyScope);
    const lookup = { toolbox, signal, session };
    const names = new LookedUpNames();
    await Promise.all([names.require("include", include, lookup), names.require("forced", forced, lookup)]);
    await names.allow(allow?.texts, lookup);
    const { entries } = await toolbox.list({ kind: ["tool", "prompt"], signal, session });
    for (const name of new RefusingRules(exclude).unused(entries)) await namedTool("exclude", name, lookup);
    return new Toolset(toolbox, entries, selection, names);
  }

  /** As `of`, of what was chosen already. @internal */
  static ofEntries(
    toolbox: Toolbox,
    entries: readonly ToolEntry[],
    options: ToolsetOptions,
    scope: NameScope = emptyScope,
  ): Toolset {
    return new Toolset(toolbox, entries, options, scope);
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

  /** The alias of a tool or prompt, if it is offered, and the rules that say so. */
  standingOf({ kind, ref }: Entry): ToolStanding {
    const entry = this.#entries.find((each) => each.kind === kind && each.ref === ref);
    const absent: StandingRule = { rule: "it was not there when the toolset was made", verdict: "hides" };
    if (entry === undefined) return { rules: [absent] };
    const forced = new Set(
      [...this.#forced].map((alias) => this.#byAlias.get(alias)).filter((each) => each !== undefined),
    );
    const alias = this.tools.find((each) => each.entry === entry)?.alias;
    const none: StandingRule = { at: "policy.toolChoice", rule: "none", verdict: "refuses" };
    const ofPolicy = this.policy.toolChoice === "none" ? [none] : this.#rules.standingRules(entry);
    return { alias, rules: [this.#selection.ruleFor(entry, forced) ?? [], ofPolicy].flat() };
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
    return new Toolset(
      this.#toolbox,
      [...this.#entries, ...(added as unknown as readonly ToolEntry[])],
      options,
      this.#scope,
    );
  }

  /**
   * The same without what fits: a name or ref, or a glob on these.
   *
   * @throws ToolkitError `NOT_FOUND` for a name nothing has, `INVALID_CONFIG` for an empty one
   */
  exclude(ref: string): Toolset {
    assertRules([ref], "exclude", "of a toolset");
    const exclude = [...(this.#options.exclude ?? []), ref];
    return new Toolset(this.#toolbox, this.#entries, { ...this.#options, exclude }, this.#scope);
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

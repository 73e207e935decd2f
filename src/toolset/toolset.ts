import { definitionOf, refusedByConnector } from "../core/entry.ts";
import type { Entry, Tool, Toolbox } from "../core/item.ts";
import { assertRules, emptyScope, type NameScope, RefusingRules } from "../core/name-rules.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import type { PolicyRules, StandingRule } from "../core/policy.ts";
import type { CallOptions } from "../core/session.ts";
import { Disclosure } from "./disclosure.ts";
import { assertBudget, type DisclosurePlan, planDisclosure, reservedAliases } from "./disclosure-plan.ts";
import { inlineEntries } from "./inline-entries.ts";
import { aliasesOf, definitionFor, guidanceOf } from "./model-definition.ts";
import { runRules } from "./run-policy.ts";
import type { RunTool } from "./run-tool.ts";
import {
  assertUsable,
  LookedUpNames,
  namedTool,
  onlyNamed,
  type Selection,
  SelectionRules,
  selectionNames,
} from "./selection.ts";
import { type TokenReport, tokenReport } from "./tokens.ts";
import { type BeginOptions, beginNames, ToolRun } from "./tool-run.ts";
import type { Embed, OfferedTools, RunPolicy, ToolChoice, ToolDefinitionForModel, ToolEntry } from "./toolset-types.ts";

/** Options of a toolset. */
export interface ToolsetOptions extends Selection {
  /** A policy for the calls of its runs, in addition to that of the toolkit. */
  readonly policy?: RunPolicy | undefined;
  /**
   * The budget for definitions, in tokens as `tokens()` estimates them. Definitions that exceed it are shortened to the first sentence of
   * each description. If they still exceed it, they are disclosed on demand: the model gets `search_tools` and `describe_tool`, beside
   * forced tools and capabilities, and another tool is offered from the turn after it was asked for. Default: no limit.
   */
  readonly maxTokens?: number | undefined;
  /** Joins the search for tools that are disclosed on demand. Default: words alone are compared. */
  readonly embed?: Embed | undefined;
}

const noDefinitions: readonly ToolDefinitionForModel[] = Object.freeze([]);

/** The place of a tool in a toolset. */
export interface ToolStanding {
  readonly alias?: string | undefined;
  /** The rules that offer or hide it, and that allow or refuse its calls. */
  readonly rules: readonly StandingRule[];
}

/** Options of a toolset, and the session whose tools it takes. */
export interface ToolsetRequest extends ToolsetOptions, Pick<CallOptions, "signal" | "session"> {}

const requestNames: OptionNames<ToolsetRequest> = {
  ...selectionNames,
  policy: true,
  maxTokens: true,
  embed: true,
  signal: true,
  session: true,
};

/** The parts of a toolset. */
interface ToolsetParts {
  readonly toolbox: Toolbox;
  readonly entries: readonly ToolEntry[];
  /** Undefined where the entries are chosen already. */
  readonly selection: Selection | undefined;
  /** Finds what names in the selection mean. */
  readonly scope: NameScope;
  readonly policy: RunPolicy;
  /** The rules of the policy; undefined where it has none. */
  readonly rules: PolicyRules | undefined;
  readonly maxTokens: number | undefined;
  readonly embed: Embed | undefined;
}

/** The parts of a toolset of tools that are chosen already. */
interface ChosenTools extends Omit<ToolsetParts, "selection" | "scope"> {
  /** Of the entries: those to be called in the first turn. */
  readonly forced: readonly ToolEntry[];
}

/** The tools that one model run may use: a frozen view, with aliases and definitions that stay the same from turn to turn. */
export class Toolset implements OfferedTools {
  /** The offered tools, in the order of lists. */
  readonly tools: readonly { readonly alias: string; readonly entry: ToolEntry }[];
  readonly policy: RunPolicy;
  /** @internal */
  readonly embed: Embed | undefined;
  readonly #parts: ToolsetParts;
  /** Undefined for tools that are chosen already. */
  readonly #selection: SelectionRules | undefined;
  readonly #byAlias: ReadonlyMap<string, ToolEntry>;
  readonly #forced: ReadonlySet<string>;
  #cachedPlan: DisclosurePlan | undefined;

  private constructor(parts: ToolsetParts, chosen: readonly ToolEntry[] = []) {
    const { entries, scope, selection, policy, maxTokens } = parts;
    assertBudget(parts);
    this.#parts = parts;
    this.#selection = selection && new SelectionRules(selection, scope);
    const selected = this.#selection?.select(entries) ?? { offered: entries, forced: chosen };
    const { forced } = selected;
    assertUsable(forced);
    // A model is not shown the words of a server that is refused.
    const offered = selected.offered.filter((entry) => refusedByConnector(entry) === undefined);
    this.policy = policy;
    this.embed = parts.embed;
    this.#byAlias = aliasesOf(offered, maxTokens === undefined ? undefined : reservedAliases);
    const aliasOf = new Map([...this.#byAlias].map(([alias, entry]) => [entry, alias]));
    this.tools = Object.freeze(offered.map((entry) => Object.freeze({ alias: aliasOf.get(entry) ?? "", entry })));
    this.#forced = new Set(Array.from(forced, (entry) => aliasOf.get(entry) ?? ""));
  }

  /**
   * Selects among the tools and prompts that the toolbox lists now.
   *
   * @throws ToolkitError `NOT_FOUND` for a name in the selection that nothing has, `INVALID_INPUT` for a selection that contradicts
   *   itself or a budget that is no whole number from 1, `INVALID_CONFIG` for an invalid policy or selection
   */
  static async of(toolbox: Toolbox, options: ToolsetRequest = {}): Promise<Toolset> {
    assertOptionNames(options, requestNames, "of a toolset");
    for (const name of ["include", "exclude", "forced"] as const) assertRules(options[name], name, "of a toolset");
    const { signal, session, include, exclude = [], forced, policy = {}, maxTokens, embed } = options;
    // Before anything is looked up: a policy that is none is refused at once.
    const rules = runRules(policy, emptyScope);
    const lookup = { toolbox, signal, session };
    const names = new LookedUpNames();
    await Promise.all([names.require("include", include, lookup), names.require("forced", forced, lookup)]);
    await names.allow(rules.allow?.texts, lookup);
    const { entries } = await toolbox.list({ kind: ["tool", "prompt"], signal, session });
    for (const name of new RefusingRules(exclude).unused(entries)) await namedTool("exclude", name, lookup);
    const selection = { include, exclude, forced };
    const budget = { maxTokens, embed };
    return new Toolset({ toolbox, entries, selection, scope: names, policy, rules: rules.within(names), ...budget });
  }

  /** As `of`, of entries that are chosen already. @internal */
  static ofEntries({ forced, ...parts }: ChosenTools): Toolset {
    return new Toolset({ ...parts, selection: undefined, scope: emptyScope }, forced);
  }

  /** The definitions for the first turn, within the budget; none where the policy has the tool choice `none`. The same objects at each call. */
  definitions(): readonly ToolDefinitionForModel[] {
    return this.definitionsOf(0);
  }

  /** The definitions for a turn, from 0. Where several tools are forced, the first turn has only these. */
  definitionsOf(turn: number): readonly ToolDefinitionForModel[] {
    if (this.policy.toolChoice === "none") return noDefinitions;
    const { first } = this.#plan();
    if (turn > 0 || this.#forced.size < 2) return first;
    return first.filter(({ name }) => !this.#byAlias.has(name) || this.#isKept(name));
  }

  /** The definition of every tool, in the form in which it is disclosed: in each turn, or on demand. */
  get all(): readonly ToolDefinitionForModel[] {
    return this.#plan().all;
  }

  /** The cost of the definitions: in all, for each tool and for each namespace. */
  tokens(): TokenReport {
    const plan = this.#plan();
    return tokenReport(this.tools, this.policy.toolChoice === "none" ? { ...plan, first: noDefinitions } : plan);
  }

  /** The tool choice of the first turn. */
  get toolChoice(): ToolChoice {
    return this.toolChoiceOf(0);
  }

  /** The tool choice of a turn, from 0. */
  toolChoiceOf(turn: number): ToolChoice {
    const { toolChoice = "auto" } = this.policy;
    if (toolChoice === "none") return toolChoice;
    // A model that must call a tool in each turn would never answer.
    if (turn > 0) return "auto";
    const [only] = this.#forced;
    if (only === undefined) return toolChoice;
    return this.#forced.size === 1 ? { tool: only } : "required";
  }

  /**
   * The guidance of the tools on their use, for a system prompt; with `used`, on reading the results of these.
   *
   * @param used - aliases
   */
  guidance({ used }: { readonly used?: readonly string[] | undefined } = {}): string {
    if (used === undefined) return guidanceOf(this.#byAlias, "guidance");
    return guidanceOf(this.#byAlias, "formatGuidance", used);
  }

  /** The entry of an alias. */
  get(alias: string): ToolEntry | undefined {
    return this.#byAlias.get(alias);
  }

  /** The alias of a tool or prompt, if it is offered, and the rules that say so. */
  standingOf({ kind, ref }: Entry): ToolStanding {
    const entry = this.#parts.entries.find((each) => each.kind === kind && each.ref === ref);
    const absent: StandingRule = { rule: "it was not there when the toolset was made", verdict: "hides" };
    if (entry === undefined) return { rules: [absent] };
    const forced = new Set(
      [...this.#forced].map((alias) => this.#byAlias.get(alias)).filter((each) => each !== undefined),
    );
    const alias = this.tools.find((each) => each.entry === entry)?.alias;
    const none: StandingRule = { at: "policy.toolChoice", rule: "none", verdict: "refuses" };
    const ofPolicy = this.policy.toolChoice === "none" ? [none] : (this.#parts.rules?.standingRules(entry) ?? []);
    return { alias, rules: [this.#selection?.ruleFor(entry, forced) ?? [], ofPolicy].flat() };
  }

  /** True for an alias that must be called in the first turn. */
  isForced(alias: string): boolean {
    return this.#forced.has(alias);
  }

  /** True where one of the calls is of a tool that takes control, which must be called alone. */
  takesControl(calls: readonly { readonly name: string }[]): boolean {
    return calls.some(({ name }) => this.#optionsOf(name)?.takesControl === true);
  }

  /** Opens the state of one run: turn, counters, history and evaluations. */
  begin(options: BeginOptions = {}): ToolRun {
    assertOptionNames(options, beginNames, "of begin");
    return Toolset.beginWith(this, options, []);
  }

  /** As `begin`, with tools that the run executes itself. @internal */
  static beginWith(toolset: Toolset, options: BeginOptions, own: readonly RunTool[]): ToolRun {
    const plan = toolset.#plan();
    const disclosure = plan.disclosure === "search" ? new Disclosure(toolset, plan) : undefined;
    const { rules, toolbox: caller } = toolset.#parts;
    return new ToolRun({ offered: toolset, rules, caller, disclosure, own }, options);
  }

  /**
   * A toolset with further tools, which are called under the namespace `inline`.
   *
   * @throws ToolkitError as `toolkit.add` does
   */
  add(...tools: readonly Tool[]): Toolset {
    const added = inlineEntries(tools);
    const { selection, entries } = this.#parts;
    const include = selection?.include && [...selection.include, ...added.map(({ ref }) => ref)];
    return new Toolset({
      ...this.#parts,
      entries: [...entries, ...added],
      selection: selection && { ...selection, include },
    });
  }

  /**
   * A toolset without the tools that have a name or ref, or match a glob on these.
   *
   * @throws ToolkitError `NOT_FOUND` for a name that no tool has, `INVALID_CONFIG` for an empty one
   */
  exclude(ref: string): Toolset {
    assertRules([ref], "exclude", "of a toolset");
    const { selection = { include: ["*"] } } = this.#parts;
    const exclude = [...(selection.exclude ?? []), ref];
    return new Toolset({ ...this.#parts, selection: { ...selection, exclude } });
  }

  /**
   * A toolset in which a further tool is to be called in the first turn, as `forced` does. An exclusive tool is offered alone.
   *
   * @param name - a ref, an alias, or a bare name
   * @throws ToolkitError `NOT_FOUND` for a name that no tool has, `INVALID_INPUT` for one of several servers' tools, one that is excluded,
   *   and a second exclusive one; `DENIED` for one that its connector refuses, `INVALID_CONFIG` for an empty name
   */
  force(name: string): Toolset {
    assertRules([name], "forced", "of a toolset");
    const { selection = { include: ["*"] }, scope, entries } = this.#parts;
    const forced = [...(selection.forced ?? []), name];
    const found = this.#byAlias.get(name) ?? scope.meaning(name) ?? onlyNamed(name, entries);
    const meaning = (each: string) => (each === name ? found : scope.meaning(each));
    return new Toolset({ ...this.#parts, scope: { meaning }, selection: { ...selection, forced } });
  }

  #plan(): DisclosurePlan {
    if (this.#cachedPlan === undefined) {
      const full = Object.freeze(this.tools.map(({ alias, entry }) => definitionFor(alias, entry)));
      const { maxTokens } = this.#parts;
      this.#cachedPlan = planDisclosure(full, { maxTokens, isKept: (alias) => this.#isKept(alias) });
    }
    return this.#cachedPlan;
  }

  /** Forced tools and capabilities are disclosed in any case. */
  #isKept(alias: string): boolean {
    return this.#forced.has(alias) || this.#optionsOf(alias)?.capability === true;
  }

  #optionsOf(alias: string) {
    const entry = this.#byAlias.get(alias);
    return entry === undefined ? undefined : definitionOf(entry as Entry).options;
  }
}

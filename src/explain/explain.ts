import type { Executor } from "../call/executor.ts";
import type { SettingsRules } from "../call/settings-rules.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { refusedByConnector } from "../core/entry.ts";
import { messageOf } from "../core/error.ts";
import type { DefaultKind, Entry } from "../core/item.ts";
import { originOf } from "../core/item-origin.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import type { PolicyRules } from "../core/policy.ts";
import type { Session } from "../core/session.ts";
import { present } from "../lib/value.ts";
import { visible } from "../lib/visible-text.ts";
import type { ToolkitPins } from "../pins/pins.ts";
import { aliasesOf, definitionFor } from "../toolset/model-definition.ts";
import { estimateTokens } from "../toolset/tokens.ts";
import type { Toolset } from "../toolset/toolset.ts";
import type { ToolEntry } from "../toolset/toolset-types.ts";
import type { ExplainedItem, ExplainedRule, Explanation } from "./explanation.ts";
import { textOf } from "./explanation-text.ts";

/** The toolset and the session that an explanation is for. */
export interface ExplainOptions {
  /** The toolset it is explained in. Default: one of all tools. */
  readonly toolset?: Toolset | undefined;
  /** The session whose principal's items of `user` are meant. Default: those of no principal. */
  readonly session?: Session | undefined;
}

const optionNames: OptionNames<ExplainOptions> = { toolset: true, session: true };

/** The parts of a toolkit that an explanation is made from. */
export interface Explainer {
  readonly catalog: Catalog;
  readonly executor: Executor;
  readonly policy: PolicyRules;
  readonly settings: SettingsRules;
  readonly pins: ToolkitPins;
}

/** Explains what a key means and what a call of it would go through. Nothing is waited for or run. */
export function explain(given: string, explainer: Explainer, options: ExplainOptions = {}): Explanation {
  assertOptionNames(options, optionNames, "of explain");
  const key = messageOf(given);
  const { toolset, session: { principal = "" } = {} } = options;
  const { readings, candidates, problem, unsettled } = explainer.catalog.explain(key, principal);
  const [winner, ...others] = problem === undefined ? candidates : [];
  const about = {
    key,
    readings,
    candidates: candidates.map(itemOf),
    shadowed: others.map(({ ref }) => ref),
    unsettled,
    ...present({ problem }),
  };
  const explanation: Explanation =
    winner === undefined
      ? { ...about, rules: [], steps: [] }
      : { ...about, winner: itemOf(winner), ...aboutEntry(winner, explainer, toolset) };
  // For people, and no part of the value.
  Object.defineProperty(explanation, "toString", { value: () => textOf(explanation) });
  return Object.freeze(explanation);
}

function aboutEntry(entry: Entry<DefaultKind>, explainer: Explainer, toolset: Toolset | undefined) {
  const { catalog, executor, policy, settings } = explainer;
  const rules: ExplainedRule[] = policy.standingRules(entry).map((rule) => ({ of: "toolkit", ...rule }));
  const refusal = refusedByConnector(entry);
  if (refusal !== undefined) {
    const { at, rule } = refusal;
    rules.unshift({ of: "connector", at, rule, verdict: "refuses" });
  }
  const pin = pinOf(entry, explainer.pins);
  const connection = connectionOf(entry, catalog);
  const origin = originOf(entry.item);
  if (entry.kind === "resource") return { rules, steps: [], ...present({ origin, connection, pin }) };
  const callable = entry as ToolEntry;
  for (const { pattern: rule, settings: given } of settings.rulesFor(entry)) {
    rules.push({ of: "toolkit", at: "settings", rule, verdict: "sets", sets: Object.keys(present(given)) });
  }
  const standing = toolset?.standingOf(callable);
  for (const rule of standing?.rules ?? []) rules.push({ of: "toolset", ...rule });
  const alias = standing === undefined ? aliasAmongAll(callable, catalog) : standing.alias;
  const tokens = alias === undefined ? undefined : estimateTokens(definitionFor(alias, callable));
  return { rules, steps: executor.describe(callable), ...present({ origin, connection, pin, alias, tokens }) };
}

function pinOf(entry: Entry, pins: ToolkitPins): Explanation["pin"] {
  const pin = pins.of(entry);
  return pin && { state: pin.state, version: pin.version, changes: pin.changes };
}

function connectionOf({ namespace }: Entry, catalog: Catalog): Explanation["connection"] {
  const connection = catalog.namespace(namespace)?.connection;
  if (connection === undefined) return undefined;
  const { trust, state, attempts, lastError, nextAttemptAt } = connection;
  return {
    namespace,
    trust,
    state,
    attempts,
    ...present({ lastError: lastError && visible(lastError.message), nextAttemptAt }),
  };
}

/** The alias in a toolset of every tool, and of this prompt where it is one. */
function aliasAmongAll(entry: ToolEntry, catalog: Catalog): string | undefined {
  const tools = catalog.entries(["tool"]) as readonly ToolEntry[];
  const all = entry.kind === "tool" ? tools : [...tools, entry];
  return [...aliasesOf(all)].find(([, each]) => each === entry)?.[0];
}

function itemOf({ kind, ref, stale }: Entry<DefaultKind>): ExplainedItem {
  return Object.freeze({ kind, ref, stale });
}

import type { Executor } from "../call/executor.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { messageOf } from "../core/error.ts";
import type { DefaultKind, Entry } from "../core/item.ts";
import type { PolicyRules } from "../core/policy.ts";
import type { Session } from "../core/session.ts";
import { present } from "../lib/value.ts";
import { aliasesOf, definitionFor } from "../toolset/model-definition.ts";
import { estimateTokens } from "../toolset/tokens.ts";
import type { Toolset } from "../toolset/toolset.ts";
import type { ToolEntry } from "../toolset/toolset-types.ts";
import type { ExplainedItem, ExplainedRule, Explanation } from "./explanation.ts";
import { textOf } from "./explanation-text.ts";

/** For whom something is explained. */
export interface ExplainOptions {
  /** How it stands in this one. Default: in one of all tools. */
  readonly toolset?: Toolset | undefined;
  /** Whose items of `user` are meant: those of its principal. Default: nobody's. */
  readonly session?: Session | undefined;
}

/** What knows the answers. */
export interface Explainer {
  readonly catalog: Catalog;
  readonly executor: Executor;
  readonly policy: PolicyRules;
}

/** Says what a key means and what a call of it would go through. Nothing is waited for, run or told. */
export function explain(given: string, explainer: Explainer, options: ExplainOptions = {}): Explanation {
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

function aboutEntry(entry: Entry<DefaultKind>, { catalog, executor, policy }: Explainer, toolset: Toolset | undefined) {
  const rules: ExplainedRule[] = [];
  const refusal = policy.refusal(entry.ref);
  if (refusal !== undefined) rules.push({ of: "toolkit", rule: refusal, verdict: "refuses" });
  else if (policy.decides) rules.push({ of: "toolkit", rule: "decide", verdict: "decides" });
  const connection = connectionOf(entry, catalog);
  if (entry.kind === "resource") return { rules, steps: [], ...present({ connection }) };
  const callable = entry as ToolEntry;
  const standing = toolset?.standingOf(callable);
  if (standing?.hidden !== undefined) rules.push({ of: "toolset", rule: standing.hidden, verdict: "hides" });
  if (standing?.refusal !== undefined) rules.push({ of: "toolset", rule: standing.refusal, verdict: "refuses" });
  else if (toolset?.policy.decide !== undefined) rules.push({ of: "toolset", rule: "decide", verdict: "decides" });
  const alias = standing === undefined ? aliasAmongAll(callable, catalog) : standing.alias;
  const tokens = alias === undefined ? undefined : estimateTokens(definitionFor(alias, callable));
  return { rules, steps: executor.describe(callable), ...present({ connection, alias, tokens }) };
}

function connectionOf({ namespace }: Entry, catalog: Catalog): Explanation["connection"] {
  const connection = catalog.namespace(namespace)?.connection;
  if (connection === undefined) return undefined;
  const { state, attempts, lastError, nextAttemptAt } = connection;
  return { namespace, state, attempts, ...present({ lastError: lastError?.message, nextAttemptAt }) };
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

import { refusedByConnector } from "../core/entry.ts";
import type { ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import { denied, type PolicyRules, ruleName } from "../core/policy.ts";
import { present } from "../lib/value.ts";
import { described, type Step } from "./step.ts";

/** Refuses calls that the list of their connector, or the lists of the toolkit's policy, do not let through, before anything is said of the schema. */
export function applyRules(rules: PolicyRules): Step {
  return described(
    ({ entry }) => present({ rule: refusalOf(entry, rules) }),
    ({ entry }, next) => {
      // The lists say the same each time, unless it depends on a name that may come to mean another item.
      const isOpen = rules.isOpen(entry);
      if (!isOpen && refusalOf(entry, rules) === undefined) return next;
      return (call) => {
        const error = errorOf(entry, rules);
        if (error === undefined) return next(call);
        throw error;
      };
    },
  );
}

function refusalOf(entry: Entry<"tool" | "prompt" | "resource">, rules: PolicyRules): string | undefined {
  const refusal = refusedByConnector(entry);
  if (refusal !== undefined) return refusal.rule;
  const rule = rules.refusal(entry);
  return rule && ruleName(rule);
}

function errorOf(entry: Entry<"tool" | "prompt" | "resource">, rules: PolicyRules): ToolkitError | undefined {
  const refusal = refusedByConnector(entry);
  if (refusal !== undefined) return refusal.error(entry.ref);
  const rule = rules.refusal(entry);
  return rule && denied(entry.ref, ruleName(rule));
}

import type { Entry } from "../core/item.ts";
import { denied, type PolicyRules, ruleName } from "../core/policy.ts";
import { present } from "../lib/value.ts";
import { described, type Step } from "./step.ts";

/** Refuses calls that the lists of the toolkit's policy do not let through, before anything is said of the schema. */
export function applyRules(rules: PolicyRules): Step {
  return described(
    ({ entry }) => present({ rule: refusalOf(entry, rules) }),
    ({ entry }, next) => {
      // The lists say the same each time, unless it depends on a name that may come to mean another item.
      const isOpen = rules.isOpen(entry);
      const rule = refusalOf(entry, rules);
      if (rule === undefined && !isOpen) return next;
      return (call) => {
        const refusal = isOpen ? refusalOf(entry, rules) : rule;
        if (refusal === undefined) return next(call);
        throw denied(entry.ref, refusal);
      };
    },
  );
}

function refusalOf(entry: Entry<"tool" | "prompt" | "resource">, rules: PolicyRules): string | undefined {
  const rule = rules.refusal(entry);
  return rule && ruleName(rule);
}

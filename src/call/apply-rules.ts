import { denied, type PolicyRules } from "../core/policy.ts";
import { present } from "../lib/value.ts";
import { described, type Step } from "./step.ts";

/** Refuses what the lists of the toolkit's policy do not let through, before anything is said of its schema. */
export function applyRules(rules: PolicyRules): Step {
  return described(
    ({ entry }) => present({ rule: rules.refusal(entry.ref) }),
    ({ entry }, next) => {
      const rule = rules.refusal(entry.ref);
      if (rule === undefined) return next;
      return () => {
        throw denied(entry.ref, rule);
      };
    },
  );
}

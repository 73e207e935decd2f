import type { NameScope } from "../core/name-rules.ts";
import { invalidOption, type OptionNames } from "../core/options.ts";
import { PolicyRules, policyNames } from "../core/policy.ts";
import type { RunPolicy } from "./toolset-types.ts";

const names: OptionNames<RunPolicy> = {
  ...policyNames,
  toolChoice: true,
  maxToolCallsPerTurn: true,
  maxTotalToolCalls: true,
};
const toolChoices: readonly unknown[] = ["auto", "required", "none", undefined];

/**
 * The rules of the policy of one model run, all of it checked.
 *
 * @param scope - finds what names in `allow` mean
 * @throws ToolkitError `INVALID_CONFIG` for what is no such policy
 */
export function runRules(policy: RunPolicy, scope: NameScope): PolicyRules {
  const rules = new PolicyRules(policy, names, scope);
  if (!toolChoices.includes(policy.toolChoice)) {
    throw invalidOption("policy.toolChoice", '"auto", "required" or "none"', policy.toolChoice);
  }
  for (const limit of ["maxToolCallsPerTurn", "maxTotalToolCalls"] as const) {
    const value: unknown = policy[limit];
    if (value === undefined || value === Number.POSITIVE_INFINITY) continue;
    if (!(Number.isInteger(value) && Number(value) >= 0)) {
      throw invalidOption(`policy.${limit}`, "a whole number from 0", value);
    }
  }
  return rules;
}

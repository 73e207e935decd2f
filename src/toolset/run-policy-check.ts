import { randomUUID } from "node:crypto";
import type { NameScope } from "../core/name-rules.ts";
import { invalidOption, type OptionNames } from "../core/options.ts";
import { denied, PolicyRules, policyNames, type Ruling, ruleName } from "../core/policy.ts";
import type { CallOptions, Session } from "../core/session.ts";
import type { OfferedTools, RunPolicy, ToolEntry } from "./toolset-types.ts";

const runPolicyNames: OptionNames<RunPolicy> = {
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
  const rules = new PolicyRules(policy, runPolicyNames, scope);
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

/** The number of calls that came before one. */
export interface CallCounts {
  readonly inTurn: number;
  readonly inAll: number;
}

interface JudgeOptions extends Pick<CallOptions, "session"> {
  /** The number of calls that those it checks are inside of. */
  readonly depth: number;
}

/** Says which calls of a run may be made, rule after rule. */
export class RunPolicyCheck {
  readonly #offer: OfferedTools;
  readonly #rules: PolicyRules;
  readonly #session: Session;
  readonly #depth: number;

  constructor(offer: OfferedTools, rules: PolicyRules, { session, depth }: JudgeOptions) {
    this.#offer = offer;
    this.#rules = rules;
    this.#depth = depth;
    this.#session = session ?? Object.freeze({ id: randomUUID() });
  }

  /** Whether a call may be made. It never throws. */
  async ruling(entry: ToolEntry, input: unknown, { inTurn, inAll }: CallCounts): Promise<Ruling> {
    const { toolChoice, maxToolCallsPerTurn, maxTotalToolCalls } = this.#offer.policy;
    const { ref } = entry;
    if (toolChoice === "none") return denied(ref, "toolChoice", { why: "no tool may be called in this run" });
    if (maxToolCallsPerTurn !== undefined && inTurn >= maxToolCallsPerTurn) {
      const why = `at most ${maxToolCallsPerTurn} calls may be made in one turn; make it in the next one`;
      return denied(ref, "maxToolCallsPerTurn", { why });
    }
    const isFree = this.#offer.tells?.(entry) === true;
    const listed = isFree ? undefined : this.#rules.refusal(entry);
    if (listed !== undefined) return denied(ref, ruleName(listed));
    if (maxTotalToolCalls !== undefined && inAll >= maxTotalToolCalls) {
      const why = `all ${maxTotalToolCalls} calls of this conversation were made; answer with what you have`;
      return denied(ref, "maxTotalToolCalls", { why });
    }
    return isFree
      ? undefined
      : this.#rules.decide({ action: "call", entry, input, session: this.#session, depth: this.#depth });
  }
}

import { ToolkitError } from "../core/error.ts";
import type { NameScope } from "../core/name-rules.ts";
import { invalidOption, type OptionNames } from "../core/options.ts";
import type { OuterCall } from "../core/outer-call.ts";
import { denied, PolicyRules, policyNames, type Ruling, ruleName } from "../core/policy.ts";
import type { Session } from "../core/session.ts";
import type { Callee, RunPolicy, ToolCall } from "./toolset-types.ts";

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

/** A batch of calls, each once. */
export interface CallBatch {
  /** Those whose alias is known and whose arguments were parsed. */
  readonly known: readonly KnownCall[];
  /** All of them, those that cannot be made included. */
  readonly size: number;
}

/** A call of a batch whose alias is known. */
export interface KnownCall {
  readonly call: ToolCall;
  readonly callee: Callee;
}

/** A call, and the decision of the policy on it. */
export interface RuledCall extends KnownCall {
  readonly ruling: Ruling;
}

/** The decisions on a batch. */
export interface BatchRuling {
  readonly calls: readonly RuledCall[];
  /** Calls that count against the limits. */
  readonly counted: number;
}

/** A policy, and the run that it is asked for. */
export interface PolicyCheck {
  readonly policy: RunPolicy;
  readonly rules: PolicyRules | undefined;
  readonly session: Session;
  /** Calls around those of the run. */
  readonly depth: number;
  readonly via: readonly OuterCall[];
}

/**
 * Decides which calls of one batch may be made, in order: first that a tool that takes control is alone, beside no call that is unknown,
 * malformed or refused either; then rule after rule for each. It never throws.
 *
 * @param before - calls that the conversation has made already
 */
export async function rulingsOn({ known, size }: CallBatch, before: number, check: PolicyCheck): Promise<BatchRuling> {
  const controlling = known.filter(({ callee }) => callee.options?.takesControl === true);
  if (controlling.length > 0 && size > 1) {
    const ruling = notAlone(controlling);
    return { calls: known.map((each) => ({ ...each, ruling })), counted: 0 };
  }
  const calls: RuledCall[] = [];
  let counted = 0;
  for (const each of known) {
    const { isCounted } = each.callee;
    const ruling = isCounted ? await rulingOn(each, counted, before + counted, check) : undefined;
    calls.push({ ...each, ruling });
    if (isCounted && !ToolkitError.is(ruling)) counted += 1;
  }
  return { calls, counted };
}

async function rulingOn(
  { callee, call: { input } }: KnownCall,
  inTurn: number,
  inAll: number,
  { policy, rules, session, depth, via }: PolicyCheck,
): Promise<Ruling> {
  const { toolChoice, maxToolCallsPerTurn, maxTotalToolCalls } = policy;
  const { ref, entry } = callee;
  if (toolChoice === "none") return denied(ref, "toolChoice", { why: "no tool may be called in this run" });
  if (maxToolCallsPerTurn !== undefined && inTurn >= maxToolCallsPerTurn) {
    const why = `at most ${maxToolCallsPerTurn} calls may be made in one turn; make it in the next one`;
    return denied(ref, "maxToolCallsPerTurn", { why });
  }
  const listed = entry && rules?.refusal(entry);
  if (listed !== undefined) return denied(ref, ruleName(listed));
  if (maxTotalToolCalls !== undefined && inAll >= maxTotalToolCalls) {
    const why = `all ${maxTotalToolCalls} calls of this conversation were made; answer with what you have`;
    return denied(ref, "maxTotalToolCalls", { why });
  }
  if (entry === undefined || rules === undefined) return undefined;
  return rules.decide({ action: "call", entry, input, session, depth, via });
}

function notAlone(controlling: readonly KnownCall[]): ToolkitError<"DENIED"> {
  const tools = [...new Set(controlling.map(({ call }) => call.name))].join(", ");
  const why = `${tools} takes control and must be called alone, so none of these calls ran. Make the others first, and then call ${tools} by itself`;
  return denied("The batch", "takesControl", { why });
}

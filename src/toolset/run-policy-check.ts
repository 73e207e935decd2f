import { randomUUID } from "node:crypto";
import { ToolkitError } from "../core/error.ts";
import { denied, type PolicyRules, type Ruling, ruleName } from "../core/policy.ts";
import type { CallOptions, Session } from "../core/session.ts";
import type { Callee, RunPolicy, ToolCall } from "./toolset-types.ts";

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

interface CheckOptions extends Pick<CallOptions, "session"> {
  /** Calls around those of the run. */
  readonly depth: number;
}

/** Decides which calls of a run may be made. */
export class RunPolicyCheck {
  readonly #policy: RunPolicy;
  readonly #rules: PolicyRules;
  readonly #session: Session;
  readonly #depth: number;

  constructor(policy: RunPolicy, rules: PolicyRules, { session, depth }: CheckOptions) {
    this.#policy = policy;
    this.#rules = rules;
    this.#depth = depth;
    this.#session = session ?? Object.freeze({ id: randomUUID() });
  }

  /**
   * Decides on the calls of one batch, in order: first rule after rule for each, then that a tool that takes control is alone among those
   * that passed. It never throws.
   *
   * @param before - calls that the conversation has made already
   */
  async rulingsOn(batch: readonly KnownCall[], before: number): Promise<BatchRuling> {
    const calls: RuledCall[] = [];
    let counted = 0;
    for (const known of batch) {
      const { isCounted } = known.callee;
      const ruling = isCounted ? await this.#ruling(known, counted, before + counted) : undefined;
      if (isCounted && !ToolkitError.is(ruling)) counted += 1;
      calls.push({ ...known, ruling });
    }
    const passed = calls.filter(({ ruling }) => !ToolkitError.is(ruling));
    const controlling = passed.filter(({ callee }) => callee.options?.takesControl === true);
    if (controlling.length === 0 || passed.length === 1) return { calls, counted };
    const error = notAlone(controlling);
    const refused = calls.map((each) => (ToolkitError.is(each.ruling) ? each : { ...each, ruling: error }));
    return { calls: refused, counted: 0 };
  }

  async #ruling({ callee, call: { input } }: KnownCall, inTurn: number, inAll: number): Promise<Ruling> {
    const { toolChoice, maxToolCallsPerTurn, maxTotalToolCalls } = this.#policy;
    const { ref, entry } = callee;
    if (toolChoice === "none") return denied(ref, "toolChoice", { why: "no tool may be called in this run" });
    if (maxToolCallsPerTurn !== undefined && inTurn >= maxToolCallsPerTurn) {
      const why = `at most ${maxToolCallsPerTurn} calls may be made in one turn; make it in the next one`;
      return denied(ref, "maxToolCallsPerTurn", { why });
    }
    const listed = entry === undefined ? undefined : this.#rules.refusal(entry);
    if (listed !== undefined) return denied(ref, ruleName(listed));
    if (maxTotalToolCalls !== undefined && inAll >= maxTotalToolCalls) {
      const why = `all ${maxTotalToolCalls} calls of this conversation were made; answer with what you have`;
      return denied(ref, "maxTotalToolCalls", { why });
    }
    if (entry === undefined) return undefined;
    return this.#rules.decide({ action: "call", entry, input, session: this.#session, depth: this.#depth });
  }
}

function notAlone(controlling: readonly KnownCall[]): ToolkitError<"DENIED"> {
  const names = [...new Set(controlling.map(({ call }) => call.name))].join(", ");
  const why = `${names} takes control and must be called alone, so none of these calls ran. Make the others first, and then call ${names} by itself`;
  return denied("The batch", "takesControl", { why });
}

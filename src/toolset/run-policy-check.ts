import { randomUUID } from "node:crypto";
import { denied, type PolicyRules, type Ruling } from "../core/policy.ts";
import type { CallOptions, Session } from "../core/session.ts";
import type { OfferedTools, ToolEntry } from "./toolset-types.ts";

/** How many calls came before one. */
export interface CallCounts {
  readonly inTurn: number;
  readonly inAll: number;
}

interface JudgeOptions extends Pick<CallOptions, "session"> {
  /** How many calls those it judges are inside of. */
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
    const listed = isFree ? undefined : this.#rules.refusal(ref);
    if (listed !== undefined) return denied(ref, listed);
    if (maxTotalToolCalls !== undefined && inAll >= maxTotalToolCalls) {
      const why = `all ${maxTotalToolCalls} calls of this conversation were made; answer with what you have`;
      return denied(ref, "maxTotalToolCalls", { why });
    }
    return isFree
      ? undefined
      : this.#rules.decide({ action: "call", entry, input, session: this.#session, depth: this.#depth });
  }
}

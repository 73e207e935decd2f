import { randomUUID } from "node:crypto";
import { messageOf, type ToolkitError } from "../core/error.ts";
import { denied, type PolicyLists, type Verdict } from "../core/policy.ts";
import type { CallOptions, Session } from "../core/session.ts";
import type { Offer, ToolEntry } from "./types.ts";

/** How many calls came before one. */
export interface Counted {
  readonly inTurn: number;
  readonly inAll: number;
}

/** Says which calls of a run may be made, rule after rule. */
export class Judge {
  readonly #offer: Offer;
  readonly #lists: PolicyLists;
  readonly #session: Session;

  constructor(offer: Offer, lists: PolicyLists, { session }: CallOptions) {
    this.#offer = offer;
    this.#lists = lists;
    this.#session = session ?? Object.freeze({ id: randomUUID() });
  }

  /** Why a call may not be made; undefined where it may. It never throws. */
  async refusal(entry: ToolEntry, input: unknown, { inTurn, inAll }: Counted): Promise<ToolkitError | undefined> {
    const { toolChoice, maxToolCallsPerTurn, maxTotalToolCalls } = this.#offer.policy;
    const { ref } = entry;
    if (toolChoice === "none") return denied(ref, "toolChoice", "no tool may be called in this run");
    if (maxToolCallsPerTurn !== undefined && inTurn >= maxToolCallsPerTurn) {
      const why = `at most ${maxToolCallsPerTurn} calls may be made in one turn; make it in the next one`;
      return denied(ref, "maxToolCallsPerTurn", why);
    }
    const isFree = this.#offer.tells?.(entry) === true;
    const listed = isFree ? undefined : this.#lists.refusal(ref);
    if (listed !== undefined) return denied(ref, listed);
    if (maxTotalToolCalls !== undefined && inAll >= maxTotalToolCalls) {
      const why = `all ${maxTotalToolCalls} calls of this conversation were made; answer with what you have`;
      return denied(ref, "maxTotalToolCalls", why);
    }
    return isFree ? undefined : this.#decided(entry, input);
  }

  async #decided(entry: ToolEntry, input: unknown): Promise<ToolkitError | undefined> {
    const { ref } = entry;
    let verdict: Verdict | undefined;
    try {
      verdict = await this.#offer.policy.decide?.({ entry, input, session: this.#session, depth: 0 });
    } catch (error) {
      return denied(ref, "decide", `whoever decides failed: ${messageOf(error)}`);
    }
    if (verdict === undefined || verdict === true) return undefined;
    if (verdict === false) return denied(ref, "decide");
    return "deny" in verdict
      ? denied(ref, "decide", verdict.deny)
      : denied(ref, "decide", `it needs approval: ${verdict.approve}`);
  }
}

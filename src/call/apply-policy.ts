import { ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import { denied, type PolicyRequest, type PolicyRules, type Ruling } from "../core/policy.ts";
import { andThen, type MaybePromise } from "../lib/promise.ts";
import { present } from "../lib/value.ts";
import type { CallState } from "./call-state.ts";
import { described, type Step } from "./step.ts";

/** Refuses what the policy of the toolkit does not let through, and notes which calls somebody must approve first. */
export function applyPolicy(rules: PolicyRules, action: "call" | "render"): Step {
  const step: Step = ({ entry }, next) => {
    const rule = rules.refusal(entry.ref);
    if (rule !== undefined) {
      return () => {
        throw denied(entry.ref, rule);
      };
    }
    if (!rules.decides) return next;
    return (call) => {
      const { input, state } = call;
      const ruling = rules.decide({ action, entry, input, session: state.session, depth: state.depth });
      return andThen(ruling, (ruled) => {
        follow(ruled, action, state);
        return next(call);
      });
    };
  };
  return described(
    ({ entry }) => present({ rule: rules.refusal(entry.ref), decide: rules.decides || undefined }),
    step,
  );
}

/**
 * The same for what is read.
 *
 * @throws ToolkitError `DENIED`, later where it is decided later
 */
export function permitRead(rules: PolicyRules, entry: Entry<"resource">, state: CallState): MaybePromise<void> {
  const rule = rules.refusal(entry.ref);
  if (rule !== undefined) throw denied(entry.ref, rule);
  if (!rules.decides) return undefined;
  const { session, depth } = state;
  const ruling = rules.decide({ action: "read", entry, input: undefined, session, depth });
  return andThen(ruling, (ruled) => follow(ruled, "read", state));
}

function follow(ruling: Ruling, action: PolicyRequest["action"], state: CallState): void {
  if (ruling === undefined) return;
  if (ToolkitError.is(ruling)) throw ruling;
  const { approve } = ruling;
  if (action === "call") state.approvalReason = approve;
  else throw denied(state.ref, "decide", { why: `it needs approval (${approve}), and only a call can be approved` });
}

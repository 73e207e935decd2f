import { ToolkitError } from "../core/error.ts";
import { denied, type PolicyRules, type Ruling } from "../core/policy.ts";
import { andThen } from "../lib/promise.ts";
import { wayOf } from "./call-way.ts";
import { described, type Step, type StepCall } from "./step.ts";

/**
 * Asks the `decide` of the toolkit's policy, with the input as it is repaired and not yet validated, and notes which calls must be
 * approved first.
 */
export function askPolicy(rules: PolicyRules): Step {
  return described(
    () => ({ decide: true }),
    (_target, next) => (call) => {
      const { verb, entry, input, state } = call;
      const action = verb === "subscribe" ? "read" : verb;
      const { session, depth } = state;
      const ruling = rules.decide({ action, entry, input, session, depth, via: wayOf(state) });
      return andThen(ruling, (ruled) => {
        follow(ruled, call);
        return next(call);
      });
    },
  );
}

function follow(ruling: Ruling, { verb, state }: StepCall): void {
  if (ruling === undefined) return;
  if (ToolkitError.is(ruling)) throw ruling;
  const { approve } = ruling;
  if (verb === "call") state.approvalReason = approve;
  else throw denied(state.ref, "decide", { why: `it needs approval (${approve}), and only a call can be approved` });
}

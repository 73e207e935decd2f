import { messageOf } from "../core/error.ts";
import { andThen, type MaybePromise, rescue } from "../lib/promise.ts";
import type { ApprovalPort } from "./approval-port.ts";
import { undecided } from "./approval-port.ts";
import { described, type Step, type StepCall, type Target } from "./step.ts";

/**
 * Has somebody approve a call that needs it: as the policy, the tool, or whoever calls says. What goes on is the copy of the input that was
 * approved, validated anew: nobody else can have changed it.
 */
export function approve(approvals: ApprovalPort, revalidate: Step): Step {
  const step: Step = (target, next) => {
    const reasonFor = toolReason(target);
    const again = revalidate(target, next);
    const asked = (call: StepCall, reason: string) =>
      approvals.pass(call, reason).then((input) => again(call.with({ input })));
    return (call) => {
      const { state } = call;
      const reason = state.approvalReason ?? state.options.needsApproval;
      if (reason !== undefined) return asked(call, reason);
      if (reasonFor === undefined) return next(call);
      return andThen(reasonFor(call), (own) => (own === undefined ? next(call) : asked(call, own)));
    };
  };
  return described(({ settings: { needsApproval = false } }) => ({ needsApproval }), step);
}

/** Why the tool itself wants a call approved; undefined where it never does. */
function toolReason({
  entry: { ref },
  settings: { needsApproval = false },
}: Target): ((call: StepCall) => MaybePromise<string | undefined>) | undefined {
  if (needsApproval === false) return undefined;
  const reason = `${ref} needs approval`;
  if (needsApproval === true) return () => reason;
  const failed = (cause: unknown) => undecided(ref, `its needsApproval failed: ${messageOf(cause)}`, cause);
  return ({ input, state }) =>
    andThen(
      rescue(() => needsApproval(input, state), failed),
      // What is no clear no is a yes.
      (needs) => (needs === false ? undefined : reason),
    );
}

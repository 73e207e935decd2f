import { messageOf } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import { andThen, type MaybePromise, rescue } from "../lib/promise.ts";
import { type ApprovalPort, undecided, usualReason } from "./approval-port.ts";
import { described, type Step, type StepCall, type Target } from "./step.ts";

type Callable = Entry<"tool" | "prompt">;

export interface RequireApprovalOptions {
  readonly approvals: ApprovalPort;
  /** The policy may ask for an approval of any call. */
  readonly decides: boolean;
  /** Validates the copy of the input that was approved. */
  readonly revalidate: Step;
}

/**
 * Has a call approved that needs it: as the policy, the tool, or the caller says. The copy of the input that was approved goes on: nothing
 * can have changed it meanwhile.
 */
export function requireApproval({ approvals, decides, revalidate }: RequireApprovalOptions): Step {
  return described(
    ({ settings: { needsApproval = false } }) => ({ needsApproval }),
    (target, next) => {
      const reasonFor = toolReason(target);
      if (target.isPlain && reasonFor === undefined && !decides) return next;
      const again = revalidate(target, next);
      const approved = (call: StepCall, reason: string) =>
        approvals
          .pass({ entry: call.entry as Callable, state: call.state, input: call.input }, reason)
          .then((input) => again(call.with({ input })));
      return (call) => {
        const { state } = call;
        const reason = state.approvalReason ?? state.options.needsApproval;
        if (reason !== undefined) return approved(call, reason);
        if (reasonFor === undefined) return next(call);
        return andThen(reasonFor(call), (own) => (own === undefined ? next(call) : approved(call, own)));
      };
    },
  );
}

/** The reason for which the tool itself wants a call approved; undefined where it never does. */
function toolReason({
  entry: { ref },
  settings: { needsApproval = false },
}: Target): ((call: StepCall) => MaybePromise<string | undefined>) | undefined {
  if (needsApproval === false) return undefined;
  const reason = usualReason(ref);
  if (needsApproval === true) return () => reason;
  const failed = (cause: unknown) => undecided(ref, `its needsApproval failed: ${messageOf(cause)}`, cause);
  return ({ input, context }) =>
    andThen(
      rescue(() => needsApproval(input, context), failed),
      // Anything but a clear no is a yes.
      (needs) => (needs === false ? undefined : reason),
    );
}

import { ToolkitError } from "../core/error.ts";
import { denied, type PolicyRequest, type PolicyRules, type Ruling } from "../core/policy.ts";
import { andThen } from "../lib/promise.ts";
import { wayOf } from "./call-way.ts";
import type { ReadCompletionRequest } from "./complete-argument.ts";
import { type Action, described, type Step, type StepCall } from "./step.ts";

/**
 * Asks the `decide` of the toolkit's policy, with the input as it is repaired and not yet validated, and notes which calls must be
 * approved first.
 */
export function askPolicy(rules: PolicyRules): Step {
  return described(
    () => ({ decide: true }),
    (_target, next) => (call) => {
      const { verb, entry, input, state } = call;
      const { session, depth } = state;
      const ruling = rules.decide({ ...askedOf(verb, entry, input), entry, session, depth, via: wayOf(state) });
      return andThen(ruling, (ruled) => {
        follow(ruled, call);
        return next(call);
      });
    },
  );
}

/** The action that a policy decides about, with its input: to subscribe and to complete a template is to read, to complete a prompt to render it. */
function askedOf(verb: Action, { kind }: StepCall["entry"], input: unknown): Pick<PolicyRequest, "action" | "input"> {
  if (verb === "subscribe") return { action: "read", input };
  if (verb !== "complete") return { action: verb, input };
  if (kind !== "prompt") return { action: "read", input: undefined };
  const { argument, value, arguments: others } = input as ReadCompletionRequest;
  return { action: "render", input: { ...others, [argument]: value } };
}

function follow(ruling: Ruling, { verb, state }: StepCall): void {
  if (ruling === undefined) return;
  if (ToolkitError.is(ruling)) throw ruling;
  const { approve } = ruling;
  if (verb === "call") state.approvalReason = approve;
  else throw denied(state.ref, "decide", { why: `it needs approval (${approve}), and only a call can be approved` });
}

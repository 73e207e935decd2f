import { ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import { denied, type PolicyRequest, type PolicyRules, type Ruling, ruleName } from "../core/policy.ts";
import { andThen, type MaybePromise } from "../lib/promise.ts";
import { present } from "../lib/value.ts";
import type { CallState } from "./call-state.ts";
import { described, type Step } from "./step.ts";

/** Refuses what the policy of the toolkit does not let through, and notes which calls must be approved first. */
export function applyPolicy(rules: PolicyRules, action: "call" | "render"): Step {
  const step: Step = ({ entry }, next) => {
    // The lists say the same each time, unless it depends on a name that may come to mean another item.
    const isOpen = rules.isOpen(entry);
    const rule = isOpen ? undefined : rules.refusal(entry);
    if (rule !== undefined) {
      return () => {
        throw denied(entry.ref, ruleName(rule));
      };
    }
    if (!rules.decides && !isOpen) return next;
    return (call) => {
      if (isOpen) assertPermitted(rules, entry);
      const { input, state } = call;
      const ruling = rules.decide({ action, entry, input, session: state.session, depth: state.depth });
      return andThen(ruling, (ruled) => {
        follow(ruled, action, state);
        return next(call);
      });
    };
  };
  const ruleFor = (entry: Entry<"tool" | "prompt">) => {
    const rule = rules.refusal(entry);
    return rule && ruleName(rule);
  };
  return described(({ entry }) => present({ rule: ruleFor(entry), decide: rules.decides || undefined }), step);
}

/**
 * The same for what is read.
 *
 * @throws ToolkitError `DENIED`, later where it is decided later
 */
export function permitRead(rules: PolicyRules, entry: Entry<"resource">, state: CallState): MaybePromise<void> {
  assertPermitted(rules, entry);
  if (!rules.decides) return undefined;
  const { session, depth } = state;
  const ruling = rules.decide({ action: "read", entry, input: undefined, session, depth });
  return andThen(ruling, (ruled) => follow(ruled, "read", state));
}

function assertPermitted(rules: PolicyRules, entry: Entry<"tool" | "prompt" | "resource">): void {
  const rule = rules.refusal(entry);
  if (rule !== undefined) throw denied(entry.ref, ruleName(rule));
}

function follow(ruling: Ruling, action: PolicyRequest["action"], state: CallState): void {
  if (ruling === undefined) return;
  if (ToolkitError.is(ruling)) throw ruling;
  const { approve } = ruling;
  if (action === "call") state.approvalReason = approve;
  else throw denied(state.ref, "decide", { why: `it needs approval (${approve}), and only a call can be approved` });
}

import { denied } from "../core/policy.ts";
import type { StoredPromptRules } from "../core/stored-prompt-rules.ts";
import { madeBy } from "./call-way.ts";
import { described, type Step } from "./step.ts";

const rule = "user.tools";

/** Refuses calls that a stored prompt of a principal makes of what the operator did not name for such prompts. */
export function capStoredPrompts(rules: StoredPromptRules): Step {
  return described(
    ({ entry }) => ({ allowed: rules.allow(entry) }),
    ({ entry, isPlain }, next) => {
      // A plain call is made by no other.
      if (isPlain) return next;
      return (call) => {
        const outer = madeBy(call.state);
        if (outer === undefined || rules.allowFor(outer, entry)) return next(call);
        const why = `the stored prompt ${outer.ref} belongs to a principal, and may call only what the option ${rule} names; to let the prompts of all principals call it: new Toolkit({ user: { tools: ["${entry.ref}"] } })`;
        throw denied(entry.ref, rule, { why });
      };
    },
  );
}

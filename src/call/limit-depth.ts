import { ToolkitError } from "../core/error.ts";
import { described, type Step } from "./step.ts";

/** Ends calls that call themselves without end: a call may be at most so deep inside others. */
export function limitDepth(maxDepth: number): Step {
  return described(
    () => ({ maxDepth }),
    ({ isPlain }, next) => {
      if (isPlain) return next;
      return (call) => {
        const { depth, ref } = call.state;
        if (depth <= maxDepth) return next(call);
        const { chain } = call.state;
        throw new ToolkitError(
          "DEPTH_EXCEEDED",
          `${ref} is ${depth} calls deep and ${maxDepth} are allowed: ${chain.join(" > ")}.`,
          { maxDepth, chain },
          { ref, phase: "policy" },
        );
      };
    },
  );
}

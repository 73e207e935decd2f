import { ToolkitError } from "../core/error.ts";
import { described, type Step } from "./step.ts";

/** Ends what calls itself without end: a call may be at most so deep inside others. */
export function limitDepth(maxDepth: number): Step {
  const step: Step = (_target, next) => (call) => {
    if (call.state.depth <= maxDepth) return next(call);
    const { chain } = call.state;
    throw new ToolkitError(
      "DEPTH_EXCEEDED",
      `${call.state.ref} is ${call.state.depth} calls deep and ${maxDepth} are allowed: ${chain.join(" > ")}.`,
      { maxDepth, chain },
      { ref: call.state.ref, phase: "policy" },
    );
  };
  return described(() => ({ maxDepth }), step);
}

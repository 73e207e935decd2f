import { ToolkitError } from "../core/error.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import type { SchemaReport } from "./checked-validator.ts";
import { inputParser } from "./input-parser.ts";
import { type Step, type StepCall, type Target, unparsed } from "./step.ts";

/** Validates the input before anything runs, unless that was done on the way, and keeps what `run` is to get. */
export function validateInput(report: SchemaReport): Step {
  return (target, next) => {
    const parse = inputParser(target, report);
    if (parse === undefined) {
      return (call) => {
        call.parsed = call.input;
        return next(call);
      };
    }
    const accept = (call: StepCall, parsed: unknown) => {
      if (parsed instanceof Violation) throw invalidInput(target, parsed);
      call.parsed = parsed;
      return next(call);
    };
    return (call) => {
      if (call.parsed !== unparsed) return next(call);
      const parsed = parse(call.input);
      return parsed instanceof Promise ? parsed.then((value) => accept(call, value)) : accept(call, parsed);
    };
  };
}

function invalidInput({ entry }: Target, { issues }: Violation): ToolkitError<"INVALID_INPUT"> {
  const message = `The input of ${entry.ref} does not fit, so it was not called: ${describeIssues(issues)}.`;
  return new ToolkitError("INVALID_INPUT", message, { issues }, { ref: entry.ref, phase: "validate" });
}

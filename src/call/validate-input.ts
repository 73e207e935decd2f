import { ToolkitError } from "../core/error.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import { inputValidator, type SchemaReport } from "./item-validator.ts";
import { type Step, type Target, unparsed } from "./step.ts";

/** Validates the input before anything runs, unless that was done on the way, and keeps the one that `run` is to get. */
export function validateInput(report: SchemaReport): Step {
  return (target, next) => {
    const validate = inputValidator(target, report);
    if (validate === undefined) {
      return (call) => {
        call.parsed = call.input;
        return next(call);
      };
    }
    return (call) => {
      if (call.parsed !== unparsed) return next(call);
      const parsed = validate(call.input);
      if (parsed instanceof Promise) return parsed.then((value) => next(call.as(accepted(value, target))));
      if (parsed instanceof Violation) throw invalidInput(target, parsed);
      call.parsed = parsed;
      return next(call);
    };
  };
}

function accepted(parsed: unknown, target: Target): unknown {
  if (parsed instanceof Violation) throw invalidInput(target, parsed);
  return parsed;
}

function invalidInput({ entry }: Target, { issues }: Violation): ToolkitError<"INVALID_INPUT"> {
  const message = `The input of ${entry.ref} does not fit, so it was not called: ${describeIssues(issues)}.`;
  return new ToolkitError("INVALID_INPUT", message, { issues }, { ref: entry.ref, phase: "validate" });
}

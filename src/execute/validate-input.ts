import { ToolkitError } from "../core/error.ts";
import { validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import { isRecord } from "../lib/value.ts";
import { checked, type SchemaReport } from "./checked.ts";
import type { Step, StepCall, Target } from "./step.ts";

/** Validates the input before anything runs, and keeps what `run` is to get. */
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
      const parsed = parse(call.input);
      return parsed instanceof Promise ? parsed.then((value) => accept(call, value)) : accept(call, parsed);
    };
  };
}

function inputParser(target: Target, report: SchemaReport) {
  const { inputSchema, input } = target.definition;
  if (inputSchema === undefined) return undefined;
  // The schema of a tool that has none is worth no validator. What validates by itself may want more than it writes down.
  if (inputSchema === input && Object.keys(inputSchema).length === 1 && inputSchema.type === "object") {
    return (value: unknown) =>
      isRecord(value) ? value : new Violation([{ pointer: "", message: "must be an object" }]);
  }
  return checked(validatorOf(inputSchema), target, report);
}

function invalidInput({ entry }: Target, { issues }: Violation): ToolkitError<"INVALID_INPUT"> {
  const message = `The input of ${entry.ref} does not fit, so it was not called: ${describeIssues(issues)}.`;
  return new ToolkitError("INVALID_INPUT", message, { issues }, { ref: entry.ref, phase: "validate" });
}

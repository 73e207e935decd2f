import { located, messageOf, ToolkitError } from "../core/error.ts";
import type { Phase } from "../core/error-catalog.ts";
import type { Entry } from "../core/item.ts";
import { type Validator, validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import { isRecord } from "../lib/value.ts";
import { type ActionResult, type Next, type Step, type StepCall, type Target, unparsed } from "./step.ts";

/** Is called for a remote schema that cannot be compiled, once for each entry and message. */
export type SchemaReport = (entry: Entry, message: string) => void;

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
      if (call.parsed !== unparsed && !(call.parsed instanceof Violation)) return next(call);
      const parsed = call.parsed === unparsed ? validate(call.input) : call.parsed;
      if (parsed instanceof Promise) return later(parsed, call, target, next);
      if (parsed instanceof Violation) throw invalidInput(target, parsed);
      call.parsed = parsed;
      return next(call);
    };
  };
}

function later(parsing: Promise<unknown>, call: StepCall, target: Target, next: Next): Promise<ActionResult> {
  return parsing.then((parsed) => {
    if (parsed instanceof Violation) throw invalidInput(target, parsed);
    return next(call.as(parsed));
  });
}

function invalidInput({ entry }: Target, { issues }: Violation): ToolkitError<"INVALID_INPUT"> {
  const message = `The input of ${entry.ref} does not fit, so it was not called: ${describeIssues(issues)}.`;
  return new ToolkitError("INVALID_INPUT", message, { issues }, { ref: entry.ref, phase: "validate" });
}

/**
 * The validator of the input of a target: it gives what `run` is to get, or a Violation; later, where the schema is asynchronous or its
 * validator is not loaded. Undefined where any input fits.
 */
export function inputValidator(target: Target, report: SchemaReport): Validator | undefined {
  const { inputSchema, input, origin } = target.definition;
  if (inputSchema === undefined) return undefined;
  // The schema of a tool that has none is worth no validator. One that validates by itself may want more than it writes down.
  if (inputSchema === input && Object.keys(inputSchema).length === 1 && inputSchema.type === "object") {
    return (value) => (isRecord(value) ? value : new Violation([{ pointer: "", message: "must be an object" }]));
  }
  return checkedValidator(validatorOf(inputSchema, { trusted: origin === "local" }), target, report);
}

/**
 * A validator for a schema that may not compile: a remote one is left out and reported, for one odd schema must not take a tool away; the
 * user's own is an error.
 *
 * @returns a validator that throws ToolkitError `LIMIT_EXCEEDED` for a value whose validation takes too long
 */
export function checkedValidator(
  validate: Validator,
  target: Target,
  report: SchemaReport,
  phase: Phase = "validate",
): Validator {
  let skipped = false;
  const failed = (value: unknown, cause: unknown) => {
    const { ref } = target.entry;
    // Of this value alone: the schema is used for others.
    if (ToolkitError.is(cause, "LIMIT_EXCEEDED")) throw located(cause, ref, phase);
    const message = `The schema of ${ref} cannot be compiled, or its validation throws: ${messageOf(cause)}`;
    if (target.definition.origin === "local") {
      throw new ToolkitError("INVALID_SCHEMA", message, { pointer: "" }, { cause, ref, phase: "validate" });
    }
    if (!skipped) report(target.entry, message);
    skipped = true;
    return value;
  };
  return (value) => {
    if (skipped) return value;
    try {
      const result = validate(value);
      return result instanceof Promise ? result.catch((cause) => failed(value, cause)) : result;
    } catch (cause) {
      return failed(value, cause);
    }
  };
}

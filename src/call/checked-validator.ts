import { messageOf, ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import type { Validator } from "../core/schema/validator.ts";
import type { Target } from "./step.ts";

/** Hears of a remote schema that cannot be compiled, once for each entry and message. */
export type SchemaReport = (entry: Entry, message: string) => void;

/**
 * A validator that knows what to do with a schema that cannot be compiled: a remote one is left out and reported, for one odd schema
 * must not take a tool away; the user's own is an error.
 */
export function checkedValidator(validate: Validator, target: Target, report: SchemaReport): Validator {
  let skipped = false;
  const failed = (value: unknown, cause: unknown) => {
    const { ref } = target.entry;
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

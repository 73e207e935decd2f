import { validatorOf } from "../core/schema/validator.ts";
import { Violation } from "../core/schema/violation.ts";
import { isRecord } from "../lib/value.ts";
import { checkedValidator, type SchemaReport } from "./checked-validator.ts";
import type { Target } from "./step.ts";

/** Gives what `run` is to get of an input, or a Violation; later, where the schema is asynchronous or its validator is not loaded. */
export type InputParser = (input: unknown) => unknown;

/** What reads the input of a target; undefined where it takes anything. */
export function inputParser(target: Target, report: SchemaReport): InputParser | undefined {
  const { inputSchema, input, origin } = target.definition;
  if (inputSchema === undefined) return undefined;
  // The schema of a tool that has none is worth no validator. What validates by itself may want more than it writes down.
  if (inputSchema === input && Object.keys(inputSchema).length === 1 && inputSchema.type === "object") {
    return (value) => (isRecord(value) ? value : new Violation([{ pointer: "", message: "must be an object" }]));
  }
  return checkedValidator(validatorOf(inputSchema, { trusted: origin === "local" }), target, report);
}

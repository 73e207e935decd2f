import { ToolkitError } from "../../error.ts";
import { maxSchemaSize, sizeOf } from "../size.ts";
import type { JsonSchema } from "../types.ts";
import { Violation } from "../violation.ts";
import { SchemaDocument } from "./schema-document.ts";
import { EnoughIssues, Run, type SchemaNode } from "./schema-node.ts";
import { assertDepth, ValidationWork } from "./validation-work.ts";

/**
 * A validator by a JSON Schema (2020-12, draft-07) of a stranger: nothing is compiled, and the number of steps is bounded whatever the
 * schema and the value. A schema that is referred to many times is applied to a value once. It gives the value, or a Violation with the
 * first issues.
 *
 * @param options - `maxMessage`: longer messages are cut, in characters: they quote the schema
 * @returns a validator that throws ToolkitError `LIMIT_EXCEEDED` for a value that takes too long, and Error for a schema that cannot be
 *   used, such as for a reference that leads nowhere
 * @throws Error for a schema that is too large or nested too deep, or names itself by what is no URI
 */
export function interpret(schema: JsonSchema, { maxMessage = 500 } = {}): (value: unknown) => unknown {
  const { root } = documentOf(schema);
  return (value) => {
    const run = new Run(new ValidationWork(value), maxMessage);
    try {
      return root.applyOnce(value, run, undefined, undefined) ? value : violation(root, value, run);
    } catch (error) {
      // The stack may be nearly full already where the validation begins.
      if (error instanceof RangeError) assertDepth(Number.POSITIVE_INFINITY);
      throw error;
    }
  };
}

/** Checks every part of a schema, also those that few values come to. @throws Error for the first that cannot be used */
export function assertUsable(schema: JsonSchema): void {
  documentOf(schema).prepareAll();
}

function documentOf(schema: JsonSchema): SchemaDocument {
  if (sizeOf(schema, maxSchemaSize + 1) > maxSchemaSize)
    throw new Error(`The schema has more than ${maxSchemaSize} values: make it smaller`);
  return new SchemaDocument(schema);
}

function violation(root: SchemaNode, value: unknown, run: Run): Violation {
  run.work.restart();
  try {
    root.apply(value, run, { key: "" }, undefined);
  } catch (error) {
    const isEnough = error instanceof EnoughIssues || ToolkitError.is(error, "LIMIT_EXCEEDED");
    if (!isEnough) throw error;
  }
  return new Violation(run.issues.length > 0 ? run.issues : [{ pointer: "", message: "does not fit the schema" }]);
}

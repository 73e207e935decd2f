import { ToolkitError } from "../../error.ts";
import type { JsonSchema } from "../types.ts";
import { Violation } from "../violation.ts";
import { type Matchers, SchemaDocument } from "./schema-document.ts";
import { EnoughIssues, Run } from "./schema-node.ts";
import { workFor } from "./validation-work.ts";

/**
 * Validates values by a JSON Schema (2020-12, draft-07) without compiling it, in a number of steps that is bounded whatever the schema and
 * the value: a schema that is referred to many times is applied to a value once.
 */
export class Interpreter {
  readonly #document: SchemaDocument;

  /** @throws Error for a schema that is nested too deep, or names itself by what is no URI */
  constructor(schema: JsonSchema, matchers: Matchers) {
    this.#document = new SchemaDocument(schema, matchers);
  }

  /**
   * The value, or a Violation with the first issues.
   *
   * @throws ToolkitError `LIMIT_EXCEEDED`; Error for a schema that cannot be used, such as for a reference that leads nowhere
   */
  validate(value: unknown): unknown {
    const run = new Run(workFor(value));
    return this.#document.root.applyOnce(value, run, undefined, undefined) ? value : this.#violation(value, run);
  }

  #violation(value: unknown, run: Run): Violation {
    try {
      this.#document.root.apply(value, run, { key: "" }, undefined);
    } catch (error) {
      const isEnough = error instanceof EnoughIssues || ToolkitError.is(error, "LIMIT_EXCEEDED");
      if (!isEnough) throw error;
    }
    return new Violation(run.issues.length > 0 ? run.issues : [{ pointer: "", message: "does not fit the schema" }]);
  }
}

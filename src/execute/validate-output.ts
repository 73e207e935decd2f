import { ToolkitError } from "../core/error.ts";
import type { Issue } from "../core/error-catalog.ts";
import type { Content } from "../core/resource.ts";
import { isTypedSchema } from "../core/schema/types.ts";
import { validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import { type Awaitable, andThen, rescue } from "../lib/promise.ts";
import { isEmptyContent, jsonContent } from "../resource/content.ts";
import { jsonValueOf } from "../resource/normalise.ts";
import { toCallError } from "./call-error.ts";
import { checked, type SchemaReport } from "./checked.ts";
import type { Receive, Target } from "./step.ts";

/** Validates the result where there is an output schema; defaults and transforms of a Standard Schema apply. */
export function validateOutput(target: Target, normalised: Receive, report: SchemaReport): Receive {
  const { outputSchema, name } = target.definition;
  if (outputSchema === undefined) return normalised;
  const validate = checked(validatorOf(outputSchema), target, report);
  const transforms = isTypedSchema(outputSchema);
  const accept = (content: Content, value: unknown, parsed: unknown): Content => {
    if (parsed instanceof Violation) throw invalidOutput(target, parsed.issues);
    return transforms && parsed !== value ? jsonContent(parsed, { name }) : content;
  };
  const check = (content: Content): Awaitable<Content> => {
    if (isEmptyContent(content)) throw invalidOutput(target, [{ pointer: "", message: "it gave nothing" }]);
    return andThen(jsonValueOf(content), (value) =>
      andThen(validate(value), (parsed) => accept(content, value, parsed)),
    );
  };
  const failed = toCallError(target.entry.ref, "result");
  return (value, state) => andThen(normalised(value, state), (content) => rescue(() => check(content), failed));
}

function invalidOutput({ entry }: Target, issues: readonly Issue[]): ToolkitError<"INVALID_OUTPUT"> {
  const message = `The result of ${entry.ref} does not fit its output schema: ${describeIssues(issues)}.`;
  return new ToolkitError("INVALID_OUTPUT", message, { issues }, { ref: entry.ref, phase: "result" });
}

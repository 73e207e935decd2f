import { ToolkitError } from "../core/error.ts";
import type { Issue } from "../core/error-catalog.ts";
import type { Content } from "../core/resource.ts";
import { isTypedSchema } from "../core/schema/types.ts";
import { validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { isEmptyContent, jsonContent } from "../resource/content.ts";
import { jsonValueOf } from "../resource/normalise.ts";
import { toCallError } from "./call-error.ts";
import type { Receive, Target } from "./step.ts";
import { checkedValidator, type SchemaReport } from "./validate-input.ts";

/** Validates the result where there is an output schema; defaults and transforms of a Standard Schema apply. */
export function validateOutput(target: Target, normalised: Receive<Content>, report: SchemaReport): Receive<Content> {
  const { outputSchema, name, origin } = target.definition;
  if (outputSchema === undefined) return normalised;
  const validate = checkedValidator(
    validatorOf(outputSchema, { trusted: origin === "local" }),
    target,
    report,
    "result",
  );
  const transforms = isTypedSchema(outputSchema);
  const accept = (content: Content, value: unknown, parsed: unknown): Content => {
    if (parsed instanceof Violation) throw invalidOutput(target, parsed.issues);
    return transforms && parsed !== value ? jsonContent(parsed, { name, meta: content.meta }) : content;
  };
  const failed = toCallError(target.entry.ref, "result");
  const acceptLater = async (content: Content, value: unknown, parsing: Promise<unknown>): Promise<Content> => {
    try {
      return accept(content, value, await parsing);
    } catch (thrown) {
      throw failed(thrown);
    }
  };
  const checkValue = (content: Content, value: unknown): MaybePromise<Content> => {
    const parsed = validate(value);
    return parsed instanceof Promise ? acceptLater(content, value, parsed) : accept(content, value, parsed);
  };
  const checkLater = async (content: Content, loading: Promise<unknown>): Promise<Content> => {
    try {
      return await checkValue(content, await loading);
    } catch (thrown) {
      throw failed(thrown);
    }
  };
  const check = (content: Content): MaybePromise<Content> => {
    try {
      if (isEmptyContent(content)) throw invalidOutput(target, [{ pointer: "", message: "it gave nothing" }]);
      const value = jsonValueOf(content, !transforms);
      return value instanceof Promise ? checkLater(content, value) : checkValue(content, value);
    } catch (thrown) {
      throw failed(thrown);
    }
  };
  return (value, state) => {
    const content = normalised(value, state);
    return content instanceof Promise ? content.then(check) : check(content);
  };
}

function invalidOutput({ entry }: Target, issues: readonly Issue[]): ToolkitError<"INVALID_OUTPUT"> {
  const message = `The result of ${entry.ref} does not fit its output schema: ${describeIssues(issues)}.`;
  return new ToolkitError("INVALID_OUTPUT", message, { issues }, { ref: entry.ref, phase: "result" });
}

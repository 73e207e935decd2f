import { findSchemaProblem } from "../../core/schema/check.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { stepsOf } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import type { Losses } from "./projection.ts";

/** What has more slips than this is no schema. */
const maxSlips = 100;

/** The schema without what makes it none: schemas of servers are taken as they are, and providers refuse such a request as a whole. */
export function wellFormed(schema: JsonSchema, losses: Losses): JsonSchema {
  let document: unknown = schema;
  for (let slips = 0; slips < maxSlips; slips += 1) {
    const problem = findSchemaProblem(document);
    if (problem === undefined) return document as JsonSchema;
    losses.add(problem.pointer, `is left out: ${problem.message}`);
    if (problem.pointer === "") break;
    document = without(document, stepsOf(problem.pointer));
  }
  return { type: "object" };
}

/** A copy without what is at a place. */
function without(value: unknown, [step, ...rest]: readonly string[]): unknown {
  const isLast = rest.length === 0;
  if (Array.isArray(value)) {
    return value.flatMap((each, index) => (String(index) !== step ? [each] : isLast ? [] : [without(each, rest)]));
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) =>
      key !== step ? [[key, each]] : isLast ? [] : [[key, without(each, rest)]],
    ),
  );
}

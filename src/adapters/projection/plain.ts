import { mapChildren } from "../../core/schema/children.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { listOf } from "../../core/schema/union-branches.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { follow } from "./follow.ts";
import { MemberNames } from "./member-names.ts";
import { objectRoot } from "./object-root.ts";
import { Losses, type Projection } from "./projection.ts";
import { wellFormed } from "./well-formed.ts";

/** What tells a validator about the document, and a model nothing. */
const unsaid = new Set("$schema $id id $anchor $vocabulary $dynamicAnchor $recursiveAnchor $comment".split(" "));
const outside = new Set(["$dynamicRef", "$recursiveRef"]);

/** Any name is taken. */
export const anyName = /^/;

/**
 * A schema as every provider takes it that takes JSON Schema: well formed, of draft 2020-12, with an object at the top that says its
 * members itself, references that lead somewhere, and lists that say what is in them.
 *
 * @param allowed - the names a provider takes for members
 */
export function plainProjection(schema: JsonSchema, allowed: RegExp): Projection {
  const losses = new Losses();
  const document = objectRoot(wellFormed(schema, losses), losses);
  const names = new MemberNames(document, allowed);
  const rewrite = (value: unknown, pointer: string): unknown =>
    isRecord(value) ? named(mapChildren(ofDraft2020(value), pointer, rewrite), names, pointer, losses) : value;
  const rewritten = rewrite(document, "") as JsonSchema;
  const lead = (value: unknown, pointer: string): unknown =>
    isRecord(value) ? leading(mapChildren(value, pointer, lead), rewritten, pointer, losses) : value;
  const { properties = {}, ...rest } = lead(rewritten, "") as JsonSchema;
  return Object.freeze({
    schema: Object.freeze({ ...rest, properties }),
    lost: losses.all(),
    restore: (input: unknown) => names.restore(input),
  });
}

/** A list of items is that of draft-07; a list that says nothing of its items is refused by some. */
function ofDraft2020(schema: JsonSchema): JsonSchema {
  const { items, additionalItems, ...rest } = schema;
  if (Array.isArray(items)) return { ...rest, prefixItems: items, items: additionalItems ?? {} };
  const isList = [schema.type].flat().includes("array");
  return items === undefined && !isList ? rest : { ...rest, items: items ?? {} };
}

/** Without references that lead nowhere, and what is said to validators alone. */
function leading(schema: JsonSchema, document: JsonSchema, pointer: string, losses: Losses): JsonSchema {
  const entries = Object.entries(schema).filter(([keyword, value]) => {
    if (value === undefined || unsaid.has(keyword)) return false;
    const leads = keyword !== "$ref" || follow(document, value) !== undefined;
    if (leads && !outside.has(keyword)) return true;
    losses.add(pointerTo(pointer, keyword), "is left out: it leads outside what a model is told");
    return false;
  });
  return Object.fromEntries(entries);
}

function named(schema: JsonSchema, names: MemberNames, pointer: string, losses: Losses): JsonSchema {
  const { properties, required, dependentRequired } = schema;
  if (!isRecord(properties)) return schema;
  const renamed: [string, unknown][] = Object.entries(properties).map(([name, member]) => {
    const given = names.nameOf(name);
    if (given !== name) losses.add(pointerTo(pointerTo(pointer, "properties"), name), `is called ${given} there`);
    return [given, member];
  });
  const list = (value: unknown) => listOf(value).map((name) => names.nameOf(String(name)));
  return {
    ...schema,
    properties: Object.fromEntries(renamed),
    ...(Array.isArray(required) ? { required: [...new Set(list(required))] } : {}),
    ...(isRecord(dependentRequired)
      ? {
          dependentRequired: Object.fromEntries(
            Object.entries(dependentRequired).map(([name, needed]) => [names.nameOf(name), list(needed)]),
          ),
        }
      : {}),
  };
}

import { findSchemaProblem } from "../../core/schema/check.ts";
import { mapChildren } from "../../core/schema/children.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { listOf } from "../../core/schema/union-branches.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { MemberNames } from "./member-names.ts";
import { objectRoot } from "./object-root.ts";
import { Losses, type Projection, remembered } from "./projection.ts";
import { follow } from "./resolve-schema.ts";

/** Keywords for validators, which mean nothing to a model. */
const unsaid = new Set("$schema $id id $anchor $vocabulary $dynamicAnchor $recursiveAnchor $comment".split(" "));
/** Keywords without schemas in them that every provider accepts. */
const accepted = new Set([
  ..."type title description default examples format pattern enum const deprecated uniqueItems".split(" "),
  ..."minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength".split(" "),
  ..."minItems maxItems minProperties maxProperties".split(" "),
]);
const outside = new Set(["$dynamicRef", "$recursiveRef"]);

/** Accepts every property name. */
export const anyName = /^/;
/** The property names that Anthropic accepts. */
const anthropicName = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * A schema as Anthropic accepts it: JSON Schema of draft 2020-12, with an object at the top without `anyOf`, `oneOf` or `allOf`, and
 * properties whose names match `^[a-zA-Z0-9_.-]{1,64}$`. One schema that breaks these rules fails the whole request.
 *
 * @see https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use
 * @see https://github.com/anthropics/claude-code/issues/40075 the top
 * @see https://github.com/anthropics/claude-code/issues/79418 the names
 */
export const anthropicProjection = remembered(
  (schema) => plainProjection(schema, anthropicName),
  (plain) => plain,
);

/**
 * A schema as every provider of JSON Schema accepts it: well formed, of draft 2020-12, with an object at the top that lists its
 * properties itself, references that resolve, and arrays that describe their items.
 *
 * @param allowed - the property names that the provider accepts
 */
export function plainProjection(schema: JsonSchema, allowed: RegExp): Projection {
  if (isAcceptedRoot(schema, allowed)) {
    // A copy: what is sent is the provider's own.
    const copy = JSON.parse(JSON.stringify(schema)) as JsonSchema;
    return Object.freeze({ schema: Object.freeze(copy), lost: nothing, restore: asGiven });
  }
  const losses = new Losses();
  const document = objectRoot(schema, losses);
  const names = new MemberNames(document, allowed);
  const rewrite = (value: unknown, pointer: string): unknown =>
    isRecord(value) ? renamed(mapChildren(ofDraft2020(value), pointer, rewrite), names, pointer, losses) : value;
  const rewritten = rewrite(document, "") as JsonSchema;
  const lead = (value: unknown, pointer: string): unknown =>
    isRecord(value) ? resolvable(mapChildren(value, pointer, lead), rewritten, pointer, losses) : value;
  const { properties = {}, ...rest } = lead(rewritten, "") as JsonSchema;
  return Object.freeze({
    schema: Object.freeze({ ...rest, properties }),
    lost: losses.all(),
    restore: (input: unknown) => names.restore(input),
  });
}

const nothing: Projection["lost"] = Object.freeze([]);
const asGiven: Projection["restore"] = (input) => input;

/** True for a schema that needs no change, as most do. */
function isAcceptedRoot(schema: JsonSchema, allowed: RegExp): boolean {
  const { type, properties, enum: choices, const: only } = schema;
  const isObject = type === "object" && properties !== undefined && choices === undefined && only === undefined;
  return isObject && findSchemaProblem(schema) === undefined && isAccepted(schema, allowed);
}

/** The same of a well-formed schema inside it. */
function isAccepted(schema: unknown, allowed: RegExp): boolean {
  if (!isRecord(schema)) return true;
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "properties") {
      for (const [name, member] of Object.entries(isRecord(value) ? value : {}))
        if (!allowed.test(name) || !isAccepted(member, allowed)) return false;
    } else if (keyword === "required" && Array.isArray(value)) {
      const names = new Set<string>(value);
      for (const name of names) if (!allowed.test(name)) return false;
      if (names.size < value.length) return false;
    } else if (keyword === "items" || keyword === "additionalProperties") {
      if (Array.isArray(value) || !isAccepted(value, allowed)) return false;
    } else if (value === undefined || !accepted.has(keyword)) return false;
  }
  return schema.items !== undefined || ![schema.type].flat().includes("array");
}

/** A tuple in `items` is that of draft-07, and some providers refuse an array without `items`. */
function ofDraft2020(schema: JsonSchema): JsonSchema {
  const { items, additionalItems, ...rest } = schema;
  if (Array.isArray(items)) return { ...rest, prefixItems: items, items: additionalItems ?? {} };
  const isArray = [schema.type].flat().includes("array");
  return items === undefined && !isArray ? rest : { ...rest, items: items ?? {} };
}

/** Without references that do not resolve and keywords for validators. */
function resolvable(schema: JsonSchema, document: JsonSchema, pointer: string, losses: Losses): JsonSchema {
  const entries = Object.entries(schema).filter(([keyword, value]) => {
    if (value === undefined || unsaid.has(keyword)) return false;
    const leads = keyword !== "$ref" || follow(document, value) !== undefined;
    if (leads && !outside.has(keyword)) return true;
    losses.add(pointerTo(pointer, keyword), "is left out: it does not point into this schema");
    return false;
  });
  return Object.fromEntries(entries);
}

function renamed(schema: JsonSchema, names: MemberNames, pointer: string, losses: Losses): JsonSchema {
  const { properties, required, dependentRequired } = schema;
  if (!isRecord(properties)) return schema;
  const members: [string, unknown][] = Object.entries(properties).map(([name, member]) => {
    const given = names.nameOf(name);
    if (given !== name) losses.add(pointerTo(pointerTo(pointer, "properties"), name), `is renamed to ${given}`);
    return [given, member];
  });
  const list = (value: unknown) => listOf(value).map((name) => names.nameOf(String(name)));
  return {
    ...schema,
    properties: Object.fromEntries(members),
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

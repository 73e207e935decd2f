import { findSchemaProblem } from "../../core/schema/check.ts";
import { maxSchemaSize, sizeOf } from "../../core/schema/size.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { listOf } from "../../core/schema/union-branches.ts";
import { stepsOf } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import type { Losses } from "./projection.ts";
import { followed, mergeAll } from "./resolve-schema.ts";

/** Keywords that no provider accepts at the top: the root must be an object that lists its properties itself. */
const refusedAtTop = ["enum", "const", "not", "if", "then", "else"] as const;
/** A document with more problems than this is taken for no schema at all. */
const maxProblems = 100;
/** And so is one that is searched for them for longer than this, in values. */
const maxSearched = 500_000;

/**
 * The schema, well formed, as an object that lists its properties itself: a reference is followed, `allOf` is merged, and alternatives
 * become one object that has the properties of all and requires those that all require.
 */
export function objectRoot(schema: JsonSchema, losses: Losses): JsonSchema {
  const document = wellFormed(schema, losses);
  const { allOf, ...whole } = followed(document, document, losses);
  const parts = listOf(allOf)
    .filter(isRecord)
    .map((part) => followed(document, part, losses));
  const joined = parts.length === 0 ? whole : mergeAll([whole, ...parts], losses);
  if (joined === undefined)
    losses.add("/allOf", "is reduced to its properties: its parts cannot be merged into one schema");
  const root: Record<string, unknown> = { ...(joined ?? withMembersOf(whole, [parts], losses)) };
  const lists = ["anyOf", "oneOf"].map((keyword) => {
    const list = listOf(root[keyword]).filter(isRecord);
    if (list.length > 0) losses.add(`/${keyword}`, "becomes one object with the properties of all alternatives");
    delete root[keyword];
    return list.map((branch) => followed(document, branch, losses));
  });
  delete root.allOf;
  for (const keyword of refusedAtTop) {
    if (root[keyword] === undefined) continue;
    losses.add(`/${keyword}`, "is left out: it is not allowed at the top");
    delete root[keyword];
  }
  return { ...withMembersOf(root, lists, losses), type: "object" };
}

/** The object with the properties of alternatives added, requiring only those that every alternative requires. */
function withMembersOf(root: JsonSchema, lists: readonly (readonly JsonSchema[])[], losses: Losses): JsonSchema {
  const alternatives = lists.filter((list) => list.length > 0);
  if (alternatives.length === 0) return root;
  const found = new Map<string, unknown[]>();
  for (const schema of [root, ...alternatives.flat()]) {
    losses.takeFor(schema.properties, schema.required);
    for (const [name, member] of Object.entries(isRecord(schema.properties) ? schema.properties : {}))
      found.set(name, [...(found.get(name) ?? []), member]);
  }
  const properties = Object.fromEntries([...found].map(([name, members]) => [name, either(members)]));
  const required = new Set(listOf(root.required));
  for (const list of alternatives) {
    const [first, ...others] = list.map((branch) => new Set(listOf(branch.required)));
    for (const name of first ?? []) if (others.every((other) => other.has(name))) required.add(name);
  }
  const description = [root.description, ...alternatives.map(inWords)].filter((text) => text !== undefined).join(" ");
  const isOpen = alternatives.flat().some((branch) => branch.properties !== undefined);
  const { additionalProperties, ...rest } = root;
  return {
    ...rest,
    ...(description === "" ? {} : { description }),
    // A closed root would now refuse properties that only its alternatives list.
    ...(additionalProperties === undefined || (additionalProperties === false && isOpen)
      ? {}
      : { additionalProperties }),
    properties,
    ...(required.size === 0 ? {} : { required: [...required] }),
  };
}

function either(members: readonly unknown[]): unknown {
  const distinct = [...new Map(members.map((member) => [JSON.stringify(member), member])).values()];
  return distinct.length === 1 ? distinct[0] : { anyOf: distinct };
}

/** The sets of properties that alternatives require, as a sentence for the description. */
function inWords(list: readonly JsonSchema[]): string | undefined {
  const sets = list.map(({ required }) => listOf(required).join(", ")).filter((names) => names !== "");
  return sets.length < 2 ? undefined : `Give one of these: ${[...new Set(sets)].join("; ")}.`;
}

/**
 * The schema without the parts that are not valid JSON Schema. Schemas of servers arrive unchecked, and a provider refuses the whole
 * request for one bad part.
 */
function wellFormed(schema: JsonSchema, losses: Losses): JsonSchema {
  let document: unknown = schema;
  const size = sizeOf(schema, maxSchemaSize + 1);
  if (size > maxSchemaSize) {
    losses.add("", `is left out: it has more than ${maxSchemaSize} values`);
    return { type: "object" };
  }
  for (let problems = 0; problems < Math.min(maxProblems, maxSearched / size); problems += 1) {
    const problem = findSchemaProblem(document);
    if (problem === undefined) return document as JsonSchema;
    losses.add(problem.pointer, `is left out: ${problem.message}`);
    if (problem.pointer === "") break;
    document = without(document, stepsOf(problem.pointer));
  }
  return { type: "object" };
}

/** A copy without the value at a path. */
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

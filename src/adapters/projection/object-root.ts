import type { JsonSchema } from "../../core/schema/types.ts";
import { listOf } from "../../core/schema/union-branches.ts";
import { isRecord } from "../../lib/value.ts";
import { followed } from "./follow.ts";
import { mergeAll } from "./merge.ts";
import type { Losses } from "./projection.ts";

/** What no provider takes at the top: the root must be an object, and say its members itself. */
const refusedAtTop = ["enum", "const", "not", "if", "then", "else"] as const;

/**
 * The schema as an object that says its members itself: a reference is followed, `allOf` is joined, and of alternatives an object is made
 * that has the members of all and requires what all require.
 */
export function objectRoot(document: JsonSchema, losses: Losses): JsonSchema {
  const { allOf, ...whole } = followed(document, document);
  const parts = listOf(allOf)
    .filter(isRecord)
    .map((part) => followed(document, part));
  const joined = mergeAll([whole, ...parts]);
  if (joined === undefined) losses.add("/allOf", "is told by its members alone: it says what cannot be said in one");
  const root: Record<string, unknown> = { ...(joined ?? withMembersOf(whole, [parts])) };
  const lists = ["anyOf", "oneOf"].map((keyword) => {
    const list = listOf(root[keyword]).filter(isRecord);
    if (list.length > 0)
      losses.add(`/${keyword}`, "the top is told as one object with the members of all alternatives");
    delete root[keyword];
    return list.map((branch) => followed(document, branch));
  });
  delete root.allOf;
  for (const keyword of refusedAtTop) {
    if (root[keyword] === undefined) continue;
    losses.add(`/${keyword}`, "is left out: it cannot stand at the top");
    delete root[keyword];
  }
  return { ...withMembersOf(root, lists), type: "object" };
}

/** An object with the members of alternatives beside its own, and what is required in any case. */
function withMembersOf(root: JsonSchema, lists: readonly (readonly JsonSchema[])[]): JsonSchema {
  const alternatives = lists.filter((list) => list.length > 0);
  if (alternatives.length === 0) return root;
  const found = new Map<string, unknown[]>();
  for (const schema of [root, ...alternatives.flat()]) {
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
    // What forbids the members of its own alternatives forbids too much here.
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

/** Which members go together, as far as the alternatives say. */
function inWords(list: readonly JsonSchema[]): string | undefined {
  const sets = list.map(({ required }) => listOf(required).join(", ")).filter((names) => names !== "");
  return sets.length < 2 ? undefined : `Give one of these: ${[...new Set(sets)].join("; ")}.`;
}

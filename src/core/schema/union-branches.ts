import { resolveReference } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { toPattern } from "./check.ts";
import type { JsonSchema } from "./types.ts";

/** One way to fit a schema: what all these say of the value must hold. Of a union there are several. */
export type UnionBranch = readonly JsonSchema[];

/** A schema with more branches than this is too wide to decide anything by it. */
const maxWays = 64;
/** And so is one of which a branch joins more schemas than this. */
const maxJoined = 64;
/** A chain of schemas inside each other, and of references, that is longer than this is not followed. */
const maxDepth = 200;
/** It is not known what is wanted: anything may be. */
const anything: readonly UnionBranch[] = [[]];

/** Finds the union branches of the schemas of one document: references are followed, `allOf` is joined, `anyOf` and `oneOf` are split. */
export class UnionBranches {
  readonly #root: JsonSchema;
  readonly #patterns: boolean;
  /** Each schema is read once, however many references lead to it. */
  readonly #known = new Map<unknown, readonly UnionBranch[]>();

  /** @param options - `patterns`: whether to match names with patterns; never with those of strangers, which may take for ever */
  constructor(root: JsonSchema, { patterns = false }: { readonly patterns?: boolean | undefined } = {}) {
    this.#root = root;
    this.#patterns = patterns;
  }

  /** The ways to fit the whole document. */
  get whole(): readonly UnionBranch[] {
    return this.#of(this.#root, 0);
  }

  /** The ways for a member of what is to fit one way. */
  ofMember(way: UnionBranch, container: unknown, key: string): readonly UnionBranch[] {
    const schemas = way.flatMap((schema) => memberSchemas(schema, container, key, this.#patterns));
    return joined(schemas.map((schema) => this.#of(schema, 0)));
  }

  /** The ways for the one entry of a list that was made of a bare value. */
  ofFirst(way: UnionBranch): readonly UnionBranch[] {
    return this.ofMember(way, [], "0");
  }

  #of(schema: unknown, depth: number): readonly UnionBranch[] {
    if (schema === false) return [];
    if (!isRecord(schema) || depth > maxDepth) return anything;
    let branches = this.#known.get(schema);
    if (branches === undefined) {
      // One that leads to itself says nothing more by that.
      this.#known.set(schema, anything);
      branches = this.#branchesOf(schema, depth);
      this.#known.set(schema, branches);
    }
    return branches;
  }

  #branchesOf(schema: JsonSchema, depth: number): readonly UnionBranch[] {
    const { $ref, allOf, anyOf, oneOf } = schema;
    const parts: (readonly UnionBranch[])[] = [[[schema]]];
    if ($ref !== undefined) parts.push(this.#of(this.#target($ref), depth + 1));
    for (const part of listOf(allOf)) parts.push(this.#of(part, depth + 1));
    for (const union of [anyOf, oneOf]) {
      if (Array.isArray(union)) parts.push(union.flatMap((branch) => this.#of(branch, depth + 1)));
    }
    return joined(parts);
  }

  #target(reference: unknown): unknown {
    if (reference === "#") return this.#root;
    const local = typeof reference === "string" && reference.startsWith("#/");
    return local ? resolveReference(this.#root, reference) : undefined;
  }
}

/** The schemas that a schema has for a member. */
function memberSchemas(schema: JsonSchema, container: unknown, key: string, patterns: boolean): readonly unknown[] {
  return Array.isArray(container) ? itemSchemas(schema, Number(key)) : propertySchemas(schema, key, patterns);
}

function itemSchemas({ prefixItems, items, additionalItems }: JsonSchema, index: number): readonly unknown[] {
  // A list of items is that of draft-07.
  const prefix = listOf(prefixItems ?? items);
  if (index < prefix.length) return [prefix[index]];
  const rest = Array.isArray(items) ? additionalItems : items;
  return rest === undefined ? [] : [rest];
}

function propertySchemas(schema: JsonSchema, key: string, patterns: boolean): readonly unknown[] {
  const { patternProperties, additionalProperties } = schema;
  const found = declares(schema, key) ? [(schema.properties as JsonSchema)[key]] : [];
  // Not known: nothing is said of it.
  if (patternProperties !== undefined && !patterns) return found;
  for (const [pattern, each] of Object.entries(isRecord(patternProperties) ? patternProperties : {}))
    if (toPattern(pattern)?.test(key)) found.push(each);
  return found.length > 0 || additionalProperties === undefined ? found : [additionalProperties];
}

/** Whether a schema has a property by its name. */
export function declares({ properties }: JsonSchema, key: string): boolean {
  return isRecord(properties) && Object.hasOwn(properties, key);
}

/** Whether a schema wants a property. */
export function requires({ required }: JsonSchema, key: string): boolean {
  return listOf(required).includes(key);
}

/** Each way of each part with each of every other. */
function joined(parts: readonly (readonly UnionBranch[])[]): readonly UnionBranch[] {
  let ways = anything;
  for (const part of parts) {
    if (ways.length * part.length > maxWays) return anything;
    ways = ways.flatMap((way) => part.map((other) => [...new Set([...way, ...other])]));
    if (ways.some((way) => way.length > maxJoined)) return anything;
  }
  return ways;
}

/** The value if it is a list, else an empty list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

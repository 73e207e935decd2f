import { toPattern } from "../../core/schema/check.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { resolveReference } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { eachEntry, type Way } from "../template/uses.ts";

/** Where a way leaves what a schema describes. */
export interface Stray {
  /** How many of its steps the schema describes. */
  readonly steps: number;
  /** The names there are instead. */
  readonly names: readonly string[];
  /** What types there are instead; none where that is open. */
  readonly types: readonly string[];
}

/** What a schema says of a value: the schemas of which one may describe it, or undefined where it may be anything. */
type Shape = readonly JsonSchema[] | undefined;

const combiners = ["allOf", "anyOf", "oneOf"];
const conditions = ["then", "else"];
/** They may describe more than is seen here. */
const open = ["$dynamicRef", "$recursiveRef", "unevaluatedProperties", "dependencies"];

/** Follows ways through the schema of an input, choices and references included. */
export class InputShape {
  readonly #root: JsonSchema;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** Where a way leads to what the schema does not describe; undefined where it leads to something it may describe. */
  strayOf(steps: Way["steps"]): Stray | undefined {
    let shape = this.#expand(this.#root);
    for (const [index, step] of steps.entries()) {
      if (shape === undefined) return undefined;
      const from = shape;
      shape = step === eachEntry ? this.#entries(from) : this.#member(from, step, index === 0);
      if (shape?.length === 0) return { steps: index, names: namesOf(from), types: from.flatMap(typesOf) };
    }
    return undefined;
  }

  /** The properties of the input itself. */
  get properties(): readonly string[] {
    return namesOf(this.#expand(this.#root) ?? []);
  }

  /**
   * Every schema that may say something of a value this one describes.
   *
   * @param seen - references that were followed: one that leads to itself adds nothing
   */
  #expand(schema: unknown, seen = new Set<string>()): Shape {
    if (schema === false) return [];
    if (!isRecord(schema) || open.some((keyword) => schema[keyword] !== undefined)) return undefined;
    const { $ref } = schema;
    const own = spoken.some((keyword) => schema[keyword] !== undefined) ? [schema] : [];
    const parts = partsOf(schema).map((part) => this.#expand(part, seen));
    if (typeof $ref === "string" && !seen.has($ref)) {
      seen.add($ref);
      parts.push(/^#(?:\/|$)/.test($ref) ? this.#expand(resolveReference(this.#root, $ref), seen) : undefined);
    } else if (own.length + parts.length === 0 && $ref === undefined) return undefined;
    if (parts.includes(undefined)) return undefined;
    return [...own, ...parts.flatMap((part) => part ?? [])];
  }

  #member(from: readonly JsonSchema[], name: string, isTop: boolean): Shape {
    const found: JsonSchema[] = [];
    for (const schema of from) {
      for (const inner of innerOf(schema, name, isTop)) {
        const shape = this.#expand(inner);
        if (shape === undefined) return undefined;
        found.push(...shape);
      }
    }
    return found;
  }

  #entries(from: readonly JsonSchema[]): Shape {
    const found: JsonSchema[] = [];
    for (const schema of from) {
      for (const inner of entriesOf(schema)) {
        const shape = this.#expand(inner);
        if (shape === undefined) return undefined;
        found.push(...shape);
      }
    }
    return found;
  }
}

const objectKeywords = ["properties", "additionalProperties", "patternProperties"];
const arrayKeywords = ["items", "prefixItems"];
const spoken = ["type", ...objectKeywords, ...arrayKeywords];

/** Schemas that speak of the same value; those that only demand something, such as `required`, say nothing of what is inside. */
function partsOf(schema: JsonSchema): readonly JsonSchema[] {
  const parts: readonly unknown[] = [
    ...combiners.flatMap((keyword) => (Array.isArray(schema[keyword]) ? schema[keyword] : [])),
    ...conditions.map((keyword) => schema[keyword]),
    ...(isRecord(schema.dependentSchemas) ? Object.values(schema.dependentSchemas) : []),
  ];
  const telling = [...spoken, ...combiners, ...conditions, ...open, "$ref", "dependentSchemas"];
  return parts.filter(isRecord).filter((part) => telling.some((keyword) => part[keyword] !== undefined));
}

/** Whether it may be an object, a list, a text: by its type, else by the keywords that speak of one. */
function may(schema: JsonSchema, type: string, keywords: readonly string[] = []): boolean {
  if (schema.type !== undefined) return [schema.type].flat().includes(type);
  return keywords.some((keyword) => schema[keyword] !== undefined);
}
const typesOf = (schema: JsonSchema) => (schema.type === undefined ? [] : [schema.type].flat().map(String));

function namesOf(shape: readonly JsonSchema[]): readonly string[] {
  return [...new Set(shape.flatMap(({ properties }) => (isRecord(properties) ? Object.keys(properties) : [])))];
}

/** The schemas of the member of a name. */
function innerOf(schema: JsonSchema, name: string, isTop: boolean): readonly unknown[] {
  const inner: unknown[] = [];
  const { properties, patternProperties, additionalProperties } = schema;
  if (may(schema, "object", objectKeywords)) {
    if (isRecord(properties) && Object.hasOwn(properties, name)) inner.push(properties[name]);
    for (const [pattern, child] of Object.entries(isRecord(patternProperties) ? patternProperties : {})) {
      if (toPattern(pattern)?.test(name) !== false) inner.push(child);
    }
    if (additionalProperties !== undefined && additionalProperties !== false) inner.push(additionalProperties);
    // An object of which nothing is said may have any members; what the input has must be said.
    const isFree = properties === undefined && patternProperties === undefined && additionalProperties === undefined;
    if (isFree && !isTop) inner.push(true);
  }
  if (may(schema, "array", arrayKeywords)) {
    if (name === "length") inner.push({ type: "integer" });
    if (/^\d+$/.test(name)) inner.push(...entriesOf(schema));
  }
  if (name === "length" && may(schema, "string")) inner.push({ type: "integer" });
  return inner;
}

/** The schemas of the entries of a list, or of the members of an object. */
function entriesOf(schema: JsonSchema): readonly unknown[] {
  const entries: unknown[] = [];
  const { items, prefixItems, properties, additionalProperties } = schema;
  if (may(schema, "array", arrayKeywords)) {
    const first = [prefixItems, items].flatMap((list) => (Array.isArray(list) ? list : []));
    entries.push(...first, ...(Array.isArray(items) ? [] : items === undefined ? [true] : [items]));
  }
  if (may(schema, "object", objectKeywords)) {
    const others = additionalProperties ?? properties === undefined;
    entries.push(...(isRecord(properties) ? Object.values(properties) : []), ...(others === false ? [] : [others]));
  }
  return entries;
}

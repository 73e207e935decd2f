import { toLinearPattern } from "../../core/schema/linear-pattern.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { resolveReference } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { eachEntry, type ValuePath } from "../template/template-uses.ts";

/** The point where a path leaves the values that a schema describes. */
export interface UndescribedStep {
  /** The number of its steps that the schema describes. */
  readonly steps: number;
  /** The names that the value there has. */
  readonly names: readonly string[];
  /** The types that the value there may have; none for any type. */
  readonly types: readonly string[];
  /** The schema says that the value there has no other names. */
  readonly isClosed: boolean;
}

/** The schemas that may describe a value; undefined for a value that may be anything. */
type Shape = readonly JsonSchema[] | undefined;

const combiners = ["allOf", "anyOf", "oneOf"];
const conditions = ["then", "else"];
/** Keywords that may describe more than this class follows. */
const openKeywords = ["$dynamicRef", "$recursiveRef", "unevaluatedProperties", "dependencies"];

/** Follows paths through the schema of an input, choices and references included. */
export class InputShape {
  readonly #root: JsonSchema;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** The step of a path that the schema does not describe; undefined for a path that it may describe. */
  findUndescribed(steps: ValuePath["steps"]): UndescribedStep | undefined {
    let shape = this.#expand(this.#root);
    for (const [index, step] of steps.entries()) {
      if (shape === undefined) return undefined;
      const from = shape;
      shape = this.#expandAll(stepped(from, step, index === 0));
      if (shape?.length === 0) {
        const isClosed = from.every(({ additionalProperties }) => additionalProperties === false);
        return { steps: index, names: namesOf(from), types: from.flatMap(typesOf), isClosed };
      }
    }
    return undefined;
  }

  /** The types that the value at the end of a path may have; undefined where it may have any, or the schema does not describe it. */
  typesAt(steps: ValuePath["steps"]): readonly string[] | undefined {
    let shape = this.#expand(this.#root);
    for (const [index, step] of steps.entries()) shape = shape && this.#expandAll(stepped(shape, step, index === 0));
    const types = shape?.map((schema) => (schema.type === undefined ? undefined : typesOf(schema)));
    if (types === undefined || types.length === 0 || types.includes(undefined)) return undefined;
    return [...new Set(types.flatMap((each) => each ?? []))];
  }

  /** The properties of the input itself. */
  get properties(): readonly string[] {
    return namesOf(this.#expand(this.#root) ?? []);
  }

  /**
   * All schemas that may describe a value of this schema.
   *
   * @param seen - references that were followed: one that refers to itself adds nothing
   */
  #expand(schema: unknown, seen = new Set<string>()): Shape {
    if (schema === false) return [];
    if (!isRecord(schema) || openKeywords.some((keyword) => schema[keyword] !== undefined)) return undefined;
    const { $ref } = schema;
    const own = shapeKeywords.some((keyword) => schema[keyword] !== undefined) ? [schema] : [];
    const parts = partsOf(schema).map((part) => this.#expand(part, seen));
    if (typeof $ref === "string" && !seen.has($ref)) {
      seen.add($ref);
      parts.push(/^#(?:\/|$)/.test($ref) ? this.#expand(resolveReference(this.#root, $ref), seen) : undefined);
    } else if (own.length + parts.length === 0 && $ref === undefined) return undefined;
    if (parts.includes(undefined)) return undefined;
    return [...own, ...parts.flatMap((part) => part ?? [])];
  }

  #expandAll(schemas: readonly unknown[]): Shape {
    const found: JsonSchema[] = [];
    for (const schema of schemas) {
      const shape = this.#expand(schema);
      if (shape === undefined) return undefined;
      found.push(...shape);
    }
    return found;
  }
}

/** The schemas of what one step of a path leads to. */
function stepped(from: readonly JsonSchema[], step: ValuePath["steps"][number], isTop: boolean): readonly unknown[] {
  return from.flatMap((schema) => (step === eachEntry ? entriesOf(schema) : membersOf(schema, step, isTop)));
}

const objectKeywords = ["properties", "additionalProperties", "patternProperties"];
const arrayKeywords = ["items", "prefixItems"];
const shapeKeywords = ["type", ...objectKeywords, ...arrayKeywords];

/** The schemas that apply to the same value, without those that only restrict it, such as `required`. */
function partsOf(schema: JsonSchema): readonly JsonSchema[] {
  const parts: readonly unknown[] = [
    ...combiners.flatMap((keyword) => (Array.isArray(schema[keyword]) ? schema[keyword] : [])),
    ...conditions.map((keyword) => schema[keyword]),
    ...(isRecord(schema.dependentSchemas) ? Object.values(schema.dependentSchemas) : []),
  ];
  const describing = [...shapeKeywords, ...combiners, ...conditions, ...openKeywords, "$ref", "dependentSchemas"];
  return parts.filter(isRecord).filter((part) => describing.some((keyword) => part[keyword] !== undefined));
}

/** True for a schema that allows a type: by its `type`, else by its keywords for the type. */
function allowsType(schema: JsonSchema, type: string, keywords: readonly string[] = []): boolean {
  if (schema.type !== undefined) return [schema.type].flat().includes(type);
  return keywords.some((keyword) => schema[keyword] !== undefined);
}
const typesOf = (schema: JsonSchema) => (schema.type === undefined ? [] : [schema.type].flat().map(String));

function namesOf(shape: readonly JsonSchema[]): readonly string[] {
  return [...new Set(shape.flatMap(({ properties }) => (isRecord(properties) ? Object.keys(properties) : [])))];
}

/** False for a name that a pattern refuses; true also for a pattern that takes too long. */
function mayMatch(pattern: string, name: string): boolean {
  try {
    return toLinearPattern(pattern).test(name.slice(0, maxNameLength));
  } catch {
    return true;
  }
}

/** More than any name has, in characters. */
const maxNameLength = 1_000;

/** The schemas of the member with a name. */
function membersOf(schema: JsonSchema, name: string, isTop: boolean): readonly unknown[] {
  const inner: unknown[] = [];
  const { properties, patternProperties, additionalProperties } = schema;
  if (allowsType(schema, "object", objectKeywords)) {
    if (isRecord(properties) && Object.hasOwn(properties, name)) inner.push(properties[name]);
    for (const [pattern, child] of Object.entries(isRecord(patternProperties) ? patternProperties : {})) {
      if (mayMatch(pattern, name)) inner.push(child);
    }
    if (additionalProperties !== undefined && additionalProperties !== false) inner.push(additionalProperties);
    // An object that describes no members may have any, except the input itself.
    const isFree = properties === undefined && patternProperties === undefined && additionalProperties === undefined;
    if (isFree && !isTop) inner.push(true);
  }
  if (allowsType(schema, "array", arrayKeywords)) {
    if (name === "length") inner.push({ type: "integer" });
    if (/^\d+$/.test(name)) inner.push(...entriesOf(schema));
  }
  if (name === "length" && allowsType(schema, "string")) inner.push({ type: "integer" });
  return inner;
}

/** The schemas of the entries of a list, or of the members of an object. */
function entriesOf(schema: JsonSchema): readonly unknown[] {
  const entries: unknown[] = [];
  const { items, prefixItems, properties, additionalProperties } = schema;
  if (allowsType(schema, "array", arrayKeywords)) {
    const first = [prefixItems, items].flatMap((list) => (Array.isArray(list) ? list : []));
    entries.push(...first, ...(Array.isArray(items) ? [] : items === undefined ? [true] : [items]));
  }
  if (allowsType(schema, "object", objectKeywords)) {
    const others = additionalProperties ?? properties === undefined;
    entries.push(...(isRecord(properties) ? Object.values(properties) : []), ...(others === false ? [] : [others]));
  }
  return entries;
}

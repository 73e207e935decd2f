import type { JsonSchema } from "../../core/schema/types.ts";
import { listOf } from "../../core/schema/union-branches.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import type { Losses, SchemaLoss } from "./projection.ts";
import { follow, followedOnce, mergeAll } from "./resolve-schema.ts";
import { describe } from "./schema-hints.ts";
import { choicesOf, isOfTypes, ofType, typesOf } from "./schema-types.ts";

const formats = new Set("date-time time date duration email hostname ipv4 ipv6 uuid".split(" "));
const numeric = ["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const keywordsOf: { readonly [type in string]?: readonly string[] } = {
  string: ["pattern", "format"],
  number: numeric,
  integer: numeric,
  array: ["minItems", "maxItems"],
};
const scalars = new Set(["string", "number", "integer", "boolean", "null"]);
const annotations = new Set([
  "title",
  "description",
  "default",
  "examples",
  "$defs",
  "definitions",
  "$comment",
  "type",
]);

/** Counts every nested schema, also the branches of a union and the parts of `allOf`. */
const maxDepth = 64;

/** Rewrites a schema in the grammar of strict mode, or finds the first part that the grammar cannot express. */
export class StrictWriter {
  readonly #document: JsonSchema;
  readonly #losses: Losses;
  readonly #definitions = new Map<string, { readonly name: string; written: JsonSchema }>();
  #obstacle: SchemaLoss | undefined;
  #depth = 0;

  /**
   * @param document - well formed, with an object at the top
   */
  constructor(document: JsonSchema, losses: Losses) {
    this.#document = document;
    this.#losses = losses;
  }

  /** The schema; it is void where there is an `obstacle`, the first part that the grammar cannot express. */
  write(): { readonly schema: JsonSchema; readonly obstacle: SchemaLoss | undefined } {
    const root = this.#schema(this.#document, "");
    const definitions = [...this.#definitions.values()].map(({ name, written }) => [name, written]);
    const schema = definitions.length === 0 ? root : { ...root, $defs: Object.fromEntries(definitions) };
    return { schema, obstacle: this.#obstacle };
  }

  #block(pointer: string, what: string): JsonSchema {
    this.#obstacle ??= { pointer, what };
    return {};
  }

  #schema(value: unknown, pointer: string): JsonSchema {
    if (this.#obstacle !== undefined) return {};
    if (this.#depth > maxDepth) return this.#block(pointer, "is nested too deep, or contains itself");
    this.#depth += 1;
    const written = this.#written(value, pointer);
    this.#depth -= 1;
    return written;
  }

  #written(value: unknown, pointer: string): JsonSchema {
    this.#losses.take(1 + (isRecord(value) ? Object.keys(value).length : 0));
    if (!isRecord(value)) return this.#block(pointer, value === false ? "takes nothing" : "takes anything");
    if (value.$ref !== undefined) return this.#reference(value, pointer);
    if (value.allOf !== undefined) return this.#joined(value, pointer);
    if (value.anyOf !== undefined || value.oneOf !== undefined) return this.#union(value, pointer);
    const types = typesOf(value);
    const [type] = types;
    if (type === undefined) return this.#block(pointer, "takes anything");
    if (choicesOf(value) !== undefined) return this.#choice(value, types, pointer);
    const present = types.filter((each) => each !== "null");
    if (present.length < 2) {
      const written = this.#typed(present[0] ?? "null", value, pointer);
      return types.length === present.length ? written : nullable(written);
    }
    const { description, title, ...bare } = value;
    const branches = types.map((each) => this.#typed(each, bare, pointer));
    return { ...this.#described({ description, title }, pointer), anyOf: branches };
  }

  /** Strict mode allows no keyword beside `$ref`. */
  #reference(schema: JsonSchema, pointer: string): JsonSchema {
    const { $ref, ...beside } = schema;
    if ($ref === "#") return { $ref };
    const target = follow(this.#document, $ref);
    if (target === undefined || typeof $ref !== "string") return this.#block(pointer, `${$ref} does not resolve`);
    for (const keyword of Object.keys(beside))
      if (!annotations.has(keyword)) this.#losses.add(pointerTo(pointer, keyword), "is left out beside a reference");
    let definition = this.#definitions.get($ref);
    if (definition === undefined) {
      const last = $ref.slice($ref.lastIndexOf("/") + 1).replaceAll(/[^A-Za-z0-9_]/g, "_");
      definition = { name: `${last}_${this.#definitions.size + 1}`, written: {} };
      this.#definitions.set($ref, definition);
      definition.written = this.#schema(target, $ref.slice(1));
    }
    const reference = { $ref: `#/$defs/${definition.name}` };
    const described = this.#described(beside, pointer);
    return described.description === undefined ? reference : { ...described, anyOf: [reference] };
  }

  #joined(schema: JsonSchema, pointer: string): JsonSchema {
    const { allOf, ...rest } = schema;
    const parts = listOf(allOf).map((part) => this.#resolved(part));
    const merged = mergeAll([rest, ...parts], this.#losses);
    return merged === undefined
      ? this.#block(pointer, "has parts of allOf that cannot be merged")
      : this.#schema(merged, pointer);
  }

  #union(schema: JsonSchema, pointer: string): JsonSchema {
    const { anyOf, oneOf, ...rest } = schema;
    if (anyOf !== undefined && oneOf !== undefined) return this.#block(pointer, "has anyOf beside oneOf");
    if (oneOf !== undefined) this.#losses.add(pointerTo(pointer, "oneOf"), "becomes anyOf");
    const constraints = Object.fromEntries(
      Object.entries(rest).filter(([key]) => !annotations.has(key) || key === "type"),
    );
    const keyword = anyOf === undefined ? "oneOf" : "anyOf";
    const branches = listOf(anyOf ?? oneOf).map((branch, index) => {
      const at = pointerTo(pointerTo(pointer, keyword), index);
      if (this.#implies(branch, constraints)) return this.#schema(branch, at);
      const merged = mergeAll([constraints, this.#resolved(branch)], this.#losses);
      return merged === undefined
        ? this.#block(at, "cannot be merged with the keywords beside it")
        : this.#schema(merged, at);
    });
    return { ...this.#described(rest, pointer, true), anyOf: branches };
  }

  /** Whether a branch implies the keywords beside the union: then a reference need not be expanded, and may be recursive. */
  #implies(branch: unknown, beside: JsonSchema): boolean {
    const { type, ...others } = beside;
    if (Object.keys(others).length > 0) return false;
    const types = typesOf(this.#resolved(branch));
    return type === undefined || (types.length > 0 && types.every((each) => [type].flat().includes(each)));
  }

  #choice(schema: JsonSchema, types: readonly string[], pointer: string): JsonSchema {
    const choices = (choicesOf(schema) ?? []).filter((choice) => isOfTypes(choice, types));
    if (
      !types.every((type) => scalars.has(type)) ||
      choices.some((choice) => typeof choice === "object" && choice !== null)
    )
      return this.#block(pointer, "has choices that are objects or arrays");
    if (choices.length === 0) return this.#block(pointer, "takes nothing");
    const type = types.length === 1 ? types[0] : types;
    return { type, ...this.#described(schema, pointer), enum: choices };
  }

  #typed(type: string, given: JsonSchema, pointer: string): JsonSchema {
    const schema = ofType(type, given);
    if (type === "object") return this.#object(schema, pointer);
    const kept = (keywordsOf[type] ?? []).filter((keyword) => isKept(keyword, schema[keyword]));
    const written: Record<string, unknown> = { type, ...this.#described(schema, pointer, false, kept) };
    for (const keyword of kept) written[keyword] = schema[keyword];
    if (type !== "array") return written;
    if (schema.prefixItems !== undefined || Array.isArray(schema.items))
      return this.#block(pointer, "is an array whose places differ");
    return { ...written, items: this.#schema(schema.items ?? true, pointerTo(pointer, "items")) };
  }

  #object(schema: JsonSchema, pointer: string): JsonSchema {
    const { properties, additionalProperties, patternProperties } = schema;
    const isOpen = additionalProperties !== undefined && additionalProperties !== false;
    if (isOpen || (properties === undefined && additionalProperties !== false) || hasKeys(patternProperties))
      return this.#block(pointer, "has properties with arbitrary names");
    const required = new Set(listOf(schema.required));
    const members = Object.entries(isRecord(properties) ? properties : {});
    for (const name of required)
      if (!members.some(([member]) => member === name))
        return this.#block(pointer, `requires ${name} and does not describe it`);
    const written = members.map(([name, member]) => {
      const at = pointerTo(pointerTo(pointer, "properties"), name);
      const each = this.#schema(member, at);
      return [name, required.has(name) ? each : nullable(each)];
    });
    return {
      type: "object",
      ...this.#described(schema, pointer, false, ["additionalProperties", "properties", "required"]),
      properties: Object.fromEntries(written),
      required: members.map(([name]) => name),
      additionalProperties: false,
    };
  }

  #resolved(schema: unknown): JsonSchema {
    return followedOnce(this.#document, schema, this.#losses);
  }

  #described(
    schema: JsonSchema,
    pointer: string,
    isQuiet = false,
    kept: readonly string[] = [],
  ): { readonly description?: string } {
    const unsupported = (keyword: string) =>
      !kept.includes(keyword) && keyword !== "enum" && !(isQuiet && keyword !== "default");
    const description = describe(schema, { pointer, losses: this.#losses, unsupported });
    return description === undefined ? {} : { description };
  }
}

/** Strict mode refuses patterns with lookaround or backreferences. */
function isKept(keyword: string, value: unknown): boolean {
  if (value === undefined) return false;
  if (keyword === "format") return formats.has(String(value));
  return keyword !== "pattern" || !/\(\?[=!<]|\\[1-9kpPbB]/.test(String(value));
}

function hasKeys(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length > 0;
}

/** Every property is required in strict mode, so an optional one becomes nullable. */
function nullable(schema: JsonSchema): JsonSchema {
  const { type, anyOf, description, ...rest } = schema;
  if ([type].flat().includes("null")) return schema;
  if (typeof type === "string" && scalars.has(type) && schema.enum === undefined)
    return { ...schema, type: [type, "null"] };
  const branches = listOf(anyOf);
  if (branches.some((branch) => isRecord(branch) && [branch.type].flat().includes("null"))) return schema;
  const described = description === undefined ? {} : { description };
  if (branches.length > 0) return { ...schema, anyOf: [...branches, { type: "null" }] };
  return { ...described, anyOf: [type === undefined ? rest : { type, ...rest }, { type: "null" }] };
}

import type { JsonSchema } from "../../core/schema/types.ts";
import { listOf } from "../../core/schema/union-branches.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { MemberNames } from "./member-names.ts";
import { objectRoot } from "./object-root.ts";
import { Losses, remembered } from "./projection.ts";
import { follow, followedOnce, mergeAll } from "./resolve-schema.ts";
import { describe } from "./schema-hints.ts";
import { choicesOf, ofType, typesOf } from "./schema-types.ts";

const memberName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const formats: { readonly [type in string]?: readonly string[] } = {
  string: ["date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};
/** The keywords that Gemini accepts, and their form on the wire: counts are 64-bit integers, which JSON carries as strings. */
const keywordsOf: { readonly [type in string]?: { readonly [keyword in string]?: (value: unknown) => unknown } } = {
  string: { minLength: String, maxLength: String },
  number: { minimum: Number, maximum: Number },
  integer: { minimum: Number, maximum: Number },
  array: { minItems: String, maxItems: String },
};
const scalars = ["string", "number", "boolean"];
/** References are expanded, so a small schema may become a large one. */
const maxSchemas = 1_000;
const maxDepth = 20;

/**
 * A schema as Gemini accepts it, a subset of OpenAPI 3.0: one type each, `nullable`, enums of strings alone, few formats, `anyOf` with
 * no keyword beside it, properties whose names are letters, digits and `_`, and no references. A recursion is cut where it repeats.
 *
 * @see https://ai.google.dev/api/caching#Schema
 * @see https://cloud.google.com/vertex-ai/generative-ai/docs/reference/java/latest/com.google.cloud.vertexai.api.FunctionDeclarationOrBuilder the names
 */
export const googleProjection = remembered(
  (schema) => {
    const losses = new Losses();
    const document = objectRoot(schema, losses);
    const names = new MemberNames(document, memberName);
    const written = new GoogleWriter(document, names, losses).schema(document, { pointer: "", depth: 0, within: [] });
    return Object.freeze({
      schema: Object.freeze(written),
      lost: losses.all(),
      restore: (input: unknown) => names.restore(input),
    });
  },
  (plain) => plain,
);

interface Place {
  readonly pointer: string;
  readonly depth: number;
  /** The references that were expanded on the way here. */
  readonly within: readonly string[];
}

class GoogleWriter {
  readonly #document: JsonSchema;
  readonly #names: MemberNames;
  readonly #losses: Losses;
  #written = 0;

  constructor(document: JsonSchema, names: MemberNames, losses: Losses) {
    this.#document = document;
    this.#names = names;
    this.#losses = losses;
  }

  schema(given: unknown, place: Place): JsonSchema {
    const { pointer, depth } = place;
    const value = isRecord(given) ? given : {};
    this.#written += 1;
    this.#losses.take(1 + Object.keys(value).length);
    if (depth > maxDepth || this.#written > maxSchemas) {
      this.#losses.add(pointer, "is left out: the schema is too deep or too large");
      return this.#cut(value);
    }
    if (value.$ref !== undefined) return this.#reference(value, place);
    if (value.allOf !== undefined) return this.#joined(value, place);
    if (value.anyOf !== undefined || value.oneOf !== undefined) return this.#union(value, place);
    const types = typesOf(value);
    const present = types.filter((type) => type !== "null");
    if (types.length > 0 && present.length === 0) return this.#nothing(value, pointer);
    if (types.length === 0) this.#losses.add(pointer, "takes anything, and becomes a string, number or boolean");
    const branches = (types.length === 0 ? scalars : present).map((type) => this.#typed(type, value, place));
    return this.#alternatives(branches, types.includes("null"));
  }

  #reference(schema: JsonSchema, place: Place): JsonSchema {
    const { $ref, ...beside } = schema;
    const target = follow(this.#document, $ref);
    const reference = String($ref);
    if (target !== undefined && !place.within.includes(reference) && !(reference === "#" && place.depth > 0))
      return this.schema({ ...target, ...beside }, { ...place, within: [...place.within, reference] });
    const what = target === undefined ? "is left out: it does not resolve" : "is left out where the recursion repeats";
    this.#losses.add(pointerTo(place.pointer, "$ref"), what);
    return target === undefined ? this.schema(beside, place) : this.#cut({ ...target, ...beside });
  }

  /** The type of the value alone. */
  #cut(schema: JsonSchema): JsonSchema {
    const [type = "object"] = typesOf(schema).filter((each) => each !== "null");
    const { description } = schema;
    const described = typeof description === "string" && description !== "" ? { description } : {};
    if (type === "array") return { type: "ARRAY", ...described, items: { type: "STRING" } };
    return { type: type.toUpperCase(), ...described };
  }

  #joined({ allOf, ...rest }: JsonSchema, place: Place): JsonSchema {
    const parts = listOf(allOf).map((part) => this.#resolved(part));
    const merged = mergeAll([rest, ...parts], this.#losses);
    if (merged !== undefined) return this.schema(merged, { ...place, depth: place.depth + 1 });
    this.#losses.add(
      pointerTo(place.pointer, "allOf"),
      "is reduced to its first part: its parts cannot be merged into one schema",
    );
    return this.schema({ ...parts[0], ...rest }, { ...place, depth: place.depth + 1 });
  }

  #union({ anyOf, oneOf, ...rest }: JsonSchema, place: Place): JsonSchema {
    const keyword = anyOf === undefined ? "oneOf" : "anyOf";
    if (oneOf !== undefined)
      this.#losses.add(
        pointerTo(place.pointer, "oneOf"),
        anyOf === undefined ? "becomes anyOf" : "is left out beside anyOf",
      );
    let isNullable = false;
    const branches = listOf(anyOf ?? oneOf).flatMap((branch, index) => {
      const resolved = this.#resolved(branch);
      if (typesOf(resolved).join() === "null") isNullable = true;
      if (typesOf(resolved).join() === "null") return [];
      const pointer = pointerTo(pointerTo(place.pointer, keyword), index);
      const isPlain = isRecord(branch) && Object.keys(rest).length === 0;
      const merged = isPlain ? branch : mergeAll([resolved, rest], this.#losses);
      if (merged === undefined) this.#losses.add(pointer, "is written without the keywords beside it");
      return [this.schema(merged ?? branch, { ...place, pointer, depth: place.depth + 1 })];
    });
    if (branches.length === 0) return this.#nothing(rest, place.pointer);
    const flat = branches.flatMap((branch) => (Array.isArray(branch.anyOf) ? branch.anyOf.filter(isRecord) : [branch]));
    return this.#alternatives(flat, isNullable);
  }

  #nothing(schema: JsonSchema, pointer: string): JsonSchema {
    this.#losses.add(pointer, "is always null, and becomes a string or null");
    return { type: "STRING", ...this.#described(schema, pointer, []), nullable: true };
  }

  #typed(type: string, given: JsonSchema, place: Place): JsonSchema {
    const schema = ofType(type, given);
    const { pointer } = place;
    const writers = keywordsOf[type] ?? {};
    const kept = Object.keys(writers).filter((keyword) => schema[keyword] !== undefined);
    const hasFormat = formats[type]?.includes(String(schema.format)) === true;
    const choices = this.#choices(type, schema, pointer);
    const described = this.#described(
      choices === undefined ? { ...schema, enum: choicesOf(schema) } : { ...schema, format: undefined },
      pointer,
      [...kept, ...(hasFormat ? ["format"] : []), ...(choices === undefined ? [] : ["enum"])],
    );
    const written: Record<string, unknown> = { type: type.toUpperCase(), ...described };
    if (choices !== undefined) return { ...written, format: "enum", enum: choices };
    if (hasFormat) written.format = schema.format;
    for (const keyword of kept) written[keyword] = writers[keyword]?.(schema[keyword]);
    if (type === "array") return { ...written, items: this.#items(schema, place) };
    return type === "object" ? { ...written, ...this.#members(schema, place) } : written;
  }

  #choices(type: string, schema: JsonSchema, pointer: string): readonly string[] | undefined {
    const choices = choicesOf(schema);
    if (type !== "string" || choices === undefined) return undefined;
    const texts = choices.filter((choice) => typeof choice === "string" && choice !== "");
    if (choices.includes("")) this.#losses.add(pointerTo(pointer, "enum"), "is written without the empty string");
    return texts.length === 0 ? undefined : (texts as string[]);
  }

  #items({ items, prefixItems }: JsonSchema, place: Place): JsonSchema {
    const pointer = pointerTo(place.pointer, "items");
    const first = listOf(prefixItems ?? items);
    const inner = { ...place, pointer, depth: place.depth + 1 };
    if (first.length === 0) return this.schema(Array.isArray(items) ? {} : items, inner);
    this.#losses.add(pointer, "is an array whose places differ, and becomes one of any of their items");
    return this.schema({ anyOf: [...first] }, inner);
  }

  #members({ properties, required, additionalProperties, patternProperties }: JsonSchema, place: Place): JsonSchema {
    const isOpen = isRecord(additionalProperties) || additionalProperties === true || patternProperties !== undefined;
    if (isOpen) this.#losses.add(place.pointer, "has properties with arbitrary names, which are left out");
    const members = Object.entries(isRecord(properties) ? properties : {});
    if (members.length === 0) return {};
    const written = members.map(([name, member]) => {
      const pointer = pointerTo(pointerTo(place.pointer, "properties"), name);
      const given = this.#names.nameOf(name);
      if (given !== name) this.#losses.add(pointer, `is renamed to ${given}`);
      return [given, this.schema(member, { ...place, pointer, depth: place.depth + 1 })];
    });
    const needed = new Set(listOf(required));
    const names = members.filter(([name]) => needed.has(name)).map(([name]) => this.#names.nameOf(name));
    return { properties: Object.fromEntries(written), ...(names.length === 0 ? {} : { required: names }) };
  }

  #resolved(schema: unknown): JsonSchema {
    return followedOnce(this.#document, schema, this.#losses);
  }

  #described(schema: JsonSchema, pointer: string, kept: readonly string[]): { readonly description?: string } {
    const unsupported = (keyword: string) => !kept.includes(keyword);
    const description = describe(schema, { pointer, losses: this.#losses, unsupported });
    return description === undefined ? {} : { description };
  }

  /** Gemini allows no keyword beside `anyOf`, so a branch carries `nullable`. */
  #alternatives(branches: readonly JsonSchema[], isNullable: boolean): JsonSchema {
    this.#losses.takeFor(...branches);
    const distinct = [...new Map(branches.map((branch) => [JSON.stringify(branch), branch])).values()];
    const [first = { type: "STRING" }, ...others] = distinct;
    const head = isNullable ? { ...first, nullable: true } : first;
    return others.length === 0 ? head : { anyOf: [head, ...others] };
  }
}

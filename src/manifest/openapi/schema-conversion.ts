import { formProblem, isKeyword, toPattern } from "../../core/schema/check.ts";
import { schemaLists, schemaMaps, schemaSingles } from "../../core/schema/children.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import type { Glob } from "../../lib/glob.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { branchesByDiscriminator, hiddenProperties } from "./document-only.ts";
import { type DocumentFields, DocumentMistake, type OpenApiDocument } from "./openapi-document.ts";

/** The use of a schema: what is sent has no readOnly properties, what is answered no writeOnly ones. */
export type Direction = "input" | "output";

/** A schema of the document in JSON Schema 2020-12. */
export interface ConvertedSchema {
  readonly schema: JsonSchema | boolean;
  /** The pointers of the schemas that it refers to. */
  readonly references: ReadonlySet<string>;
}

/** The parts that a conversion needs. */
export interface ConversionSource {
  readonly document: OpenApiDocument;
  readonly direction: Direction;
  /** The names of properties that may have any value. */
  readonly masked: readonly Glob[];
  /** The reference by which the schema at a pointer is found in the schema of a tool. */
  referenceTo(pointer: string): string;
}

const maxDepth = 90;
const none: ReadonlySet<string> = new Set();
const maps = new Set(schemaMaps);
const lists = new Set(schemaLists);
const singles = new Set([...schemaSingles, "items"]);
/** Of the document, of identity within it, or made into something else. */
const leftOut = new Set(
  "$ref $id $schema $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment $defs definitions nullable example examples readOnly writeOnly dependencies additionalItems".split(
    " ",
  ),
);
const limitKeywords: Readonly<Record<string, string>> = { exclusiveMinimum: "minimum", exclusiveMaximum: "maximum" };
/** Longer examples are left out: a model pays for them. */
const maxExample = 64;

/**
 * Turns a schema of an OpenAPI document, of 3.0 or 3.1, into JSON Schema 2020-12. References stay references, to shared schemas; a keyword whose
 * value has not its form is left out, since documents in the wild have many.
 *
 * @throws DocumentMistake for a reference that cannot be followed, and for a schema that is nested too deep
 */
export function convertSchema(schema: unknown, at: string, source: ConversionSource): ConvertedSchema {
  const conversion = new Conversion(source);
  return { schema: conversion.convert(schema, at, 0), references: conversion.references };
}

class Conversion {
  readonly references = new Set<string>();
  readonly #source: ConversionSource;
  readonly #is30: boolean;

  constructor(source: ConversionSource) {
    this.#source = source;
    this.#is30 = source.document.version === "3.0";
  }

  /** @param inherited - the hidden properties of the schema that this one is a part of */
  convert(given: unknown, at: string, depth: number, inherited: ReadonlySet<string> = none): JsonSchema | boolean {
    this.#source.document.spend(1, at);
    if (typeof given === "boolean") return given;
    if (!isRecord(given)) throw new DocumentMistake(at, "A schema must be an object.");
    if (depth > maxDepth) throw new DocumentMistake(at, `The schema is nested deeper than ${maxDepth} levels.`);
    if (typeof given.$ref === "string") return this.#reference(given.$ref, given, at, depth);
    return this.#keywords(given, at, depth, inherited);
  }

  /** A schema that is referred to, with the keywords beside the reference: in 3.0 only those that say nothing of the value count. */
  #reference(reference: string, given: DocumentFields, at: string, depth: number): JsonSchema | boolean {
    const { $ref: _, ...beside } = given;
    const { description, title, deprecated } = beside;
    const added = this.#is30 ? definedOf({ description, title, deprecated }) : this.#keywords(beside, at, depth);
    const target = this.#source.document.target(reference, at);
    const { value } = target;
    if (typeof value === "boolean") return value;
    if (!isRecord(value)) throw new DocumentMistake(pointerTo(at, "$ref"), `${reference} leads to no schema.`);
    const isPlainText = Object.keys(added).every((keyword) => keyword === "description" || keyword === "title");
    if (isSmall(value) && isPlainText) {
      const inlined = this.#keywords(value, target.at, depth);
      return { ...inlined, ...added };
    }
    this.references.add(target.at);
    return { $ref: this.#source.referenceTo(target.at), ...added };
  }

  #keywords(given: DocumentFields, at: string, depth: number, inherited: ReadonlySet<string> = none): JsonSchema {
    const { direction } = this.#source;
    const own = hiddenProperties(given, { document: this.#source.document, direction, at });
    const hidden = inherited.size === 0 ? own : new Set([...own, ...inherited]);
    const schema: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(given)) {
      if (leftOut.has(keyword) || !isKeyword(keyword) || keyword.startsWith("x-")) continue;
      const converted = this.#keyword(keyword, value, { given, hidden, at: pointerTo(at, keyword), depth: depth + 1 });
      if (converted !== undefined && formProblem(keyword, converted) === undefined) schema[keyword] = converted;
    }
    this.#limits(given, schema);
    if (Array.isArray(given.items)) {
      schema.prefixItems = schema.items;
      delete schema.items;
    }
    if (typeof given.pattern === "string" && schema.pattern === undefined)
      schema.description = [schema.description, `Pattern: ${given.pattern.slice(0, 200)}`].filter(Boolean).join("\n");
    if (direction === "input") addExamples(given, schema);
    return this.#is30 && given.nullable === true ? nullable(schema) : schema;
  }

  #keyword(
    keyword: string,
    value: unknown,
    { given, hidden, at, depth }: { given: DocumentFields; hidden: ReadonlySet<string>; at: string; depth: number },
  ): unknown {
    if (maps.has(keyword)) {
      if (!isRecord(value)) return undefined;
      // A service that answers what it should not is not at odds with its document: only what is sent is held to it.
      const isSent = keyword === "properties" && this.#source.direction === "input";
      const kept = Object.entries(value).filter(([name]) => !(isSent && hidden.has(name)));
      const isMasked = (name: string) => keyword === "properties" && this.#source.masked.some((fits) => fits(name));
      return Object.fromEntries(
        kept.map(([name, each]) => [name, isMasked(name) ? {} : this.convert(each, pointerTo(at, name), depth)]),
      );
    }
    if (Array.isArray(value) && (lists.has(keyword) || keyword === "items")) {
      const parts = keyword === "allOf" ? hidden : none;
      const branches = value.map((each, index) => this.convert(each, pointerTo(at, index), depth, parts));
      const isChoice = keyword === "oneOf" || keyword === "anyOf";
      return isChoice
        ? branchesByDiscriminator(branches, { given, list: value, document: this.#source.document })
        : branches;
    }
    if (singles.has(keyword)) return this.convert(value, at, depth);
    if (keyword === "required" && Array.isArray(value)) return value.filter((name) => !hidden.has(name as string));
    if (keyword === "pattern") return typeof value === "string" && toPattern(value) !== undefined ? value : undefined;
    return value;
  }

  /** `exclusiveMinimum: true` of 3.0 goes with `minimum`. */
  #limits(given: DocumentFields, schema: Record<string, unknown>): void {
    for (const [exclusive, inclusive] of Object.entries(limitKeywords)) {
      if (given[exclusive] !== true || typeof given[inclusive] !== "number") continue;
      schema[exclusive] = given[inclusive];
      delete schema[inclusive];
    }
  }
}

/** A schema of a few plain values, such as that of an identifier: written out it is shorter than a reference. */
function isSmall(schema: DocumentFields): boolean {
  const values = Object.values(schema);
  const isPlain = (value: unknown) => typeof value !== "object" || (Array.isArray(value) && value.length <= 8);
  return (
    values.length <= 8 &&
    schema.$ref === undefined &&
    values.every(isPlain) &&
    !schemaLists.some((list) => list in schema)
  );
}

/** A schema that takes null too. */
function nullable(schema: JsonSchema): JsonSchema {
  const { type, enum: choices, ...rest } = schema;
  if (typeof type !== "string") {
    if (choices !== undefined && type === undefined) return { ...rest, enum: withNull(choices) };
    const { description, title, ...others } = schema;
    return Object.keys(others).length === 0
      ? schema
      : { ...definedOf({ title, description }), anyOf: [others, { type: "null" }] };
  }
  return { type: [type, "null"], ...(choices === undefined ? {} : { enum: withNull(choices) }), ...rest };
}

function withNull(choices: unknown): readonly unknown[] {
  const list = choices as readonly unknown[];
  return list.includes(null) ? list : [...list, null];
}

function addExamples({ example, examples }: DocumentFields, schema: Record<string, unknown>): void {
  const given = Array.isArray(examples) ? examples : example === undefined ? [] : [example];
  const short = given.filter((each) => typeof each !== "object" && String(each).length <= maxExample).slice(0, 3);
  if (short.length > 0) schema.examples = short;
}

function definedOf(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([keyword, value]) => value !== undefined && formProblem(keyword, value) === undefined,
    ),
  );
}

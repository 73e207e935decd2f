import { findSchemaProblem } from "../../core/schema/check.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { pointerTo, resolvePointer, stepsOf } from "../../lib/pointer.ts";
import { nearest } from "../../lib/similar.ts";
import { isRecord } from "../../lib/value.ts";
import { findMisfit } from "./misfit.ts";
import { withoutProblem } from "./schema-repair.ts";

/** What is wrong with a schema of a prompt. */
export interface SchemaMistake {
  readonly pointer: string;
  /** Follows the name of the field. */
  readonly what: string;
  readonly hint: string;
}

/**
 * Everything that makes a value no JSON Schema, and where it is one, what cannot be meant so.
 *
 * @param field - whose it is, for the hint
 * @returns the schema without what makes it none; undefined where nothing is left
 */
export function* findMistakes(field: string, value: unknown): Generator<SchemaMistake, JsonSchema | undefined> {
  const general = `Describe the value as in \`${field}: { type: object, properties: { text: { type: string } } }\`.`;
  let last: string | undefined;
  for (let document = value; document !== undefined; ) {
    const problem = findSchemaProblem(document);
    if (problem === undefined) {
      yield* schemaMistakes(document as JsonSchema);
      return document as JsonSchema;
    }
    const { pointer, message } = problem;
    yield {
      pointer,
      what: ` is no JSON Schema${pointer === "" ? "" : ` at ${pointer}`}: ${message}.`,
      hint: hintFor(document, pointer) ?? general,
    };
    document = pointer === last ? undefined : withoutProblem(document, pointer);
    last = pointer;
  }
  return undefined;
}

/** What to write in place of the commonest slips; undefined for others. */
function hintFor(document: unknown, pointer: string): string | undefined {
  const steps = stepsOf(pointer);
  const last = steps.at(-1);
  const value = resolvePointer(document, pointer);
  if (steps.at(-2) === "properties")
    return typeof value === "string" ? `Write \`${last}: { type: ${value} }\`, or what else describes it.` : undefined;
  if (last === "required" && typeof value === "boolean") {
    const name = steps.at(-2) ?? "";
    return steps.at(-3) === "properties"
      ? `Which properties are required is said beside properties: \`required: [${name}]\`, at the same indentation.`
      : "Name the properties that are required: `required: [text]`, at the same indentation as properties.";
  }
  if (last === "required" && typeof value === "string") return `Write a list: \`required: [${value}]\`.`;
  if (last === "$ref") return "Name something under $defs of this schema: `$ref: '#/$defs/name'`.";
  return last === "pattern" ? "Write a regular expression of JavaScript, in single quotes." : undefined;
}

/** Finds required properties that are not described, and each `default` that its own schema refuses. */
function schemaMistakes(schema: JsonSchema): Iterable<SchemaMistake> {
  return walk(schema, "", schema);
}

function* walk(schema: JsonSchema, pointer: string, root: JsonSchema): Generator<SchemaMistake> {
  yield* undescribed(schema, pointer);
  const unfit = unfitDefault(schema, pointer, root);
  if (unfit !== undefined) yield unfit;
  for (const [name, child] of isRecord(schema.properties) ? Object.entries(schema.properties) : []) {
    if (isRecord(child)) yield* walk(child, pointerTo(pointerTo(pointer, "properties"), name), root);
  }
  if (isRecord(schema.items)) yield* walk(schema.items, pointerTo(pointer, "items"), root);
}

/** Keywords that may describe a property elsewhere. */
const elsewhere = "$ref $dynamicRef allOf anyOf oneOf if patternProperties dependentSchemas dependencies".split(" ");

function* undescribed(schema: JsonSchema, pointer: string): Generator<SchemaMistake> {
  const { properties, required, additionalProperties } = schema;
  if (!isRecord(properties) || !Array.isArray(required)) return;
  const describesOthers = isRecord(additionalProperties) || additionalProperties === true;
  if (describesOthers || elsewhere.some((keyword) => schema[keyword] !== undefined)) return;
  for (const [index, one] of required.entries()) {
    if (Object.hasOwn(properties, String(one))) continue;
    const name = JSON.stringify(one);
    const [meant] = nearest(String(one), Object.keys(properties), 1);
    yield {
      pointer: pointerTo(pointerTo(pointer, "required"), index),
      what: ` requires ${name}, and there is no such property${pointer === "" ? "" : ` at ${pointer}`}.`,
      hint:
        meant === undefined
          ? `Describe ${name} under properties, or remove it from required.`
          : `Did you mean ${JSON.stringify(meant)}? Otherwise describe ${name} under properties.`,
    };
  }
}

function unfitDefault(schema: JsonSchema, pointer: string, root: JsonSchema): SchemaMistake | undefined {
  if (!Object.hasOwn(schema, "default")) return undefined;
  const misfit = findMisfit(schema.default, schema, root);
  if (misfit === undefined) return undefined;
  return {
    pointer: pointerTo(pointer, "default"),
    what: ` has a default that its own schema refuses, at ${pointerTo(pointer, "default")}: ${JSON.stringify(schema.default)} ${misfit}.`,
    hint: "Correct the default or the schema.",
  };
}

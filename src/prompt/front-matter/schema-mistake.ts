import type { JsonSchema } from "../../core/schema/types.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { nearest } from "../../lib/similar.ts";
import { isRecord } from "../../lib/value.ts";
import { findMisfit } from "./misfit.ts";

/** A schema that can be used and cannot be meant so. */
export interface SchemaMistake {
  readonly pointer: string;
  /** Follows the name of the field. */
  readonly what: string;
  readonly hint: string;
}

/** Finds a required property that is not described, and a `default` that its own schema refuses. */
export function findSchemaMistake(schema: JsonSchema): SchemaMistake | undefined {
  return walk(schema, "", schema);
}

function walk(schema: JsonSchema, pointer: string, root: JsonSchema): SchemaMistake | undefined {
  const own = undescribed(schema, pointer) ?? unfitDefault(schema, pointer, root);
  if (own !== undefined) return own;
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : [];
  for (const [name, child] of properties) {
    const mistake = isRecord(child) ? walk(child, pointerTo(pointerTo(pointer, "properties"), name), root) : undefined;
    if (mistake !== undefined) return mistake;
  }
  return isRecord(schema.items) ? walk(schema.items, pointerTo(pointer, "items"), root) : undefined;
}

/** Keywords that may describe a property elsewhere. */
const elsewhere = "$ref $dynamicRef allOf anyOf oneOf if patternProperties dependentSchemas dependencies".split(" ");

function undescribed(schema: JsonSchema, pointer: string): SchemaMistake | undefined {
  const { properties, required, additionalProperties } = schema;
  if (!isRecord(properties) || !Array.isArray(required)) return undefined;
  const describesOthers = isRecord(additionalProperties) || additionalProperties === true;
  if (describesOthers || elsewhere.some((keyword) => schema[keyword] !== undefined)) return undefined;
  const index = required.findIndex((name) => !Object.hasOwn(properties, String(name)));
  if (index === -1) return undefined;
  const name = JSON.stringify(required[index]);
  const [meant] = nearest(String(required[index]), Object.keys(properties), 1);
  return {
    pointer: pointerTo(pointerTo(pointer, "required"), index),
    what: ` requires ${name}, and there is no such property${pointer === "" ? "" : ` at ${pointer}`}.`,
    hint:
      meant === undefined
        ? `Describe ${name} under properties, or remove it from required.`
        : `Did you mean ${JSON.stringify(meant)}? Otherwise describe ${name} under properties.`,
  };
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

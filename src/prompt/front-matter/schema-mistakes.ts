import { messageOf } from "../../core/error.ts";
import { findSchemaProblem } from "../../core/schema/check.ts";
import { childrenOf, schemaLists, schemaMaps } from "../../core/schema/children.ts";
import { toLinearPattern } from "../../core/schema/linear-pattern.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { pointerTo, resolvePointer, stepsOf } from "../../lib/pointer.ts";
import { didYouMean, nearest } from "../../lib/similar.ts";
import { isRecord } from "../../lib/value.ts";
import { findMismatch, MismatchWork } from "./schema-mismatch.ts";

/** A mistake in a schema of a prompt. */
export interface SchemaMistake {
  readonly pointer: string;
  /** Follows the name of the field. */
  readonly what: string;
  readonly hint: string;
}

/** Receives a mistake; `findSchemaMistakes` continues unless it throws. */
export type ReportSchemaMistake = (mistake: SchemaMistake) => void;

/** Schemas without mistakes, as JSON: prompts of one folder often have the same. */
const soundSchemas = new Set<string>();
const maxSoundSchemas = 1_000;
/** Longer schemas are not remembered, in characters. */
const maxSoundLength = 10_000;

/**
 * Finds everything that makes a value no JSON Schema; in one that is a JSON Schema, required properties that are not described, and
 * defaults that their schema refuses.
 *
 * @param field - name of the field, for the hint
 * @returns the schema without the invalid parts; undefined where nothing is left
 */
export function findSchemaMistakes(field: string, value: unknown, report: ReportSchemaMistake): JsonSchema | undefined {
  const content = contentOf(value);
  if (content !== undefined && soundSchemas.has(content)) return value as JsonSchema;
  let isSound = true;
  const schema = check(field, value, (mistake) => {
    isSound = false;
    report(mistake);
  });
  if (isSound && content !== undefined) {
    if (soundSchemas.size >= maxSoundSchemas) soundSchemas.clear();
    soundSchemas.add(content);
  }
  return schema;
}

/** The JSON of a schema; undefined for one that is too long, or no JSON. */
function contentOf(schema: unknown): string | undefined {
  try {
    const text = JSON.stringify(schema);
    return text.length <= maxSoundLength ? text : undefined;
  } catch {
    return undefined;
  }
}

function check(field: string, value: unknown, report: ReportSchemaMistake): JsonSchema | undefined {
  const general = `Describe the value as in \`${field}: { type: object, properties: { text: { type: string } } }\`.`;
  let last: string | undefined;
  for (let document = value; document !== undefined; ) {
    const problem = findSchemaProblem(document);
    if (problem === undefined) {
      checkSchema(document as JsonSchema, "", { root: document as JsonSchema, work: new MismatchWork(), report });
      checkPatterns(document as JsonSchema, report);
      return document as JsonSchema;
    }
    const { pointer, message } = problem;
    const what = ` is no JSON Schema${pointer === "" ? "" : ` at ${pointer}`}: ${message}.`;
    report({ pointer, what, hint: hintFor(document, pointer) ?? general });
    document = pointer === last ? undefined : withoutPart(document, stepsOf(pointer));
    last = pointer;
  }
  return undefined;
}

/** The text to write in place of the most common mistakes; undefined for others. */
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

const schemaHolders = new Set([...schemaMaps, ...schemaLists]);

/**
 * The document without the part at some steps, so that the next problem can be found: in place of a schema stands one that accepts any
 * value, and a keyword is left out. Undefined where nothing is left.
 */
function withoutPart(value: unknown, [step, ...rest]: readonly string[], holder?: string): unknown {
  if (step === undefined) return undefined;
  if (Array.isArray(value)) {
    return value.map((entry, index) => {
      if (String(index) !== step) return entry;
      return rest.length === 0 ? true : withoutPart(entry, rest);
    });
  }
  if (!isRecord(value)) return undefined;
  const isSchema = holder !== undefined && schemaHolders.has(holder);
  const entries = Object.entries(value).map(([key, child]): [string, unknown] => {
    if (key !== step) return [key, child];
    if (rest.length > 0) return [key, withoutPart(child, rest, isSchema ? undefined : key)];
    return [key, isSchema ? true : undefined];
  });
  return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
}

/** One check of a schema: the document, and the work that is left. */
interface SchemaCheck {
  readonly root: JsonSchema;
  readonly work: MismatchWork;
  readonly report: ReportSchemaMistake;
}

/** Checks a schema and those under its properties and items. */
function checkSchema(schema: JsonSchema, pointer: string, check: SchemaCheck): void {
  checkRequired(schema, pointer, check);
  checkDefault(schema, pointer, check);
  for (const [name, child] of isRecord(schema.properties) ? Object.entries(schema.properties) : []) {
    if (isRecord(child)) checkSchema(child, pointerTo(pointerTo(pointer, "properties"), name), check);
  }
  if (isRecord(schema.items)) checkSchema(schema.items, pointerTo(pointer, "items"), check);
}

/** The patterns of a schema that are compiled as it is read; the validator compiles the others. */
const maxPatterns = 50;

/** Reports the first pattern that cannot be matched in linear time: no value could be validated. */
function checkPatterns(root: JsonSchema, report: ReportSchemaMistake): void {
  let left = maxPatterns;
  const faultIn = (schema: unknown): string | undefined => {
    if (!isRecord(schema) || left <= 0) return undefined;
    const names = isRecord(schema.patternProperties) ? Object.keys(schema.patternProperties) : [];
    for (const source of typeof schema.pattern === "string" ? [schema.pattern, ...names] : names) {
      left -= 1;
      if (left < 0) return undefined;
      try {
        toLinearPattern(source);
      } catch (error) {
        return messageOf(error);
      }
    }
    for (const child of childrenOf(schema)) {
      const fault = faultIn(child);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
  const fault = faultIn(root);
  if (fault === undefined) return;
  const hint = "Write it without looking around or back, and with fewer repetitions.";
  report({ pointer: "", what: ` cannot be used: ${fault.replace(/\.$/, "")}.`, hint });
}

/** Keywords that may describe further properties. */
const furtherKeywords = "$ref $dynamicRef allOf anyOf oneOf if patternProperties dependentSchemas dependencies".split(
  " ",
);

function checkRequired(schema: JsonSchema, pointer: string, { report }: SchemaCheck): void {
  const { properties, required, additionalProperties } = schema;
  if (!isRecord(properties) || !Array.isArray(required)) return;
  const describesOthers = isRecord(additionalProperties) || additionalProperties === true;
  if (describesOthers || furtherKeywords.some((keyword) => schema[keyword] !== undefined)) return;
  for (const [index, one] of required.entries()) {
    if (Object.hasOwn(properties, String(one))) continue;
    const name = JSON.stringify(one);
    const hint = didYouMean(nearest(String(one), Object.keys(properties)));
    report({
      pointer: pointerTo(pointerTo(pointer, "required"), index),
      what: ` requires ${name}, and there is no such property${pointer === "" ? "" : ` at ${pointer}`}.`,
      hint:
        hint === ""
          ? `Describe ${name} under properties, or remove it from required.`
          : `${hint} Otherwise describe ${name} under properties.`,
    });
  }
}

function checkDefault(schema: JsonSchema, pointer: string, { root, work, report }: SchemaCheck): void {
  if (!Object.hasOwn(schema, "default")) return;
  const mismatch = findMismatch(schema.default, schema, root, work);
  if (mismatch === undefined) return;
  const at = pointerTo(pointer, "default");
  const what = ` has a default that its own schema refuses, at ${at}: ${JSON.stringify(schema.default)} ${mismatch}.`;
  report({ pointer: at, what, hint: "Correct the default or the schema." });
}

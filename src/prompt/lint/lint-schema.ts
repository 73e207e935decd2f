import { messageOf } from "../../core/error.ts";
import { isKeyword, schemaKeywords } from "../../core/schema/check.ts";
import { mapChildren } from "../../core/schema/children.ts";
import { assertUsable } from "../../core/schema/interpreter/interpreter.ts";
import { isOfType } from "../../core/schema/type.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { validatorOf } from "../../core/schema/validator.ts";
import { describeIssues, Violation } from "../../core/schema/violation.ts";
import { pointerTo, stepsOf } from "../../lib/pointer.ts";
import { type FieldPath, isRecord } from "../../lib/value.ts";
import { findMisspelled } from "../front-matter/field-reader.ts";
import { findMismatch, MismatchWork } from "../front-matter/schema-mismatch.ts";
import { findSchemaMistakes } from "../front-matter/schema-mistakes.ts";
import type { Place } from "../prompt-problem.ts";
import type { Findings, LintCode } from "./lint-findings.ts";

/** A schema of a prompt, and its place. */
export interface FieldSchema {
  readonly file: string | undefined;
  readonly field: string;
  readonly schema: JsonSchema;
  placeOf(path: FieldPath): Place;
}

/**
 * Lints a schema that was parsed, with a validator.
 *
 * @returns the schema with its keywords corrected, so that what follows from a misspelled one is not reported too
 */
export async function lintSchema(given: FieldSchema, findings: Findings): Promise<JsonSchema> {
  const { field, file, placeOf } = given;
  const { unknown, schema: corrected, written } = correctKeywords(given.schema);
  const add: AddFinding = (code, pointer, what, hint) => {
    const place = placeOf([field, ...stepsOf(written(pointer))]);
    findings.add(code, { file, place, message: `${field}${what}`, hint });
  };
  for (const { pointer, word, meant } of unknown) {
    const what = ` has ${JSON.stringify(word)}, which is no keyword of JSON Schema`;
    if (meant === undefined) {
      const hint = `Remove it, or write \`x-${word}\` if it is for a program of your own.`;
      add("unknown-keyword", pointer, `${what} and has no effect.`, hint);
    } else add("misspelt-keyword", pointer, `${what}.`, `Write ${meant}.`);
  }
  // Mistakes under correct keywords were reported when the schema was parsed; the others show only now.
  const schema =
    unknown.length === 0
      ? corrected
      : (findSchemaMistakes(field, corrected, ({ pointer, what, hint }) => add("schema", pointer, what, hint)) ?? {});
  try {
    assertUsable(schema);
  } catch (error) {
    add("schema", "", ` cannot be used: ${messageOf(error)}.`, "Correct it, or put what it refers to under $defs.");
    return schema;
  }
  const samples = { root: schema, add, work: new MismatchWork(), left: maxSamples };
  for (const [pointer, inner] of schemasIn(schema)) {
    for (const what of contradictions(inner)) add("contradiction", pointer, what, "Correct one of the two.");
    await lintSamples(inner, pointer, samples);
  }
  return schema;
}

/** Adds a finding about a part of the schema; `what` follows the name of the field. */
type AddFinding = (code: LintCode, pointer: string, what: string, hint: string) => void;

/** Reports the default of a required property, which is never used. */
export function lintRequiredDefaults({ file, field, schema, placeOf }: FieldSchema, findings: Findings): void {
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  for (const [name, property] of Object.entries(isRecord(schema.properties) ? schema.properties : {})) {
    if (!required.includes(name) || !isRecord(property) || !Object.hasOwn(property, "default")) continue;
    findings.add("unused-default", {
      file,
      place: placeOf([field, "properties", name, "default"]),
      message: `${JSON.stringify(name)} is required and has a default, which is never used.`,
      hint: `Remove ${JSON.stringify(name)} from required, or the default.`,
    });
  }
}

/** A word of a schema that JSON Schema does not have. */
interface UnknownKeyword {
  /** Its pointer in the corrected schema, except for its own name. */
  readonly pointer: string;
  readonly word: string;
  /** The keyword that it is nearly. */
  readonly meant: string | undefined;
}

/** A schema with its misspelled keywords corrected. */
interface CorrectedSchema {
  readonly schema: JsonSchema;
  readonly unknown: readonly UnknownKeyword[];
  /** The pointer in the file, for one into the corrected schema. */
  written(pointer: string): string;
}

function correctKeywords(given: JsonSchema): CorrectedSchema {
  const unknown: UnknownKeyword[] = [];
  const correct = (value: unknown, pointer: string): unknown => {
    if (!isRecord(value)) return value;
    const entries = Object.entries(value).map(([word, child]): [string, unknown] => {
      if (isKeyword(word)) return [word, child];
      const near = findMisspelled(word, schemaKeywords);
      const meant = near !== undefined && !Object.hasOwn(value, near) ? near : undefined;
      unknown.push({ pointer: pointerTo(pointer, word), word, meant });
      return [meant ?? word, child];
    });
    return mapChildren(Object.fromEntries(entries), pointer, correct);
  };
  const schema = correct(given, "") as JsonSchema;
  // Inner ones first: in their pointers the outer words are still correct.
  const misspelled = unknown.filter(({ meant }) => meant !== undefined).reverse();
  return { schema, unknown, written: (pointer) => misspelled.reduce(withWrittenWord, pointer) };
}

/** The pointer with a corrected keyword as it is written. */
function withWrittenWord(pointer: string, { pointer: written, word, meant }: UnknownKeyword): string {
  const corrected = pointerTo(written.slice(0, written.lastIndexOf("/")), meant ?? word);
  const isInside = pointer === corrected || pointer.startsWith(`${corrected}/`);
  return isInside ? `${written}${pointer.slice(corrected.length)}` : pointer;
}

/** The schemas of prompts are those of strangers, however they came. */
const foreign = { trusted: false };

/** A validator is made for each sample of a schema: for more than an author writes that would take too long. */
const maxSamples = 200;

/** The samples of one schema: its defaults and examples. */
interface Samples {
  readonly root: JsonSchema;
  readonly add: AddFinding;
  readonly work: MismatchWork;
  /** The number of samples that may be validated still. */
  left: number;
}

/** Lints the default and the examples of a schema inside another. */
async function lintSamples(schema: JsonSchema, pointer: string, samples: Samples): Promise<void> {
  const { root, add, work } = samples;
  for (const [keyword, value] of samplesOf(schema)) {
    // A mismatch that parsing finds was reported then.
    if (keyword === "default" && findMismatch(value, schema, root, work) !== undefined && !isInChoice(pointer))
      continue;
    samples.left -= 1;
    if (samples.left < 0) return;
    const mismatch = await validateAt(root, pointer, value);
    if (mismatch === undefined) continue;
    const at = pointerTo(pointer, keyword);
    const text = `that its own schema refuses, at ${at}: ${JSON.stringify(value)} ${mismatch}.`;
    if (keyword === "default") add("schema", at, ` has a default ${text}`, "Correct the default or the schema.");
    else add("unfit-example", at, ` has an example ${text}`, "Correct the example or the schema.");
  }
}

/** Every schema in a schema with its pointer, itself first. */
function schemasIn(root: JsonSchema): readonly (readonly [pointer: string, schema: JsonSchema])[] {
  const found: [string, JsonSchema][] = [];
  const visit = (schema: unknown, pointer: string): unknown => {
    if (!isRecord(schema)) return schema;
    found.push([pointer, schema]);
    return mapChildren(schema, pointer, visit);
  };
  visit(root, "");
  return found;
}

/** True for a schema that parsing does not check: it checks those under properties and items only. */
const isInChoice = (pointer: string) => /\/(?:allOf|anyOf|oneOf|\$defs|definitions|prefixItems)\//.test(pointer);

function samplesOf(schema: JsonSchema): readonly (readonly [keyword: string, value: unknown])[] {
  const examples: readonly unknown[] = Array.isArray(schema.examples) ? schema.examples : [];
  const own = Object.hasOwn(schema, "default") ? [["default", schema.default] as const] : [];
  return [...own, ...examples.map((example) => ["examples", example] as const)];
}

const wrapperId = "urn:prompt:schema";

/** The reason why a value does not match a schema inside another; undefined for a match, and where the validator fails. */
async function validateAt(root: JsonSchema, pointer: string, value: unknown): Promise<string | undefined> {
  const { $id = wrapperId, $schema } = root;
  const document = {
    ...($schema === undefined ? {} : { $schema }),
    $defs: { root: { ...root, $id } },
    $ref: `${String($id)}#${pointer.split("/").map(encodeURIComponent).join("/")}`,
  };
  try {
    const result = await validatorOf(document, foreign)(value);
    return result instanceof Violation ? describeIssues(result.issues) : undefined;
  } catch {
    return undefined;
  }
}

const bounds: readonly (readonly [least: string, most: string])[] = [
  ["minimum", "maximum"],
  ["minLength", "maxLength"],
  ["minItems", "maxItems"],
  ["minProperties", "maxProperties"],
];

/** The keywords of a schema that exclude each other, as texts that follow the name of the field. */
function contradictions(schema: JsonSchema): readonly string[] {
  const crossed = bounds.flatMap(([least, most]) => {
    const [from, to] = [schema[least], schema[most]];
    return typeof from === "number" && typeof to === "number" && from > to
      ? [` has a ${least} of ${from} above its ${most} of ${to}: nothing fits.`]
      : [];
  });
  const types = schema.type === undefined ? [] : [schema.type].flat();
  const values: readonly unknown[] = Array.isArray(schema.enum) ? schema.enum : [];
  const others = values.filter((value) => types.length > 0 && !types.some((type) => isOfType(value, type)));
  return [
    ...crossed,
    ...others.map((value) => ` offers ${JSON.stringify(value)} under enum, and its type is ${types.join(" or ")}.`),
  ];
}

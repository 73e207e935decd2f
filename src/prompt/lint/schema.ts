import { messageOf } from "../../core/error.ts";
import { mapChildren } from "../../core/schema/children.ts";
import { isOfType } from "../../core/schema/type.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { validatorOf } from "../../core/schema/validator.ts";
import { describeIssues, Violation } from "../../core/schema/violation.ts";
import { pointerTo, stepsOf } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { findMisfit } from "../front-matter/misfit.ts";
import { findMistakes } from "../front-matter/schema-mistake.ts";
import type { FieldPath } from "../front-matter/yaml.ts";
import type { Place } from "../problem.ts";
import type { Findings } from "./findings.ts";
import type { LintCode } from "./rules.ts";
import { speltSchema } from "./schema-words.ts";

/** A schema of a prompt, and where it stands. */
export interface FieldSchema {
  readonly file: string | undefined;
  readonly field: string;
  readonly schema: JsonSchema;
  placeOf(path: FieldPath): Place;
}

/**
 * Looks at a schema that can be read as deep as a validator does.
 *
 * @returns the schema with words spelt right, so that what follows from a slip is not reported too
 */
export async function lintSchema(given: FieldSchema, findings: Findings): Promise<JsonSchema> {
  const { field, file, placeOf } = given;
  const { odd, schema: spelt, written } = speltSchema(given.schema);
  const add = (code: LintCode, pointer: string, what: string, hint: string) => {
    const place = placeOf([field, ...stepsOf(written(pointer))]);
    findings.add(code, { file, place, message: `${field}${what}`, hint });
  };
  for (const { pointer, word, meant } of odd) {
    const at = placeOf([field, ...stepsOf(written(pointer))]);
    const what = `${field} has ${JSON.stringify(word)}, which is no word of JSON Schema`;
    if (meant === undefined) {
      const hint = `Remove it, or write \`x-${word}\` if it is for a program of your own.`;
      findings.add("unknown-keyword", { file, place: at, message: `${what} and changes nothing.`, hint });
    } else findings.add("misspelt-keyword", { file, place: at, message: `${what}.`, hint: `Write ${meant}.` });
  }
  // What the reader saw is reported, not what the slips hid from it.
  const schema = odd.length === 0 ? spelt : soundPart(field, spelt, add);
  try {
    await validatorOf(schema)(undefined);
  } catch (error) {
    add("schema", "", ` cannot be used: ${messageOf(error)}.`, "Correct it, or put what it refers to under $defs.");
    return schema;
  }
  for (const [pointer, inner] of schemasIn(schema)) {
    for (const what of contradictions(inner)) add("contradiction", pointer, what, "Correct one of the two.");
    await lintSamples(schema, inner, pointer, add);
  }
  return schema;
}

type Add = (code: LintCode, pointer: string, what: string, hint: string) => void;

function soundPart(field: string, given: JsonSchema, add: Add): JsonSchema {
  const mistakes = findMistakes(field, given);
  for (let next = mistakes.next(); ; next = mistakes.next()) {
    if (next.done === true) return next.value ?? {};
    add("schema", next.value.pointer, next.value.what, next.value.hint);
  }
}

/** The default and the examples of a schema inside another. */
async function lintSamples(root: JsonSchema, schema: JsonSchema, pointer: string, add: Add): Promise<void> {
  for (const [keyword, value] of samplesOf(schema)) {
    // What the reader sees has been reported.
    if (keyword === "default" && findMisfit(value, schema, root) !== undefined && !isInChoice(pointer)) continue;
    const misfit = await misfitAt(root, pointer, value);
    if (misfit === undefined) continue;
    const at = pointerTo(pointer, keyword);
    const text = `that its own schema refuses, at ${at}: ${JSON.stringify(value)} ${misfit}.`;
    if (keyword === "default") add("schema", at, ` has a default ${text}`, "Correct the default or the schema.");
    else add("unfit-example", at, ` has an example ${text}`, "Correct the example or the schema.");
  }
}

/** Every schema in a schema, itself first, with its pointer. */
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

/** The parser looks into properties and items alone. */
const isInChoice = (pointer: string) => /\/(?:allOf|anyOf|oneOf|\$defs|definitions|prefixItems)\//.test(pointer);

function samplesOf(schema: JsonSchema): readonly (readonly [keyword: string, value: unknown])[] {
  const examples: readonly unknown[] = Array.isArray(schema.examples) ? schema.examples : [];
  const own = Object.hasOwn(schema, "default") ? [["default", schema.default] as const] : [];
  return [...own, ...examples.map((example) => ["examples", example] as const)];
}

const wrapper = "urn:prompt:schema";

/** Why a value does not fit a schema inside another; undefined where it does, or where that cannot be told. */
async function misfitAt(root: JsonSchema, pointer: string, value: unknown): Promise<string | undefined> {
  const { $id = wrapper, $schema } = root;
  const document = {
    ...($schema === undefined ? {} : { $schema }),
    $defs: { root: { ...root, $id } },
    $ref: `${String($id)}#${pointer.split("/").map(encodeURIComponent).join("/")}`,
  };
  try {
    const result = await validatorOf(document)(value);
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

/** What of a schema excludes itself; each follows the name of the field. */
function contradictions(schema: JsonSchema): readonly string[] {
  const crossed = bounds.flatMap(([least, most]) => {
    const [from, to] = [schema[least], schema[most]];
    return typeof from === "number" && typeof to === "number" && from > to
      ? [` has a ${least} of ${from} above its ${most} of ${to}: nothing fits.`]
      : [];
  });
  const types = schema.type === undefined ? [] : [schema.type].flat();
  const values: readonly unknown[] = Array.isArray(schema.enum) ? schema.enum : [];
  const strangers = values.filter((value) => types.length > 0 && !types.some((type) => isOfType(value, type)));
  return [
    ...crossed,
    ...strangers.map((value) => ` offers ${JSON.stringify(value)} under enum, and its type is ${types.join(" or ")}.`),
  ];
}

import { pointerTo, resolveReference } from "../../lib/pointer.ts";
import { type FieldPath, isRecord } from "../../lib/value.ts";
import { schemaLists, schemaMaps, schemaSingles } from "./children.ts";

/** A fault of a schema, and the place of it. */
export interface SchemaProblem {
  readonly pointer: string;
  readonly message: string;
}

const typeNames = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

/** True for an object that is nothing but data: an instance of a class, such as a schema of another library, is none. */
const isPlain = (value: object) => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};
const isSchema = (value: unknown) => typeof value === "boolean" || isRecord(value);
const isStringList = (value: unknown) => Array.isArray(value) && value.every((entry) => typeof entry === "string");
const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);
const isString = (value: unknown) => typeof value === "string";
const isBoolean = (value: unknown) => typeof value === "boolean";

/** Keywords whose value must have a form, and the form in words. Keywords that are not named here are left alone. */
const forms: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  type: [
    (value) => [value].flat().length > 0 && [value].flat().every((name) => typeNames.has(name as string)),
    `one of ${[...typeNames].join(", ")}, or a list of these`,
  ],
  enum: [Array.isArray, "a list of values"],
  required: [isStringList, "a list of property names"],
  properties: [isRecord, "an object of schemas"],
  patternProperties: [isRecord, "an object of schemas"],
  $defs: [isRecord, "an object of schemas"],
  definitions: [isRecord, "an object of schemas"],
  dependentSchemas: [isRecord, "an object of schemas"],
  dependentRequired: [isRecord, "an object of lists of property names"],
  uniqueItems: [isBoolean, "true or false"],
  additionalProperties: [isSchema, "a schema"],
  unevaluatedProperties: [isSchema, "a schema"],
  unevaluatedItems: [isSchema, "a schema"],
  propertyNames: [isSchema, "a schema"],
  contains: [isSchema, "a schema"],
  not: [isSchema, "a schema"],
  if: [isSchema, "a schema"],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: [isSchema, "a schema"],
  else: [isSchema, "a schema"],
  items: [(value) => isSchema(value) || Array.isArray(value), "a schema or a list of schemas"],
  prefixItems: [Array.isArray, "a list of schemas"],
  allOf: [(value) => Array.isArray(value) && value.length > 0, "a list of at least one schema"],
  anyOf: [(value) => Array.isArray(value) && value.length > 0, "a list of at least one schema"],
  oneOf: [(value) => Array.isArray(value) && value.length > 0, "a list of at least one schema"],
  minimum: [isNumber, "a number"],
  maximum: [isNumber, "a number"],
  exclusiveMinimum: [isNumber, "a number"],
  exclusiveMaximum: [isNumber, "a number"],
  multipleOf: [(value) => isNumber(value) && (value as number) > 0, "a number above 0"],
  minLength: [isCount, "a whole number from 0"],
  maxLength: [isCount, "a whole number from 0"],
  minContains: [isCount, "a whole number from 0"],
  maxContains: [isCount, "a whole number from 0"],
  minItems: [isCount, "a whole number from 0"],
  maxItems: [isCount, "a whole number from 0"],
  minProperties: [isCount, "a whole number from 0"],
  maxProperties: [isCount, "a whole number from 0"],
  format: [isString, "text"],
  title: [isString, "text"],
  description: [isString, "text"],
};

/** Keywords without a form that is checked here, of all drafts and of OpenAPI. */
const otherKeywords = new Set(
  [
    "$schema $id $ref $anchor $comment $vocabulary $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor",
    "const default examples deprecated readOnly writeOnly pattern dependencies additionalItems nullable",
    "contentMediaType contentEncoding contentSchema",
  ].flatMap((line) => line.split(" ")),
);

/** Every keyword there is, of all drafts and of OpenAPI. */
export const schemaKeywords: readonly string[] = [...Object.keys(forms), ...otherKeywords];

/** True for a keyword, and for an extension (`x-...`). */
export const isKeyword = (key: string): boolean =>
  Object.hasOwn(forms, key) || otherKeywords.has(key) || key.startsWith("x-");

/** The form that the value of a keyword should have, in a sentence; undefined where it has it, or any will do. */
export function formProblem(keyword: string, value: unknown): string | undefined {
  const form = value !== undefined && Object.hasOwn(forms, keyword) ? forms[keyword] : undefined;
  return form === undefined || form[0](value) ? undefined : `${keyword} must be ${form[1]}`;
}

const maxDepth = 100;
/** The platform takes a tenth of a millisecond to read one. */
const maxUnicodeClasses = 1_000;

/**
 * Finds what makes a document no JSON Schema (draft 2020-12 or draft-07): keys of which none is a keyword, keywords of the wrong
 * form, references that lead nowhere, patterns that are none. A structural walk, so that thousands of tools can be added without loading a validator.
 *
 * @returns the first problem, or undefined
 */
export function findSchemaProblem(document: unknown): SchemaProblem | undefined {
  if (!isRecord(document)) return { pointer: "", message: "it must be an object" };
  if (!isPlain(document)) {
    return { pointer: "", message: `it must be a plain object, and is of the class ${className(document)}` };
  }
  const root = document;
  let unicodeClasses = 0;
  return noSchemaAtAll(root) ?? walk(root, 0) ?? unwritable(root);

  // The pointer is assembled on the way back: most schemas have no problem.
  function walk(schema: unknown, depth: number): SchemaProblem | undefined {
    if (typeof schema === "boolean") return undefined;
    if (!isRecord(schema)) return { pointer: "", message: "it must be a schema: an object, true or false" };
    if (!isPlain(schema)) {
      return { pointer: "", message: `it must be plain JSON, and is of the class ${className(schema)}` };
    }
    if (depth > maxDepth)
      return { pointer: "", message: `it is nested deeper than ${maxDepth} levels, or contains itself` };
    return keywords(schema) ?? reference(schema) ?? children(schema, depth + 1);
  }

  function keywords(schema: Readonly<Record<string, unknown>>): SchemaProblem | undefined {
    for (const keyword in schema) {
      const value = schema[keyword];
      const message = formProblem(keyword, value);
      if (message !== undefined) return { pointer: pointerTo("", keyword), message };
      const problem = keyword === "pattern" ? patternProblem(value) : undefined;
      if (problem !== undefined) return { pointer: pointerTo("", keyword), message: `pattern ${problem}` };
    }
    for (const pattern in (schema.patternProperties ?? {}) as Record<string, unknown>) {
      const problem = patternProblem(pattern);
      if (problem === undefined) continue;
      return { pointer: pointerTo(pointerTo("", "patternProperties"), pattern), message: `its name ${problem}` };
    }
    return undefined;
  }

  function patternProblem(source: unknown): string | undefined {
    unicodeClasses += String(source).split(/\\p/i).length - 1;
    if (unicodeClasses > maxUnicodeClasses)
      return `must have fewer classes of Unicode: \\p is there more than ${maxUnicodeClasses} times`;
    const isPattern = typeof source === "string" && toPattern(source) !== undefined;
    return isPattern ? undefined : "must be a regular expression (ECMA-262)";
  }

  function reference(schema: Readonly<Record<string, unknown>>): SchemaProblem | undefined {
    const target = schema.$ref;
    if (target === undefined) return undefined;
    const at = pointerTo("", "$ref");
    if (typeof target !== "string") return { pointer: at, message: "$ref must be text" };
    if (target === "#") return undefined;
    if (target.startsWith("#/")) {
      return isSchema(resolveReference(root, target)) ? undefined : { pointer: at, message: `${target} leads nowhere` };
    }
    // An anchor or an $id inside the document is for the validator to find; nothing is ever fetched.
    return target.startsWith("#") || typeof root.$id === "string"
      ? undefined
      : { pointer: at, message: `${target} is outside the document, and nothing is fetched: put it under $defs` };
  }

  function children(schema: Readonly<Record<string, unknown>>, depth: number): SchemaProblem | undefined {
    for (const keyword of schemaMaps) {
      const map = schema[keyword] as Readonly<Record<string, unknown>> | undefined;
      if (map === undefined) continue;
      for (const key of Object.keys(map)) {
        const problem = walk(map[key], depth);
        if (problem !== undefined) return inside(problem, keyword, key);
      }
    }
    const hasItemList = Array.isArray(schema.items);
    for (const keyword of hasItemList ? listsWithItems : schemaLists) {
      const list = schema[keyword] as readonly unknown[] | undefined;
      for (const [index, child] of list === undefined ? [] : list.entries()) {
        const problem = walk(child, depth);
        if (problem !== undefined) return inside(problem, keyword, index);
      }
    }
    for (const keyword of hasItemList ? schemaSingles : singlesWithItems) {
      const problem = schema[keyword] === undefined ? undefined : walk(schema[keyword], depth);
      if (problem !== undefined) return inside(problem, keyword);
    }
    return undefined;
  }
}

const listsWithItems = [...schemaLists, "items"];
const singlesWithItems = [...schemaSingles, "items"];

/** A problem of a schema as one of what the schema stands in. */
function inside({ pointer, message }: SchemaProblem, ...steps: FieldPath): SchemaProblem {
  return { pointer: steps.reduce<string>(pointerTo, "") + pointer, message };
}

/** A shape such as `{ name: z.string() }`: a validator passes over what it does not know, and would take any value. */
function noSchemaAtAll(document: Readonly<Record<string, unknown>>): SchemaProblem | undefined {
  const keys = Object.keys(document);
  if (keys.length === 0 || keys.some(isKeyword)) return undefined;
  const message = 'none of its keys is a keyword of JSON Schema: write { type: "object", properties: { ... } }';
  return { pointer: "", message };
}

/** The first value that cannot be written as JSON, such as a BigInt as a default. */
function unwritable(document: Readonly<Record<string, unknown>>): SchemaProblem | undefined {
  try {
    JSON.stringify(document);
    return undefined;
  } catch (error) {
    return { pointer: "", message: `it cannot be written as JSON (${(error as Error).message.split("\n")[0]})` };
  }
}

function className(value: object): string {
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "" ? name : "an unnamed one";
}

/**
 * A JSON Schema pattern as a regular expression: with the `u` flag as the specification wants it, else without, as many schemas in
 * the wild are written. Undefined where it is none.
 */
export function toPattern(source: string): RegExp | undefined {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(source, flags);
    } catch {}
  }
  return undefined;
}

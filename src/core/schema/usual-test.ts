import { isRecord } from "../../lib/value.ts";
import type { JsonSchema } from "./types.ts";
import { isUsualSchema } from "./usual-schema.ts";

/** Whether a value fits. */
type Test = (value: unknown) => boolean;
type Fields = Readonly<Record<string, unknown>>;

/**
 * The test of a schema of the usual form, with the verdicts of ajv and without ajv: to load that takes 12 MB and 50 ms, and the values of most calls
 * fit. Undefined for a schema of another form, and for one that names what every object has, whose absence only ajv's `ownProperties` sees.
 */
export function usualTest(schema: JsonSchema): Test | undefined {
  return isUsualSchema(schema) && !namesInherited(schema) ? testOf(schema) : undefined;
}

/** True where a member is called as what every object has: its absence must not be taken for a function. Looking costs each validation. */
export function namesInherited(schema: JsonSchema): boolean {
  const text = JSON.stringify(schema);
  return Object.getOwnPropertyNames(Object.prototype).some((name) => text.includes(`"${name}"`));
}

/** Undefined where a keyword has a value that ajv refuses. */
function testOf(schema: JsonSchema): Test | undefined {
  const tests: Test[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const make = makers[keyword];
    if (make === undefined) continue;
    const test = make(value, schema);
    if (test === undefined) return undefined;
    tests.push(test);
  }
  const [only, ...others] = tests;
  if (only !== undefined && others.length === 0) return only;
  return (value) => {
    for (const test of tests) if (!test(value)) return false;
    return true;
  };
}

/** The keywords of the usual form that say something about a value; all others of it are notes. */
const makers: Readonly<Partial<Record<string, (given: unknown, schema: JsonSchema) => Test | undefined>>> = {
  type: typeTest,
  properties: propertiesTest,
  items: itemsTest,
  required: requiredTest,
  additionalProperties: onlyKnownTest,
  enum: (given) => {
    const choices = new Set(given as readonly unknown[]);
    return (value) => choices.has(value);
  },
  const: (given) => (value) => value === given,
  minimum: numberTest((value, limit) => value >= limit),
  maximum: numberTest((value, limit) => value <= limit),
  exclusiveMinimum: numberTest((value, limit) => value > limit),
  exclusiveMaximum: numberTest((value, limit) => value < limit),
  multipleOf: numberTest((value, factor) => value / factor === Number.parseInt(String(value / factor), 10)),
  minLength: (given) => (value) => typeof value !== "string" || lengthOf(value) >= (given as number),
  maxLength: (given) => (value) => typeof value !== "string" || lengthOf(value) <= (given as number),
  minItems: (given) => (value) => !Array.isArray(value) || value.length >= (given as number),
  maxItems: (given) => (value) => !Array.isArray(value) || value.length <= (given as number),
};

const types: Readonly<Partial<Record<string, Test>>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  // NaN is none; an infinite number is one to ajv.
  integer: (value) => typeof value === "number" && !Number.isNaN(value) && !(value % 1),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: Array.isArray,
  object: isRecord,
};

function typeTest(given: unknown): Test | undefined {
  const wanted = [given].flat().map((name) => types[String(name)]);
  const [only, ...others] = wanted;
  if (only === undefined || wanted.includes(undefined)) return undefined;
  return others.length === 0 ? only : (value) => wanted.some((test) => test?.(value) === true);
}

function propertiesTest(given: unknown): Test | undefined {
  const members: { readonly name: string; readonly test: Test }[] = [];
  for (const [name, schema] of Object.entries(given as Readonly<Record<string, JsonSchema>>)) {
    const test = testOf(schema);
    if (test === undefined) return undefined;
    members.push({ name, test });
  }
  return (value) => {
    if (!isRecord(value)) return true;
    for (const { name, test } of members) {
      const member = value[name];
      if (member !== undefined && !test(member)) return false;
    }
    return true;
  };
}

function itemsTest(given: unknown): Test | undefined {
  const test = testOf(given as JsonSchema);
  if (test === undefined) return undefined;
  return (value) => {
    if (!Array.isArray(value)) return true;
    // By index, since a hole in a list is no entry for its own methods.
    for (let at = 0; at < value.length; at += 1) if (!test(value[at])) return false;
    return true;
  };
}

function requiredTest(given: unknown): Test {
  const names = given as readonly string[];
  return (value) => {
    if (!isRecord(value)) return true;
    for (const name of names) if (value[name] === undefined) return false;
    return true;
  };
}

function onlyKnownTest(given: unknown, { properties = {} }: JsonSchema): Test {
  if (given === true) return () => true;
  const known = new Set(Object.keys(properties as Fields));
  return (value) => {
    if (!isRecord(value)) return true;
    for (const name in value) if (!known.has(name)) return false;
    return true;
  };
}

/** A value that is no number fits. */
function numberTest(fits: (value: number, given: number) => boolean): (given: unknown) => Test {
  return (given) => (value) => typeof value !== "number" || fits(value, given as number);
}

/** In characters, of which some are two units. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

import type { JsonSchema } from "../../../src/core/schema/types.ts";
import { isRecord } from "../../../src/lib/value.ts";

// The schemas that providers take, written down once more from their documentation, apart from the code under test.

/** The parts of a schema that a provider would refuse; empty where it takes it. */
export type Grammar = (schema: JsonSchema) => readonly string[];

type Check = (schema: JsonSchema, path: string, isRoot: boolean) => readonly string[];

function walk(schema: unknown, path: string, check: Check, isRoot = true): string[] {
  if (!isRecord(schema)) return [`${path} is ${JSON.stringify(schema)}`];
  const children = Object.entries(schema).flatMap(([keyword, value]): string[] => {
    const at = `${path}/${keyword}`;
    if (["properties", "$defs"].includes(keyword) && isRecord(value))
      return Object.entries(value).flatMap(([name, child]) => walk(child, `${at}/${name}`, check, false));
    if (keyword === "anyOf" && Array.isArray(value))
      return value.flatMap((child, index) => walk(child, `${at}/${index}`, check, false));
    return keyword === "items" ? walk(value, at, check, false) : [];
  });
  return [...check(schema, path, isRoot), ...children];
}

const strictKeywords = new Set(
  [
    "type description properties required additionalProperties items anyOf enum $ref $defs pattern format",
    "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems",
  ].flatMap((line) => line.split(" ")),
);

export const openAIStrict: Grammar = (root) =>
  walk(root, "", (schema, path, isRoot) => {
    const problems = Object.keys(schema).flatMap((key) => (strictKeywords.has(key) ? [] : [`${path} has ${key}`]));
    const types = [schema.type].flat();
    if (isRoot && (schema.type !== "object" || schema.anyOf !== undefined)) problems.push("the root is no object");
    if (schema.$ref !== undefined) {
      const ref = String(schema.$ref);
      const name = ref.replace("#/$defs/", "");
      if (Object.keys(schema).length > 1) problems.push(`${path} has something beside a reference`);
      if (ref !== "#" && !(isRecord(root.$defs) && Object.hasOwn(root.$defs, name)))
        problems.push(`${ref} leads nowhere`);
      return problems;
    }
    if (schema.anyOf === undefined && schema.type === undefined) problems.push(`${path} has no type`);
    if (types.includes("object")) {
      if (schema.additionalProperties !== false) problems.push(`${path} is open`);
      const names = Object.keys(isRecord(schema.properties) ? schema.properties : {});
      if (JSON.stringify(schema.required) !== JSON.stringify(names)) problems.push(`${path} has optional members`);
    }
    if (types.includes("array") && !isRecord(schema.items)) problems.push(`${path} has no items`);
    return problems;
  });

export const plain =
  (memberName: RegExp): Grammar =>
  (root) =>
    walk(root, "", (schema, path, isRoot) => {
      const problems: string[] = [];
      if (isRoot) {
        if (schema.type !== "object") problems.push("the root is no object");
        if (!isRecord(schema.properties)) problems.push("the root has no properties");
        for (const keyword of ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"])
          if (schema[keyword] !== undefined) problems.push(`the root has ${keyword}`);
      }
      for (const name of Object.keys(isRecord(schema.properties) ? schema.properties : {}))
        if (!memberName.test(name)) problems.push(`${path} has the member ${name}`);
      if ([schema.type].flat().includes("array") && schema.items === undefined) problems.push(`${path} has no items`);
      return problems;
    }).filter((problem) => !/ is (true|false)$/.test(problem));

const googleKeywords: { readonly [type in string]?: readonly string[] } = {
  STRING: ["format", "enum", "minLength", "maxLength"],
  NUMBER: ["format", "minimum", "maximum"],
  INTEGER: ["format", "minimum", "maximum"],
  BOOLEAN: [],
  ARRAY: ["items", "minItems", "maxItems"],
  OBJECT: ["properties", "required"],
};

export const google: Grammar = (root) =>
  walk(root, "", (schema, path, isRoot) => {
    const problems: string[] = [];
    const { type, anyOf, properties, required, format, enum: choices } = schema;
    if (isRoot && type !== "OBJECT") problems.push("the root is no object");
    if (anyOf !== undefined) {
      if (Object.keys(schema).length > 1) problems.push(`${path} has something beside anyOf`);
      if (!Array.isArray(anyOf) || anyOf.length < 2) problems.push(`${path} has an anyOf of one`);
      return problems;
    }
    const allowed = googleKeywords[String(type)];
    if (allowed === undefined) return [`${path} has the type ${String(type)}`];
    for (const key of Object.keys(schema))
      if (!["type", "description", "nullable", ...allowed].includes(key)) problems.push(`${path} has ${key}`);
    if (type === "ARRAY" && schema.items === undefined) problems.push(`${path} has no items`);
    for (const count of ["minItems", "maxItems", "minLength", "maxLength"])
      if (schema[count] !== undefined && !/^\d+$/.test(String(schema[count])))
        problems.push(`${path} has a bad ${count}`);
    const formats = { STRING: ["enum", "date-time"], NUMBER: ["float", "double"], INTEGER: ["int32", "int64"] };
    const mayHave: readonly string[] = formats[type as keyof typeof formats] ?? [];
    if (format !== undefined && !mayHave.includes(String(format))) problems.push(`${path} has the format ${format}`);
    if ((format === "enum") !== (choices !== undefined)) problems.push(`${path} has enum and format apart`);
    if (choices !== undefined) {
      if (!Array.isArray(choices) || choices.length === 0) problems.push(`${path} has no choices`);
      else if (choices.some((one) => typeof one !== "string" || one === "")) problems.push(`${path} has odd choices`);
    }
    if (properties !== undefined) {
      const names = Object.keys(isRecord(properties) ? properties : {});
      if (names.length === 0) problems.push(`${path} has empty properties`);
      if (names.some((name) => !/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name))) problems.push(`${path} has odd names`);
      if (Array.isArray(required) && required.some((name) => !names.includes(name)))
        problems.push(`${path} requires more`);
    } else if (required !== undefined) problems.push(`${path} requires what it has not`);
    return problems;
  });

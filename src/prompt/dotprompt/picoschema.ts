import type { JsonSchema } from "../../core/schema/types.ts";
import { didYouMean, nearest } from "../../lib/similar.ts";
import { type FieldPath, isRecord } from "../../lib/value.ts";

/** A mistake in Picoschema, with the path to it. */
export interface PicoschemaProblem {
  readonly path: FieldPath;
  /** Follows the name of the field. */
  readonly what: string;
  readonly hint: string;
}

/** Receives a problem; the part of the schema it is in is then left out. */
export type ReportPicoschema = (problem: PicoschemaProblem) => void;

const scalars: ReadonlySet<string> = new Set(["string", "number", "integer", "boolean", "null", "any"]);
const wildcard = "(*)";

/** True for a JSON Schema in place of Picoschema: an object with a type of JSON Schema, or with `properties`. */
export function isJsonSchema(value: unknown): value is JsonSchema {
  if (!isRecord(value)) return false;
  const { type } = value;
  const isType = typeof type === "string" && (scalars.has(type) || type === "object" || type === "array");
  return isType || isRecord(value.properties) || Array.isArray(type);
}

/**
 * Converts Picoschema, the short form of schemas in dotprompt, to JSON Schema: every property is required unless its name ends in `?`,
 * which lets it be null too; others are refused unless there is a `(*)`.
 *
 * @see https://google.github.io/dotprompt/reference/picoschema/
 */
export function picoschemaToJsonSchema(value: unknown, report: ReportPicoschema): JsonSchema | undefined {
  return typeOf(value, [], report);
}

function typeOf(value: unknown, path: PicoschemaProblem["path"], report: ReportPicoschema): JsonSchema | undefined {
  if (typeof value === "string") return scalarOf(value, path, report);
  if (isRecord(value)) return objectOf(value, path, report);
  const what =
    value === null || value === undefined ? "nothing" : Array.isArray(value) ? "a list" : JSON.stringify(value);
  const hint = Array.isArray(value)
    ? "Write a choice as `name(enum): [A, B]`, and a list as `name(array): string`."
    : "Write a type such as `string`, with a description after a comma, or properties.";
  report({ path, what: ` is no Picoschema: there is ${what} where a type is to be.`, hint });
  return undefined;
}

function scalarOf(text: string, path: PicoschemaProblem["path"], report: ReportPicoschema): JsonSchema | undefined {
  const { type, description } = parseType(text);
  const described = description === undefined ? {} : { description };
  if (scalars.has(type)) return type === "any" ? described : { type, ...described };
  report({ path, what: ` is no Picoschema: there is no type ${JSON.stringify(type)}.`, hint: typeHint(text, type) });
  return undefined;
}

function typeHint(text: string, type: string): string {
  const list = /^(\w+)\[\]/.exec(type)?.[1];
  if (list !== undefined) return `Write a list as \`name(array): ${list}\`.`;
  const choices = [...text.matchAll(/["']([^"']+)["']/g)].map(([, choice]) => choice);
  if (text.includes("|") && choices.length > 0) return `Write a choice as \`name(enum): [${choices.join(", ")}]\`.`;
  if (type === "object" || type === "array") return `Write \`name(${type}):\`, and what it holds below.`;
  const hint = didYouMean(nearest(type, scalars));
  const types = [...scalars].join(", ");
  if (hint !== "") return `${hint} The types are ${types}.`;
  return /^[A-Z]/.test(type) ? "A schema of another file has no name here: write it out." : `The types are ${types}.`;
}

function objectOf(
  value: Readonly<Record<string, unknown>>,
  path: PicoschemaProblem["path"],
  report: ReportPicoschema,
): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  let additionalProperties: JsonSchema | false = false;
  for (const [written, inner] of Object.entries(value)) {
    const here = [...path, written];
    if (written === wildcard) {
      additionalProperties = typeOf(inner, here, report) ?? {};
      continue;
    }
    const key = parsePropertyName(written);
    if (key === undefined || key.name === "") {
      const what = ` is no Picoschema: ${JSON.stringify(written)} is no name of a property.`;
      report({ path: here, what, hint: "Write it as in `tags?(array, what they are for): string`." });
      continue;
    }
    const property = propertyOf(key, inner, here, report);
    if (property !== undefined) Object.defineProperty(properties, key.name, { ...plain, value: property });
    if (!key.isOptional) required.push(key.name);
  }
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }), additionalProperties };
}

// Assignment would not make a property that is called __proto__.
const plain = { enumerable: true, configurable: true, writable: true };

function propertyOf(
  key: PicoschemaProperty,
  value: unknown,
  path: PicoschemaProblem["path"],
  report: ReportPicoschema,
): JsonSchema | undefined {
  const described = key.description === undefined ? {} : { description: key.description };
  if (key.type === "enum") return enumOf(key, value, path, report);
  if (key.type === "array") {
    const items = typeOf(value, path, report);
    return items === undefined
      ? undefined
      : { type: key.isOptional ? ["array", "null"] : "array", ...described, items };
  }
  if (key.type === undefined || key.type === "object") {
    const schema = typeOf(value, path, report);
    return schema === undefined ? undefined : { ...(key.isOptional ? orNull(schema) : schema), ...described };
  }
  const what = ` is no Picoschema: ${JSON.stringify(key.type)} stands in parentheses.`;
  const hint = scalars.has(key.type)
    ? `Write \`${key.name}${key.isOptional ? "?" : ""}: ${key.type}\`.`
    : "In parentheses stand array, object or enum.";
  report({ path, what, hint });
  return undefined;
}

function enumOf(
  { isOptional, description }: PicoschemaProperty,
  value: unknown,
  path: PicoschemaProblem["path"],
  report: ReportPicoschema,
): JsonSchema | undefined {
  if (!Array.isArray(value) || value.length === 0) {
    const hint = "Write the values in brackets: `color(enum): [RED, BLUE]`.";
    report({ path, what: " is no Picoschema: an enum needs a list of values.", hint });
    return undefined;
  }
  const values: readonly unknown[] = value;
  const described = description === undefined ? {} : { description };
  return { ...described, enum: isOptional && !values.includes(null) ? [...values, null] : values };
}

/** The schema of an optional value, which may be null. */
function orNull(schema: JsonSchema): JsonSchema {
  return typeof schema.type === "string" && schema.type !== "null"
    ? { ...schema, type: [schema.type, "null"] }
    : schema;
}

/** The name of a property in Picoschema: `tags?(array, what they are for)`. */
interface PicoschemaProperty {
  readonly name: string;
  readonly isOptional: boolean;
  /** The word in parentheses before the comma. */
  readonly type: string | undefined;
  readonly description: string | undefined;
}

/** Parses the name of a property; undefined for a parenthesis without an end. */
function parsePropertyName(key: string): PicoschemaProperty | undefined {
  const open = key.indexOf("(");
  const bare = (open === -1 ? key : key.slice(0, open)).trim();
  if (open !== -1 && !key.trimEnd().endsWith(")")) return undefined;
  const inside = open === -1 ? undefined : parseType(key.trimEnd().slice(open + 1, -1));
  const isOptional = bare.endsWith("?");
  return {
    name: isOptional ? bare.slice(0, -1) : bare,
    isOptional,
    type: inside?.type,
    description: inside?.description,
  };
}

/** Parses `string, who is greeted`: a type, and a description after the first comma. */
function parseType(text: string): { readonly type: string; readonly description: string | undefined } {
  const comma = text.indexOf(",");
  if (comma === -1) return { type: text.trim(), description: undefined };
  const description = text.slice(comma + 1).trim();
  return { type: text.slice(0, comma).trim(), description: description === "" ? undefined : description };
}

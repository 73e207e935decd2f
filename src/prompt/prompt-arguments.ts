import type { PromptArgument } from "../core/item.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import { resolveReference } from "../lib/pointer.ts";
import { isRecord, jsonIn } from "../lib/value.ts";

/** The name of the argument for an input that is no object. */
const wholeInput = "input";

/**
 * The arguments MCP shows for a prompt: the top-level properties of its input; for an input that is no object, one named `input`.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/prompts
 */
export function promptArguments(input: JsonSchema | undefined): readonly PromptArgument[] {
  if (input === undefined) return [];
  const schema = resolved(input, input);
  if (!describesObject(schema)) return [argument(wholeInput, schema, true)];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(propertiesOf(schema)).map(([name, property]) =>
    argument(name, resolved(property, input), required.includes(name)),
  );
}

/** The values that the schema of an argument lists: its `enum` or `const`, true and false, or those of its choices. */
export function argumentChoices(input: JsonSchema | undefined, name: string): readonly string[] {
  if (input === undefined) return [];
  const schema = resolved(input, input);
  const property = describesObject(schema)
    ? ownOf(propertiesOf(schema), name)
    : name === wholeInput
      ? schema
      : undefined;
  return property === undefined ? [] : [...new Set(listedValues(resolved(property, input), input, 0))];
}

function ownOf(properties: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function listedValues(schema: JsonSchema, root: JsonSchema, depth: number): readonly string[] {
  const { enum: listed, const: only } = schema;
  if (Array.isArray(listed)) return listed.map(spelled);
  if (only !== undefined) return [spelled(only)];
  if (schema.type === "boolean") return ["true", "false"];
  const choices = [schema.anyOf, schema.oneOf].filter(Array.isArray).flat();
  return depth > maxDepth ? [] : choices.flatMap((choice) => listedValues(resolved(choice, root), root, depth + 1));
}

/** A value as it is written in an argument, which is text. */
function spelled(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * Converts MCP's arguments, which are all text, to an input: each to the type of its schema (`"10"` is 10, `"true"` is true, JSON is
 * an object or a list). Text that cannot be converted stays text, for validation to refuse.
 */
export function coerceArguments(input: JsonSchema | undefined, args: Readonly<Record<string, string>>): unknown {
  if (input === undefined) return { ...args };
  const schema = resolved(input, input);
  if (!describesObject(schema)) {
    const text = Object.hasOwn(args, wholeInput) ? args[wholeInput] : undefined;
    return text === undefined ? undefined : coerce(text, schema, input, 0);
  }
  const properties = propertiesOf(schema);
  const others = schema.additionalProperties;
  return Object.fromEntries(
    Object.entries(args).map(([name, text]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : others;
      return [name, coerce(text, resolved(property, input), input, 0)];
    }),
  );
}

/** The schema with its local `$ref` resolved and the keywords beside it kept; `{}` for a schema without keywords. */
function resolved(schema: unknown, root: JsonSchema): JsonSchema {
  let current = isRecord(schema) ? schema : {};
  for (let steps = 0; typeof current.$ref === "string" && current.$ref.startsWith("#/") && steps < 10; steps += 1) {
    const { $ref, ...beside } = current;
    const target = resolveReference(root, String($ref));
    current = { ...(isRecord(target) ? target : {}), ...beside };
  }
  return current;
}

function typesOf(schema: JsonSchema): readonly unknown[] {
  return schema.type === undefined ? [] : [schema.type].flat();
}

/** True for a schema of type object, and for one without a type: the input of a prompt is an object by default. */
function describesObject(schema: JsonSchema): boolean {
  const types = typesOf(schema);
  return types.length === 0 || types.includes("object");
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, unknown>> {
  return isRecord(schema.properties) ? schema.properties : {};
}

function argument(name: string, schema: JsonSchema, required: boolean): PromptArgument {
  const { title, description } = schema;
  return {
    name,
    ...(typeof title === "string" ? { title } : {}),
    ...(typeof description === "string" ? { description } : {}),
    required,
  };
}

const decimal = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const maxDepth = 10;

function coerce(text: string, schema: JsonSchema, root: JsonSchema, depth: number): unknown {
  if (Array.isArray(schema.enum)) return schema.enum.includes(text) ? text : spelledValue(text, schema.enum);
  if (Object.hasOwn(schema, "const")) return schema.const === text ? text : spelledValue(text, [schema.const]);
  const types = typesOf(schema);
  if (types.length > 0) return coerceToType(text, types);
  for (const keyword of ["anyOf", "oneOf"]) {
    const choices = schema[keyword];
    if (!Array.isArray(choices) || depth > maxDepth) continue;
    const schemas = choices.map((choice) => resolved(choice, root));
    if (schemas.some((choice) => typesOf(choice).includes("string"))) return text;
    for (const choice of schemas) {
      const value = coerce(text, choice, root, depth + 1);
      if (value !== text) return value;
    }
  }
  return text;
}

/** The JSON value, among those allowed, that the text spells; else the text. */
function spelledValue(text: string, values: readonly unknown[]): unknown {
  return values.find((value) => typeof value !== "string" && JSON.stringify(value) === text.trim()) ?? text;
}

function coerceToType(text: string, types: readonly unknown[]): unknown {
  if (types.includes("string")) return text;
  const trimmed = text.trim();
  if (types.includes("number") || types.includes("integer")) {
    const value = decimal.test(trimmed) ? Number(trimmed) : Number.NaN;
    const fits = Number.isInteger(value)
      ? Number.isSafeInteger(value)
      : types.includes("number") && Number.isFinite(value);
    if (fits) return value;
  }
  if (types.includes("boolean") && (trimmed === "true" || trimmed === "false")) return trimmed === "true";
  if (types.includes("null") && trimmed === "null") return null;
  return types.includes("object") || types.includes("array") ? (parseJson(trimmed, types) ?? text) : text;
}

function parseJson(text: string, types: readonly unknown[]): unknown {
  const value = jsonIn(text);
  const fits = Array.isArray(value) ? types.includes("array") : isRecord(value) && types.includes("object");
  return fits ? value : undefined;
}

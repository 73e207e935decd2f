import type { JsonSchema } from "../../core/schema/types.ts";
import { type FieldPath, isRecord } from "../../lib/value.ts";
import type { FieldReader } from "../front-matter/field-reader.ts";
import { isJsonSchema, picoschemaToJsonSchema } from "./picoschema.ts";

/** Parses a schema in Picoschema or JSON Schema. */
function parseSchema(reader: FieldReader, path: FieldPath, value: unknown): JsonSchema | undefined {
  if (value === undefined || value === null) return undefined;
  if (isJsonSchema(value)) {
    return reader.schemaAt(path, value.type === undefined ? { type: "object", ...value } : value);
  }
  let isSound = true;
  const schema = picoschemaToJsonSchema(value, (problem) => {
    isSound = false;
    reader.reject([...path, ...problem.path], `${path.join(".")}${problem.what}`, problem.hint, "schema");
  });
  return isSound ? schema : undefined;
}

/** Parses `input: { schema, default }`. A property with a default is optional. */
export function parseInput(reader: FieldReader): JsonSchema | undefined {
  const input = partsOf(reader, "input", ["schema", "default"]);
  if (input === undefined) return undefined;
  const schema = parseSchema(reader, ["input", "schema"], input.schema);
  const defaults = input.default ?? undefined;
  if (defaults === undefined) return schema;
  if (!isRecord(defaults) || (schema !== undefined && schema.type !== "object")) {
    return reader.reject(
      ["input", "default"],
      "input.default must name a value for each of some properties.",
      "Write it as in `default: { style: formal }`.",
    );
  }
  return reader.schemaAt(["input", "default"], withDefaults(reader, schema ?? { type: "object" }, defaults));
}

function withDefaults(
  reader: FieldReader,
  schema: JsonSchema,
  defaults: Readonly<Record<string, unknown>>,
): JsonSchema {
  const properties: Record<string, unknown> = { ...(isRecord(schema.properties) ? schema.properties : {}) };
  for (const [name, value] of Object.entries(defaults)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : {};
    if (!Object.hasOwn(properties, name) && schema.additionalProperties === false) {
      reader.reject(
        ["input", "default", name],
        `input.default has ${JSON.stringify(name)}, which input.schema does not describe.`,
        "Describe it, or correct the name.",
      );
    }
    properties[name] = isRecord(property) ? { ...property, default: value } : { default: value };
  }
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const { required: _, ...others } = schema;
  const left = required.filter((name) => !Object.hasOwn(defaults, String(name)));
  return { ...others, properties, ...(left.length === 0 ? {} : { required: left }) };
}

const formatHints: Readonly<Record<string, string>> = {
  array: "Write `format: json`, and a schema of `type: array`.",
  enum: "Write `format: json`, and a schema with `enum`.",
  jsonl: "Write `format: json`, and a schema of `type: array`.",
};

/** Parses `output: { format, schema }`. With a schema the format is JSON by default. */
export function parseOutput(reader: FieldReader): JsonSchema | undefined {
  const output = partsOf(reader, "output", ["format", "schema", "contentType"]);
  if (output === undefined) return undefined;
  const schema = parseSchema(reader, ["output", "schema"], output.schema);
  const format = output.format ?? (schema === undefined ? "text" : "json");
  if (format === "json") return schema ?? {};
  if (format !== "text") {
    const hint = formatHints[String(format)] ?? "Write `format: json` or `format: text`.";
    return reader.reject(["output", "format"], `There is no format ${JSON.stringify(format)}.`, hint);
  }
  if (schema === undefined) return undefined;
  return reader.reject(["output", "format"], "A text has no schema.", "Write `format: json`, or remove the schema.");
}

function partsOf(
  reader: FieldReader,
  field: string,
  known: readonly string[],
): Readonly<Record<string, unknown>> | undefined {
  const value = reader.value(field);
  if (value === undefined) return undefined;
  const example = `Write \`${field}: { schema: { text: string } }\`.`;
  if (!isRecord(value)) return reader.reject([field], `${field} must be an object.`, example);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return value;
  return reader.reject([field, unknown], `${field} has no ${unknown}: a schema stands under \`schema\`.`, example);
}

import { isRecord } from "../../lib/value.ts";
import { messageOf, ToolkitError } from "../error.ts";
import { findSchemaProblem } from "./check.ts";
import { isStandardSchema, isTypedSchema, type JsonSchema } from "./types.ts";

/** The owner of a schema, for messages: `the input schema of the tool "greet"`. */
export interface SchemaOwner {
  readonly what: string;
  readonly direction: "input" | "output";
}

/**
 * The JSON Schema (draft 2020-12) of any schema Toolweave takes, checked.
 *
 * @throws ToolkitError `INVALID_SCHEMA`, naming the place inside the schema
 */
export function toJsonSchema(schema: unknown, owner: SchemaOwner): JsonSchema {
  const document = isStandardSchema(schema) ? fromStandardSchema(schema, owner) : schema;
  const problem = findSchemaProblem(document);
  if (problem === undefined) return document as JsonSchema;
  const at = problem.pointer === "" ? "" : ` at ${problem.pointer}`;
  throw new ToolkitError("INVALID_SCHEMA", `The ${owner.what} is no JSON Schema: ${problem.message}${at}.`, {
    pointer: problem.pointer,
  });
}

/**
 * As `toJsonSchema`, for what describes an object: the input of a tool.
 *
 * @throws ToolkitError `INVALID_SCHEMA`
 */
export function toObjectSchema(schema: unknown, owner: SchemaOwner): JsonSchema {
  const document = toJsonSchema(schema, owner);
  const type = document.type;
  if (type === "object") return document;
  if (type === undefined) return { type: "object", ...document };
  throw new ToolkitError(
    "INVALID_SCHEMA",
    `The ${owner.what} must describe an object (type: "object"), and describes ${JSON.stringify(type)}: give the value a name.`,
    { pointer: "/type" },
  );
}

function fromStandardSchema(
  schema: { readonly "~standard": { readonly vendor?: string } },
  owner: SchemaOwner,
): unknown {
  const vendor = schema["~standard"].vendor ?? "unknown";
  if (!isTypedSchema(schema)) {
    const how =
      vendor === "valibot"
        ? "Wrap it: toStandardJsonSchema(schema) of @valibot/to-json-schema."
        : "Use zod 4.2 or later, arktype, valibot through toStandardJsonSchema, or a plain JSON Schema.";
    throw new ToolkitError("INVALID_SCHEMA", `The ${owner.what} (${vendor}) does not know its JSON Schema. ${how}`, {
      pointer: "",
    });
  }
  try {
    // A copy: what zod gives is a Standard Schema again, which validates and transforms.
    const given: unknown = schema["~standard"].jsonSchema[owner.direction]({ target: "draft-2020-12" });
    return isRecord(given) ? { ...given } : given;
  } catch (cause) {
    throw new ToolkitError(
      "INVALID_SCHEMA",
      `The ${owner.what} (${vendor}) has no JSON Schema: ${messageOf(cause).replace(/\.$/, "")}. Describe what goes over the wire, and transform it.`,
      { pointer: "" },
      { cause },
    );
  }
}

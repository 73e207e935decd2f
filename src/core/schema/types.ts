/**
 * A JSON Schema document (draft 2020-12 or draft-07), as it is written on the wire.
 *
 * @see https://json-schema.org/draft/2020-12
 */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Whether a document says that it is of draft-07, or of an older draft; else it is of 2020-12. */
export function isDraft07({ $schema }: JsonSchema): boolean {
  return typeof $schema === "string" && /draft-0[467]/.test($schema);
}

/** One thing a Standard Schema found wrong. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The result of a Standard Schema's `validate`. */
export type StandardResult<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/**
 * A schema that validates by itself and has a JSON Schema: zod 4.2 or later, arktype, and valibot through
 * `toStandardJsonSchema` of `@valibot/to-json-schema`.
 *
 * @see https://standardschema.dev the Standard Schema and Standard JSON Schema specifications
 */
export interface TypedSchema<In = unknown, Out = In> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
      options?: { readonly libraryOptions?: Record<string, unknown> | undefined } | undefined,
    ) => StandardResult<Out> | Promise<StandardResult<Out>>;
    readonly types?: { readonly input: In; readonly output: Out } | undefined;
    readonly jsonSchema: {
      readonly input: (options: JsonSchemaOptions) => Record<string, unknown>;
      readonly output: (options: JsonSchemaOptions) => Record<string, unknown>;
    };
  };
}

/** The arguments of a Standard JSON Schema converter. */
export interface JsonSchemaOptions {
  readonly target: "draft-2020-12" | "draft-07" | "openapi-3.0" | ({} & string);
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

/** A schema that Toolweave accepts. */
export type SchemaLike = TypedSchema | JsonSchema;

/** The type of a value before validation by the schema. */
export type InputOf<S> = S extends TypedSchema<infer In, unknown> ? In : unknown;

/** The type of a value after validation by the schema. */
export type OutputOf<S> = S extends TypedSchema<unknown, infer Out> ? Out : unknown;

/** True for a Standard Schema, whether or not it knows its JSON Schema. */
export function isStandardSchema(
  schema: unknown,
): schema is { readonly "~standard": Partial<TypedSchema["~standard"]> } {
  return (
    schema !== null &&
    (typeof schema === "object" || typeof schema === "function") &&
    typeof (schema as { "~standard"?: unknown })["~standard"] === "object" &&
    (schema as { "~standard"?: unknown })["~standard"] !== null
  );
}

/** True for a Standard Schema that knows its JSON Schema. */
export function isTypedSchema(schema: unknown): schema is TypedSchema {
  if (!isStandardSchema(schema)) return false;
  const standard = schema["~standard"];
  return typeof standard.validate === "function" && typeof standard.jsonSchema?.input === "function";
}

import type { JsonSchema } from "../../core/schema/types.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isJsonType } from "../../resource/media-type.ts";
import type { ListedOperation } from "./list-operations.ts";
import type { OpenApiDocument, Placed } from "./openapi-document.ts";
import { SchemaTooLarge, type SharedSchemas } from "./shared-schemas.ts";

/** The answers of an operation that succeeds. */
export interface OperationOutput {
  /** The media types that are asked for, each once; none where an answer has no body. */
  readonly mediaTypes: readonly string[];
  /** The header `Accept`. */
  readonly accept: string | undefined;
  /** The places of the schemas of JSON answers; undefined where an answer is no JSON, or is described by no schema. */
  readonly schemas: readonly Placed<unknown>[] | undefined;
}

/** Reads the answers of an operation: those with a status of 2xx. @throws DocumentMistake */
export function operationOutput(operation: ListedOperation, document: OpenApiDocument): OperationOutput {
  const responses = document
    .entries(operation, "responses")
    .filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
    .map(([, { value, at }]) => document.object(value, at, "A response"));
  const contents = responses.map((response) => document.entries(response, "content"));
  const mediaTypes = [...new Set(contents.flat().map(([mediaType]) => mediaType))];
  const json = contents.map((content) => content.find(([mediaType]) => isJsonType(mediaType)));
  const jsonTypes = json.flatMap((each) => (each === undefined ? [] : [each[0]]));
  const accepted = jsonTypes.length > 0 ? [...new Set(jsonTypes)] : mediaTypes;
  const schemas = json.flatMap((each) => {
    if (each === undefined) return [];
    const media = document.object(each[1].value, each[1].at, "A media type");
    return media.value.schema === undefined ? [] : [{ value: media.value.schema, at: pointerTo(media.at, "schema") }];
  });
  return {
    mediaTypes: accepted,
    accept: accepted.length === 0 ? undefined : accepted.slice(0, 10).join(", "),
    schemas: schemas.length > 0 && schemas.length === responses.length ? schemas : undefined,
  };
}

/** The output schema of an operation; undefined where there is none, or one that is too large to be used. @throws DocumentMistake */
export function outputSchema({ schemas }: OperationOutput, shared: SharedSchemas, at: string): JsonSchema | undefined {
  if (schemas === undefined) return undefined;
  const references = new Set<string>();
  const converted = schemas.map(({ value, at: place }) => {
    const one = shared.convert(value, place);
    for (const reference of one.references) references.add(reference);
    return one.schema;
  });
  // Of two answers that have the same schema it is the same reference.
  const key = (each: JsonSchema | boolean) => (isReference(each) ? each.$ref : each);
  const distinct = [...new Map(converted.map((each) => [key(each), each])).values()];
  if (distinct.some((each) => typeof each === "boolean" || Object.keys(each).length === 0)) return undefined;
  const [first, ...others] = distinct as readonly JsonSchema[];
  if (first === undefined) return undefined;
  try {
    return shared.complete(others.length === 0 ? first : { anyOf: distinct }, references, at);
  } catch (error) {
    if (error instanceof SchemaTooLarge) return undefined;
    throw error;
  }
}

function isReference(schema: JsonSchema | boolean): schema is JsonSchema {
  return typeof schema === "object" && schema.$ref !== undefined && Object.keys(schema).length === 1;
}

import { ToolkitError } from "../../core/error.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { stripInvisible } from "../../lib/visible-text.ts";
import { isJsonType, isTextType } from "../../resource/media-type.ts";
import type { HttpBody, ValueStyle } from "../http/http-operation.ts";
import type { ListedOperation } from "./list-operations.ts";
import type { DocumentFields, OpenApiDocument, Placed } from "./openapi-document.ts";
import type { ConvertedSchema } from "./schema-conversion.ts";
import type { SharedSchemas } from "./shared-schemas.ts";

/** The forms of bodies: JSON, the two of forms, text, and any other as bytes. */
type BodyForm = "json" | "urlencoded" | "multipart" | "text" | "bytes";

/** The body of an operation's request. */
export interface OperationBody {
  readonly mediaType: string;
  /** The media types that it may have beside that which is sent. */
  readonly others: readonly string[];
  readonly isRequired: boolean;
  /** @throws DocumentMistake */
  schema(schemas: SharedSchemas): ConvertedSchema;
  readonly http: HttpBody;
}

const maxDescription = 1_000;
/** In the order in which they are chosen. */
const forms: readonly BodyForm[] = ["json", "urlencoded", "multipart", "text", "bytes"];

function formOf(mediaType: string): BodyForm {
  if (isJsonType(mediaType)) return "json";
  if (/^application\/x-www-form-urlencoded\b/i.test(mediaType)) return "urlencoded";
  if (/^multipart\//i.test(mediaType)) return "multipart";
  return isTextType(mediaType) ? "text" : "bytes";
}

/** The body of an operation; undefined for none. Of several media types JSON is sent, or a form, a text, bytes: the first of these. @throws DocumentMistake */
export function requestBodyOf(operation: ListedOperation, document: OpenApiDocument): OperationBody | undefined {
  const { requestBody } = operation.value;
  if (requestBody === undefined || requestBody === null) return undefined;
  const body = document.object(requestBody, pointerTo(operation.at, "requestBody"), "A request body");
  const types = document
    .entries(body, "content")
    .map(([mediaType, placed]) => ({ mediaType, placed, form: formOf(mediaType) }));
  const chosen = forms.map((form) => types.find((each) => each.form === form)).find((each) => each !== undefined);
  if (chosen === undefined) return undefined;
  const { form, placed } = chosen;
  const mediaType = chosen.mediaType.includes("*")
    ? form === "text"
      ? "text/plain"
      : "application/octet-stream"
    : chosen.mediaType;
  const media = document.object(placed.value, placed.at, "A media type");
  const files = form === "multipart" ? filesOf(media, document) : new Set<string>();
  return {
    mediaType,
    others: types.filter((each) => each !== chosen).map((each) => each.mediaType),
    isRequired: body.value.required === true,
    schema: (schemas) =>
      bodySchema({ form, media: schemaOf(media, form, document), files, description: body.value.description }, schemas),
    http: httpBody({ form, mediaType, files, media }),
  };
}

interface BodyParts {
  readonly form: BodyForm;
  readonly mediaType: string;
  readonly files: ReadonlySet<string>;
  readonly media: Placed;
}

/** The body as it is sent. It holds nothing of the document. */
function httpBody({ form, mediaType, files, media }: BodyParts): HttpBody {
  const isForm = form === "urlencoded" || form === "multipart";
  return {
    mediaType: form === "multipart" ? "multipart/form-data" : mediaType,
    value: valueReader(form, files),
    ...(isForm ? { fields: fieldsOf(media) } : {}),
  };
}

function valueReader(form: BodyForm, files: ReadonlySet<string>): HttpBody["value"] {
  return (input) => bodyValue(input.body, form, files);
}

/** The schema of a body. That of a form with files is not left behind its reference: what it says of them is changed. */
function schemaOf(media: Placed, form: BodyForm, document: OpenApiDocument): Placed {
  const { schema = {} } = media.value;
  const at = pointerTo(media.at, "schema");
  const isObject = form === "multipart" || !isRecord(schema);
  return isObject ? document.object(schema, at, "A schema") : { value: schema, at };
}

interface BodySchema {
  readonly form: BodyForm;
  readonly media: Placed;
  readonly files: ReadonlySet<string>;
  readonly description: unknown;
}

function bodySchema({ form, media, files, description }: BodySchema, schemas: SharedSchemas): ConvertedSchema {
  const text =
    typeof description === "string" && description.trim() !== ""
      ? { description: stripInvisible(description.trim().slice(0, maxDescription)) }
      : {};
  if (form === "text") return { schema: { type: "string", ...text }, references: new Set() };
  if (form === "bytes") {
    const schema = { type: "string", contentEncoding: "base64", description: joined(text.description, "In base64.") };
    return { schema, references: new Set() };
  }
  const { schema, references } = schemas.convert(media.value, media.at);
  const own = typeof schema === "boolean" ? {} : schema;
  const described = own.description === undefined ? { ...own, ...text } : own;
  return { schema: files.size === 0 ? described : withFiles(described, files), references };
}

/** Files of a form are given in base64. */
function withFiles(schema: JsonSchema, files: ReadonlySet<string>): JsonSchema {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const changed = Object.entries(properties).map(([name, property]) => {
    if (!files.has(name) || !isRecord(property)) return [name, property];
    const file = { type: "string", contentEncoding: "base64" };
    const description = joined(property.description, "In base64.");
    return [name, { ...(property.type === "array" ? { ...property, items: file } : file), description }];
  });
  return { ...schema, properties: Object.fromEntries(changed) };
}

function joined(description: unknown, added: string): string {
  return typeof description === "string" && description !== "" ? `${description} ${added}` : added;
}

/** The fields of a form that are files. A form whose fields stand behind a reference is read there. */
function filesOf(media: Placed, document: OpenApiDocument): ReadonlySet<string> {
  const at = pointerTo(media.at, "schema");
  if (media.value.schema === undefined) return new Set();
  const { value } = document.object(media.value.schema, at, "A schema");
  const properties = isRecord(value.properties) ? Object.entries(value.properties) : [];
  return new Set(
    properties
      .filter(([, property]) => isFile(property) || (isRecord(property) && isFile(property.items)))
      .map(([name]) => name),
  );
}

function isFile(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  const { type, format, contentMediaType, contentEncoding } = schema;
  return (
    (type === "string" && format === "binary") || (contentMediaType !== undefined && contentEncoding === undefined)
  );
}

function fieldsOf({ value }: Placed): NonNullable<HttpBody["fields"]> {
  if (!isRecord(value.encoding)) return {};
  const fields = Object.entries(value.encoding).filter((entry): entry is [string, DocumentFields] =>
    isRecord(entry[1]),
  );
  return Object.fromEntries(
    fields.map(([name, { style, explode, contentType }]) => [
      name,
      {
        ...(isStyle(style) ? { style } : {}),
        ...(typeof explode === "boolean" ? { explode } : {}),
        ...(typeof contentType === "string" && /^[\w.+-]+\/[\w.+-]+$/.test(contentType)
          ? { mediaType: contentType }
          : {}),
      },
    ]),
  );
}

function isStyle(style: unknown): style is ValueStyle {
  return style === "form" || style === "spaceDelimited" || style === "pipeDelimited" || style === "deepObject";
}

function bodyValue(body: unknown, form: BodyForm, files: ReadonlySet<string>): unknown {
  if (body === undefined) return undefined;
  if (form === "bytes") return bytesOf(body, "/body");
  if (form !== "multipart" || files.size === 0 || !isRecord(body)) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      if (!files.has(name)) return [name, value];
      const at = pointerTo("/body", name);
      return [
        name,
        Array.isArray(value) ? value.map((each, index) => bytesOf(each, pointerTo(at, index))) : bytesOf(value, at),
      ];
    }),
  );
}

/** @throws ToolkitError `INVALID_INPUT` */
function bytesOf(value: unknown, pointer: string): Uint8Array {
  const text = typeof value === "string" ? value.replace(/\s+/g, "") : undefined;
  if (text !== undefined && /^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) return Buffer.from(text, "base64");
  const message = "must be base64";
  throw new ToolkitError("INVALID_INPUT", `${pointer} ${message}.`, { issues: [{ pointer, message }] });
}

import { refOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import { userNamespace } from "../core/identifier.ts";
import type { Content, Resource } from "../core/resource.ts";
import type { RecordDraft, StoredRecord } from "../core/store.ts";
import type { UserPrompt, UserResource, UserVersion } from "../core/user.ts";
import { isRecord, present } from "../lib/value.ts";
import { bytesContent, type ContentFields, multipartContent, textContent, textOf } from "../resource/content.ts";
import { contentFromJson } from "../resource/from-json.ts";
import { type WholeHandleFields, wholeHandle } from "../resource/handle.ts";
import type { UserCollection } from "./item-key.ts";

/** The form of the bytes of a stored resource: a text in UTF-8, plain bytes, or the parts of a multipart content as JSON. */
type ResourceForm = "text" | "bytes" | "parts";

/** The value of the record of a resource; its content is the bytes of the record. */
export interface ResourceValue {
  readonly form: ResourceForm;
  readonly name: string;
  readonly mediaType: string;
  /** Size of its content, in bytes. */
  readonly size: number;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The record of a prompt or partial. */
export function promptDraft(owner: string, key: string, text: string): RecordDraft {
  return { collection: "prompt", owner, key, value: { text } };
}

/** The text of the record of a prompt. @throws ToolkitError `STORE_FAILED` for a record of another form, naming it */
export function promptText(record: StoredRecord): string {
  const text = textOfRecord(record);
  if (text === undefined) throw unreadable("prompt", record.key);
  return text;
}

/** The text of the record of a prompt; undefined for a record of another form. */
export function textOfRecord({ value }: StoredRecord): string | undefined {
  return isRecord(value) && typeof value.text === "string" ? value.text : undefined;
}

/** The record of a resource. */
export async function resourceDraft(owner: string, uri: string, content: Content): Promise<RecordDraft> {
  const { name, mediaType, size, title, description, meta, parts } = content;
  const text = parts === undefined ? textOf(content) : undefined;
  const form: ResourceForm = parts !== undefined ? "parts" : text !== undefined ? "text" : "bytes";
  const bytes =
    parts === undefined
      ? await content.bytes()
      : new TextEncoder().encode(JSON.stringify(parts.map((part) => part.toJSON())));
  const value: ResourceValue = { form, name, mediaType, size, ...present({ title, description, meta }) };
  return { collection: "resource", owner, key: uri, value, bytes };
}

/** The value of the record of a resource. @throws ToolkitError `STORE_FAILED` for a record of another form, naming it */
export function resourceValue({ key, value }: StoredRecord): ResourceValue {
  const isText = (each: unknown) => each === undefined || typeof each === "string";
  const fits =
    isRecord(value) &&
    ["text", "bytes", "parts"].includes(value.form as string) &&
    [value.name, value.mediaType].every((each) => typeof each === "string") &&
    typeof value.size === "number" &&
    [value.title, value.description].every(isText) &&
    (value.meta === undefined || isRecord(value.meta));
  if (!fits) throw unreadable("resource", key);
  const { form, name, mediaType, size, title, description, meta } = value as unknown as ResourceValue;
  return { form, name, mediaType, size, ...present({ title, description, meta }) };
}

/** The content of the record of a resource. @throws ToolkitError `STORE_FAILED` for a record of another form, naming it */
export function storedContent(record: StoredRecord): Content {
  const value = resourceValue(record);
  try {
    return contentFrom(record.key, value, record.bytes ?? new Uint8Array());
  } catch (cause) {
    throw unreadable("resource", record.key, cause);
  }
}

/** The content of stored bytes. @throws Error where the bytes are not of the form */
export function contentFrom(uri: string, value: Omit<ResourceValue, "size">, bytes: Uint8Array): Content {
  const { form, name, mediaType, title, description, meta } = value;
  const fields: ContentFields = { uri, name, mediaType, title, description, meta };
  if (form === "bytes") return bytesContent(bytes, fields);
  const text = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true }).decode(bytes);
  if (form === "text") return textContent(text, fields);
  const parts: unknown = JSON.parse(text);
  if (!Array.isArray(parts)) throw new TypeError("its parts are no list");
  return multipartContent(
    parts.map((part) => contentFromJson(part)),
    fields,
  );
}

/** The version of an item that a record is. */
export function versionOf({ collection, key, version, updatedAt }: StoredRecord): UserVersion {
  const kind = collection as UserCollection;
  return Object.freeze({ kind, ref: refOf(kind, userNamespace, key), version, updatedAt });
}

/** The item of a record. @throws ToolkitError `STORE_FAILED` for a record of another form, naming it */
export function itemOf(record: StoredRecord): UserPrompt | UserResource {
  const version = versionOf(record);
  return version.kind === "prompt"
    ? Object.freeze({ ...version, kind: "prompt", markdown: promptText(record) })
    : Object.freeze({ ...version, kind: "resource", content: storedContent(record) });
}

function unreadable(collection: UserCollection, key: string, cause?: unknown): ToolkitError<"STORE_FAILED"> {
  const message = `The record of the ${collection} ${JSON.stringify(key)} cannot be read: it was not written by toolkit.user. Correct it in the store, or remove it.`;
  return new ToolkitError("STORE_FAILED", message, { operation: "read" }, { cause });
}

/** The resource of a record. Its content is read from the store at each use. @throws ToolkitError `STORE_FAILED` as `resourceValue` */
export function storedResource(record: StoredRecord, read: WholeHandleFields["read"]): Resource {
  const { form, ...fields } = resourceValue(record);
  return wholeHandle({ uri: record.key, ...fields, read });
}

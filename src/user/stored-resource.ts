import { ToolkitError } from "../core/error.ts";
import {
  type Content,
  type ReadOptions,
  type Resource,
  readWhole,
  resourceBrand,
  type WholeReader,
} from "../core/resource.ts";
import type { StoredRecord } from "../core/store.ts";
import { isRecord, present } from "../lib/value.ts";
import { bytesContent, type ContentFields, multipartContent, textContent, textOf } from "../resource/content.ts";
import { contentFromJson } from "../resource/from-json.ts";

/** What the bytes of a stored resource are: a text in UTF-8, whatever they are, or the parts of a multipart as JSON. */
type Form = "text" | "bytes" | "parts";

/** What is stored of a resource beside its bytes. */
export interface ResourceValue {
  readonly form: Form;
  readonly name: string;
  readonly mediaType: string;
  /** Of its content, in bytes. */
  readonly size: number;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** A content as it is stored. */
export async function storedForm(content: Content): Promise<{ value: ResourceValue; bytes: Uint8Array }> {
  const { name, mediaType, size, title, description, meta, parts } = content;
  const text = parts === undefined ? textOf(content) : undefined;
  const form: Form = parts !== undefined ? "parts" : text !== undefined ? "text" : "bytes";
  const bytes =
    parts === undefined
      ? await content.bytes()
      : new TextEncoder().encode(JSON.stringify(parts.map((part) => part.toJSON())));
  return { value: { form, name, mediaType, size, ...present({ title, description, meta }) }, bytes };
}

/** What a record says of its resource. @throws ToolkitError `STORE_FAILED` for one that is none, naming it */
export function resourceValue({ key, value }: StoredRecord): ResourceValue {
  const isText = (each: unknown) => each === undefined || typeof each === "string";
  const fits =
    isRecord(value) &&
    ["text", "bytes", "parts"].includes(value.form as string) &&
    [value.name, value.mediaType].every((each) => typeof each === "string") &&
    typeof value.size === "number" &&
    [value.title, value.description].every(isText) &&
    (value.meta === undefined || isRecord(value.meta));
  if (!fits) throw unreadable(key);
  const { form, name, mediaType, size, title, description, meta } = value as unknown as ResourceValue;
  return { form, name, mediaType, size, ...present({ title, description, meta }) };
}

/** The content of a record. @throws ToolkitError `STORE_FAILED` for one that is none, naming it */
export function storedContent(record: StoredRecord): Content {
  const value = resourceValue(record);
  try {
    return contentFrom(record.key, value, record.bytes ?? new Uint8Array());
  } catch (cause) {
    throw unreadable(record.key, cause);
  }
}

/** The contrary of `storedForm`. @throws Error where the bytes are not of that form */
export function contentFrom(uri: string, about: Omit<ResourceValue, "size">, bytes: Uint8Array): Content {
  const { form, name, mediaType, title, description, meta } = about;
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

function unreadable(uri: string, cause?: unknown): ToolkitError<"STORE_FAILED"> {
  const message = `The store has a resource ${JSON.stringify(uri)} that is none: it was not put by toolkit.user. Correct it, or remove it.`;
  return new ToolkitError("STORE_FAILED", message, { operation: "read" }, { cause });
}

/** A resource that is read from the store whenever it is asked. */
export class StoredResource implements Resource, WholeReader {
  readonly kind = "resource";
  readonly name: string;
  readonly uri: string;
  readonly mediaType: string;
  readonly size: number;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  readonly #read: (options: ReadOptions) => Promise<Content>;

  constructor(uri: string, value: ResourceValue, read: (options: ReadOptions) => Promise<Content>) {
    this.name = value.name;
    this.uri = uri;
    this.mediaType = value.mediaType;
    this.size = value.size;
    this.title = value.title;
    this.description = value.description;
    this.meta = value.meta;
    this.#read = read;
  }

  get [resourceBrand](): "handle" {
    return "handle";
  }

  async [readWhole](options: ReadOptions): Promise<Content> {
    return this.#read(options);
  }

  async bytes(options: ReadOptions = {}): Promise<Uint8Array> {
    return (await this.#read(options)).bytes(options);
  }

  async text(options: ReadOptions = {}): Promise<string> {
    return (await this.#read(options)).text(options);
  }

  async json(options: ReadOptions = {}): Promise<unknown> {
    return (await this.#read(options)).json(options);
  }
}

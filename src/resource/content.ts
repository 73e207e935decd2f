import { ToolkitError } from "../core/error.ts";
import type { Content, ReadOptions } from "../core/resource.ts";
import { bufferOf } from "./bytes.ts";
import { decodeText } from "./charset.ts";
import { copyOfJson, parseJsonText, toJsonText } from "./json-text.ts";
import { type ContentFields, LoadedContent } from "./loaded-content.ts";
import { bytesType, isJsonType, jsonType, multipartType, textType } from "./media-type.ts";

export type { ContentFields };

/** A text; or a JSON value, whose text is made when it is asked for: most who call a tool want the value. */
class TextContent extends LoadedContent {
  #text: string | undefined;
  /** A value of its own, which no other code can change. Undefined where there is the text. */
  #value: unknown;

  constructor(text: string | undefined, value: unknown, fields: ContentFields, scheme: string, mediaType: string) {
    super(fields, scheme, mediaType);
    this.#text = text;
    this.#value = value;
  }

  get size(): number {
    return Buffer.byteLength(TextContent.textOf(this));
  }

  async bytes(options?: ReadOptions): Promise<Uint8Array> {
    return encode(await this.text(options));
  }

  async text(options?: ReadOptions): Promise<string> {
    options?.signal?.throwIfAborted();
    return TextContent.textOf(this);
  }

  override async json(options?: ReadOptions): Promise<unknown> {
    options?.signal?.throwIfAborted();
    return TextContent.jsonOf(this, false);
  }

  protected body() {
    return { text: TextContent.textOf(this) };
  }

  static jsonOf(content: TextContent, isOnlyRead: boolean): unknown {
    const value = content.#value;
    if (value === undefined) return parseJsonText(TextContent.textOf(content), content.name, content.mediaType);
    return isOnlyRead ? value : copyOfJson(value);
  }

  static textOf(content: TextContent): string {
    if (content.#text === undefined) {
      content.#text = toJsonText(content.#value, content.name);
      // One of the two is enough memory.
      content.#value = undefined;
    }
    return content.#text;
  }
}

class EmptyContent extends TextContent {
  constructor(fields: ContentFields) {
    super("", undefined, fields, "text:", textType);
  }
}

class BytesContent extends LoadedContent {
  // Base64 until the bytes are wanted: what is only passed on is never decoded.
  #source: Uint8Array | string;

  constructor(source: Uint8Array | string, fields: ContentFields) {
    super(fields, "data:", bytesType);
    this.#source = source;
  }

  get size(): number {
    return typeof this.#source === "string" ? this.#decoded().length : this.#source.length;
  }

  async bytes(options?: ReadOptions): Promise<Uint8Array> {
    options?.signal?.throwIfAborted();
    return this.#decoded().slice();
  }

  async text(options?: ReadOptions): Promise<string> {
    options?.signal?.throwIfAborted();
    const text = await decodeText(this.#decoded(), this.mediaType);
    if (text !== undefined) return text;
    throw notText(this.name, this.mediaType);
  }

  protected body() {
    const source = this.#source;
    return {
      base64: typeof source === "string" ? source : bufferOf(source).toString("base64"),
    };
  }

  protected override shown() {
    return {};
  }

  #decoded(): Uint8Array {
    // Not a Buffer: its slice() shares memory.
    if (typeof this.#source === "string") this.#source = new Uint8Array(Buffer.from(this.#source, "base64"));
    return this.#source;
  }
}

class MultipartContent extends LoadedContent {
  readonly parts: readonly Content[];

  constructor(parts: readonly Content[], fields: ContentFields) {
    super(fields, "multipart:", multipartType);
    this.parts = Object.freeze([...parts]);
  }

  get size(): number {
    return Buffer.byteLength(this.#joined());
  }

  async bytes(options?: ReadOptions): Promise<Uint8Array> {
    return encode(await this.text(options));
  }

  async text(options?: ReadOptions): Promise<string> {
    options?.signal?.throwIfAborted();
    return this.#joined();
  }

  override async json(options?: ReadOptions): Promise<unknown> {
    options?.signal?.throwIfAborted();
    const [only, ...others] = this.parts.filter((part) => isJsonType(part.mediaType));
    if (only !== undefined && others.length === 0) return only.json(options);
    const found = only === undefined ? "none of its parts is JSON" : `${others.length + 1} of its parts are JSON`;
    throw new ToolkitError("INVALID_OUTPUT", `"${this.name}" is no single JSON value: ${found}. Use its parts.`, {
      issues: [{ pointer: "", message: found }],
    });
  }

  protected body() {
    return { parts: this.parts.map((part) => part.toJSON()) };
  }

  protected override shown() {
    return { parts: this.parts };
  }

  #joined(): string {
    return this.parts
      .map(textOf)
      .filter((text) => text !== undefined)
      .join("\n");
  }
}

class DerivedContent extends LoadedContent {
  readonly #original: Content;

  constructor(original: Content, fields: ContentFields) {
    super(fields, "", original.mediaType);
    this.#original = original;
  }

  get size(): number {
    return this.#original.size;
  }

  get parts(): readonly Content[] | undefined {
    return this.#original.parts;
  }

  bytes(options?: ReadOptions): Promise<Uint8Array> {
    return this.#original.bytes(options);
  }

  text(options?: ReadOptions): Promise<string> {
    return this.#original.text(options);
  }

  override json(options?: ReadOptions): Promise<unknown> {
    return this.#original.json(options);
  }

  protected body() {
    const { text, base64, parts } = this.#original.toJSON();
    if (parts !== undefined) return { parts };
    return text === undefined ? { base64 } : { text };
  }

  protected override shown() {
    const { parts } = this;
    return parts === undefined ? { text: textOf(this.#original) } : { parts };
  }

  static originalOf(content: DerivedContent): Content {
    return content.#original;
  }
}

/** A text. The charset of its media type, if any, is to be left out: a text has none. */
export function textContent(text: string, fields: ContentFields): Content {
  return new TextContent(text, undefined, fields, "text:", textType);
}

/**
 * A JSON value, as it is now: what becomes of the object afterwards does not show, and every `json()` gives a fresh value.
 *
 * @throws ToolkitError `INVALID_OUTPUT` where JSON cannot hold it, naming what and where
 */
export function jsonContent<T = unknown>(value: T, fields: ContentFields): Content<T> {
  const copy = copyOfJson(value);
  const text = copy === undefined ? toJsonText(value, fields.name) : undefined;
  return new TextContent(text, copy, fields, "json:", jsonType) as Content as Content<T>;
}

/** Bytes, which become the Content's own: copy them first where another owner may change them. They are not sniffed. */
export function bytesContent(bytes: Uint8Array, fields: ContentFields): Content {
  return new BytesContent(Buffer.isBuffer(bytes) ? plain(bytes) : bytes, fields);
}

/** Bytes given in base64 (RFC 4648, section 4), which are decoded when they are first asked for. */
export function base64Content(base64: string, fields: ContentFields): Content {
  return new BytesContent(base64, fields);
}

/**
 * Several parts in one.
 *
 * Its `text()` is the texts of those parts that are text, joined with a newline, and `bytes()` is that in UTF-8; `json()` is that
 * of the one part that is JSON, and `INVALID_OUTPUT` where there is none or several.
 */
export function multipartContent(parts: readonly Content[], fields: ContentFields): Content {
  return new MultipartContent(parts, fields);
}

/** Nothing: `text/plain` of size 0. */
export function emptyContent(fields: ContentFields): Content {
  return new EmptyContent(fields);
}

/** The same content under another name, URI or description; nothing is copied. */
export function derivedContent<T>(original: Content<T>, changes: Partial<ContentFields>): Content<T> {
  const { name, uri, mediaType, title, description, meta } = original;
  const fields = { name, uri, mediaType, title, description, meta, ...changes };
  return new DerivedContent(original, fields) as Content as Content<T>;
}

/** Some parts as one Content: nothing of none, the one, or `multipart/mixed`. */
export function joinParts(parts: readonly Content[], fields: ContentFields): Content {
  const [only] = parts;
  if (only === undefined) return emptyContent(fields);
  return parts.length === 1 ? only : multipartContent(parts, fields);
}

/**
 * The text of a Content without a promise: of a text or JSON, or the joined texts of a multipart. Undefined for bytes, even where
 * they could be decoded.
 */
export function textOf(content: Content): string | undefined {
  if (content instanceof TextContent) return TextContent.textOf(content);
  if (content instanceof BytesContent) return undefined;
  if (content instanceof DerivedContent) return textOf(DerivedContent.originalOf(content));
  if (content.parts === undefined) return content.toJSON().text;
  const texts = content.parts.map(textOf).filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : texts.join("\n");
}

/**
 * The value of a JSON text without a promise; undefined for every other Content. `isOnlyRead`: nothing changes it, so that it need not be
 * a copy. @throws ToolkitError `INVALID_OUTPUT` for a text that is no JSON
 * @internal
 */
export function jsonOf(content: Content, isOnlyRead: boolean): unknown {
  return content instanceof TextContent && isJsonType(content.mediaType)
    ? TextContent.jsonOf(content, isOnlyRead)
    : undefined;
}

/** True for what stands for no result at all, unlike an empty text. */
export function isEmptyContent(content: Content): boolean {
  if (content instanceof DerivedContent) return isEmptyContent(DerivedContent.originalOf(content));
  return content instanceof EmptyContent;
}

/** @internal */
export function notText(name: string, mediaType: string): ToolkitError<"INVALID_OUTPUT"> {
  const message = `the bytes are no text in ${mediaType.includes("charset") ? "the charset they declare" : "UTF-8 or UTF-16"}`;
  return new ToolkitError(
    "INVALID_OUTPUT",
    `"${name}" (${mediaType}) cannot be read as text: ${message}. Use bytes().`,
    {
      issues: [{ pointer: "", message }],
    },
  );
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const plain = (buffer: Buffer) => new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);

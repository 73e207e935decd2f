import { ToolkitError } from "../core/error.ts";
import {
  type Content,
  isContent,
  type ReadOptions,
  type Resource,
  readWhole,
  resourceBrand,
  type WholeReader,
} from "../core/resource.ts";
import { type InspectOptions, inspect, shownAs } from "../lib/console-text.ts";
import { abortable } from "../lib/promise.ts";
import { typeName } from "../lib/value.ts";
import { copyOf } from "./bytes.ts";
import { decodeText } from "./charset.ts";
import { type ContentFields, notText } from "./content.ts";
import { parseJsonText } from "./json-text.ts";
import { textType } from "./media-type.ts";
import { contentOfBytes } from "./sniff.ts";

/** The result of reading: bytes, or a text, which is encoded in UTF-8. */
export type ReadResult = Uint8Array | string;

interface DescriptiveFields extends ContentFields {
  readonly uri: string;
  /** In bytes, where it is known without reading. */
  readonly size?: number | undefined;
}

/** The descriptive fields of a handle, and its reader. */
export interface HandleFields extends DescriptiveFields {
  /** Reads afresh, each time it is called. */
  bytes(options: ReadOptions): ReadResult | PromiseLike<ReadResult>;
}

/** The descriptive fields of a handle whose reader gives its whole Content. */
export interface WholeHandleFields extends DescriptiveFields {
  /** Reads afresh, each time it is called. */
  read(options: ReadOptions): Promise<Content>;
}

abstract class Handle {
  readonly name: string;
  readonly uri: string;
  readonly mediaType: string | undefined;
  readonly size: number | undefined;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly meta: Readonly<Record<string, unknown>> | undefined;

  constructor(fields: DescriptiveFields) {
    this.name = fields.name;
    this.uri = fields.uri;
    this.mediaType = fields.mediaType;
    this.size = fields.size;
    this.title = fields.title;
    this.description = fields.description;
    this.meta = fields.meta;
  }

  get kind(): "resource" {
    return "resource";
  }

  get [resourceBrand](): "handle" {
    return "handle";
  }

  /** For the console. */
  [inspect](depth: number, options: InspectOptions): string {
    const { name, uri, mediaType, size, title } = this;
    return shownAs("Resource", { name, uri, mediaType, size, title }, depth, options);
  }
}

class ResourceHandle extends Handle implements Resource {
  readonly #fields: HandleFields;

  constructor(fields: HandleFields) {
    super(fields);
    this.#fields = fields;
  }

  async bytes(options: ReadOptions = {}): Promise<Uint8Array> {
    options.signal?.throwIfAborted();
    const given = this.#fields.bytes(options);
    const result: unknown = await abortable(Promise.resolve(given), options.signal);
    if (typeof result === "string") return new TextEncoder().encode(result);
    if (result instanceof Uint8Array) return result;
    const message = `its bytes() gave ${typeName(result)}, not bytes or a string`;
    throw new ToolkitError("INVALID_OUTPUT", `The resource ${this.uri} cannot be read: ${message}.`, {
      issues: [{ pointer: "", message }],
    });
  }

  async text(options?: ReadOptions): Promise<string> {
    const mediaType = this.mediaType ?? textType;
    const text = await decodeText(await this.bytes(options), mediaType);
    if (text !== undefined) return text;
    throw notText(this.name, mediaType);
  }

  async json(options?: ReadOptions): Promise<unknown> {
    return parseJsonText(await this.text(options), this.name, this.mediaType ?? "unknown media type");
  }
}

class WholeHandle extends Handle implements Resource, WholeReader {
  readonly #fields: WholeHandleFields;

  constructor(fields: WholeHandleFields) {
    super(fields);
    this.#fields = fields;
  }

  [readWhole](options: ReadOptions): Promise<Content> {
    return this.#fields.read(options);
  }

  async bytes(options: ReadOptions = {}): Promise<Uint8Array> {
    return (await this.#fields.read(options)).bytes(options);
  }

  async text(options: ReadOptions = {}): Promise<string> {
    return (await this.#fields.read(options)).text(options);
  }

  async json(options: ReadOptions = {}): Promise<unknown> {
    return (await this.#fields.read(options)).json(options);
  }
}

/** A handle of something that is read as a whole, such as from a server or a store. */
export function wholeHandle(fields: WholeHandleFields): Resource {
  return new WholeHandle(fields);
}

/** A handle as it is described, its name and URI unchecked. */
export function resourceHandle<T = unknown>(fields: HandleFields): Resource<T> {
  return new ResourceHandle(fields) as Resource as Resource<T>;
}

/**
 * Reads a Resource whole: a Content is itself, a handle is read, its media type found where it has none, its text made UTF-8.
 *
 * @throws whatever its reading throws; the signal's reason when it aborts
 */
export async function loadResource(resource: Resource, options: ReadOptions = {}): Promise<Content> {
  options.signal?.throwIfAborted();
  if (isContent(resource)) return resource;
  if (readWhole in resource) return (resource as Resource & WholeReader)[readWhole](options);
  const { name, uri, mediaType, title, description, meta } = resource;
  const bytes = await abortable(resource.bytes(options), options.signal);
  // The bytes may still have an owner who changes them later.
  return contentOfBytes(copyOf(bytes), { name, uri, mediaType, title, description, meta });
}

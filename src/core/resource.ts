/** The descriptive fields that every item has. */
export interface Described {
  /** Identifies the item within its namespace and kind. */
  readonly name: string;
  /** For people. */
  readonly title?: string | undefined;
  /** For models: what it does and when to use it. */
  readonly description?: string | undefined;
  /** Anything else, carried along untouched (MCP's `_meta`). */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The options of reading a resource. */
export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * A resource: a handle, which reads on demand. Made with `resource.*` or `defineResource` and recognised by
 * its brand, never by its shape.
 */
export interface Resource<T = unknown> extends Described {
  readonly kind: "resource";
  /** Identifies it within its namespace (RFC 3986, with a scheme). */
  readonly uri: string;
  /** RFC 6838; undefined while unknown. */
  readonly mediaType?: string | undefined;
  /** In bytes; undefined while unknown. */
  readonly size?: number | undefined;
  bytes(options?: ReadOptions): Promise<Uint8Array>;
  /** As UTF-8 text. @throws ToolkitError `INVALID_OUTPUT` where the bytes are no text */
  text(options?: ReadOptions): Promise<string>;
  /** Parsed as JSON. @throws ToolkitError `INVALID_OUTPUT` where they are no JSON */
  json(options?: ReadOptions): Promise<T>;
}

/** A resource that is loaded: no I/O is left, its media type is known. What `call` and `read` give. */
export interface Content<T = unknown> extends Resource<T> {
  readonly mediaType: string;
  readonly size: number;
  /** The parts of a `multipart/mixed` content. */
  readonly parts?: readonly Content[] | undefined;
  /** Plain data that `resource.fromJSON` makes into its equal. */
  toJSON(): ContentJson;
}

/** A Content as JSON: text as `text`, anything else as `base64`, a multipart as its `parts`. */
export interface ContentJson extends Described {
  readonly kind: "resource";
  readonly uri: string;
  readonly mediaType: string;
  readonly text?: string | undefined;
  /** RFC 4648, section 4. */
  readonly base64?: string | undefined;
  readonly parts?: readonly ContentJson[] | undefined;
}

/**
 * The property by which a Resource is known: `"loaded"` for a Content, `"handle"` for one that reads when it is asked. A
 * registered symbol, so that two copies of this package recognise each other's.
 */
export const resourceBrand: unique symbol = Symbol.for("toolweave.resource") as never;

function brandOf(value: unknown): unknown {
  return typeof value === "object" && value !== null
    ? (value as { [resourceBrand]?: unknown })[resourceBrand]
    : undefined;
}

/**
 * Where a handle has a better way to be read whole than its bytes, such as a remote one whose server gives several parts, it has it
 * under this key.
 */
export const readWhole: unique symbol = Symbol.for("toolweave.readWhole") as never;

/** A handle that reads itself whole. */
export interface WholeReader {
  [readWhole](options: ReadOptions): Promise<Content>;
}

/** True for a Resource made with `resource.*` or `defineResource`, or by a connector. */
export function isResource(value: unknown): value is Resource {
  return brandOf(value) !== undefined;
}

/** True for a Resource that is loaded. */
export function isContent(value: unknown): value is Content {
  return brandOf(value) === "loaded";
}

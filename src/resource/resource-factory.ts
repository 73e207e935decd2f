import { ToolkitError } from "../core/error.ts";
import { assertUri } from "../core/identifier.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import { type Content, isContent, isResource, type Resource } from "../core/resource.ts";
import { copyOf } from "./bytes.ts";
import { derivedContent, jsonContent, textContent } from "./content.ts";
import { contentFromJson } from "./from-json.ts";
import { resourceHandle } from "./handle.ts";
import { isJsonType, isTextType, withoutCharset } from "./media-type.ts";
import { type ReadSource, type ReadSourceOptions, readSource } from "./read.ts";
import { parseResourceName } from "./resource-name.ts";
import { contentOfBytes, typeOfExtension } from "./sniff.ts";

/** The descriptive fields of a resource beside its name. */
export interface ResourceOptions {
  readonly mediaType?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

const optionNames: OptionNames<ResourceOptions> = { mediaType: true, title: true, description: true, meta: true };

function optionsOf(options: ResourceOptions) {
  assertOptionNames(options, optionNames, "of a resource");
  const { mediaType, title, description, meta } = options;
  return { mediaType, title, description, meta };
}

function text(given: string, value: string, options: ResourceOptions = {}): Content {
  const { name, extension } = parseResourceName(given);
  if (typeof value !== "string") throw wrongValue(name, "must be a string; use resource.from for other values");
  const mediaType = options.mediaType ?? typeAmong(isTextType, extension);
  return textContent(value, { name, ...optionsOf(options), mediaType: mediaType && withoutCharset(mediaType) });
}

function json<T>(given: string, value: T, options: ResourceOptions = {}): Content<T> {
  const { name, extension } = parseResourceName(given);
  const mediaType = options.mediaType ?? typeAmong(isJsonType, extension);
  return jsonContent(value, { name, ...optionsOf(options), mediaType });
}

async function data(given: string, bytes: Bytes, options: ResourceOptions = {}): Promise<Content> {
  const { name, extension } = parseResourceName(given);
  if (!isBytes(bytes)) throw wrongValue(name, "must be bytes; use resource.from for other values");
  return contentOfBytes(copyOf(bytes), { name, ...optionsOf(options) }, { extension });
}

async function from(name: string, value: unknown): Promise<Resource> {
  if (isResource(value)) return derive(value, { name: parseResourceName(name).name });
  if (typeof value === "string") return text(name, value);
  if (isBytes(value)) return data(name, value);
  return value instanceof Blob ? readSource(value, { name }) : json(name, value);
}

/** The media type of an extension, where it is one of a kind. */
function typeAmong(isOfKind: (mediaType: string) => boolean, extension: string | undefined): string | undefined {
  const mediaType = extension === undefined ? undefined : typeOfExtension(extension);
  return mediaType !== undefined && isOfKind(mediaType) ? mediaType : undefined;
}

function withUri<R extends Resource>(original: R, uri: string): SameKind<R> {
  assertUri(uri);
  return derive(original, { uri });
}

function withDescription<R extends Resource>(original: R, description: string): SameKind<R> {
  return derive(original, { description });
}

/** A Content of a Content, a handle of a handle. */
export type SameKind<R extends Resource> =
  R extends Content<infer T> ? Content<T> : R extends Resource<infer T> ? Resource<T> : never;

/** The bytes that `resource.data` takes. */
export type Bytes = Uint8Array | ArrayBuffer;

function isBytes(value: unknown): value is Bytes {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
}

type Changes = { readonly name?: string; readonly uri?: string; readonly description?: string };

function derive<R extends Resource>(original: R, changes: Changes): SameKind<R> {
  if (isContent(original)) return derivedContent(original, changes) as SameKind<R>;
  if (!isResource(original)) throw wrongValue("resource", "must be a Resource, made with resource.* or defineResource");
  const { name, uri, mediaType, title, description, meta, size } = original as Resource;
  const fields = { name, uri, mediaType, title, description, meta, size, ...changes };
  return resourceHandle({ ...fields, bytes: (options) => original.bytes(options) }) as SameKind<R>;
}

function wrongValue(name: string, message: string): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", `The value of "${name}" ${message}.`, {
    issues: [{ pointer: "", message }],
  });
}

/**
 * Makes resources. Names are identifiers, which may begin with a digit or `_`, or the names of files: `table.csv` is `table`, and its
 * extension says the media type where the content does not.
 *
 * @example
 * ```ts
 * const note = resource.text("note", "Buy milk.");
 * const report = await resource.read("reports/2024.pdf");
 * await toolkit.call("summarize", note, { attachments: [report] });
 * ```
 */
export const resource: {
  /**
   * A text, at `text:name`. Default media type: `text/plain`.
   *
   * @throws ToolkitError `INVALID_NAME`; `INVALID_INPUT` for what is no string
   */
  text(name: string, value: string, options?: ResourceOptions): Content;
  /**
   * A JSON value as it is now, at `json:name`: what becomes of the object afterwards does not show.
   *
   * @throws ToolkitError `INVALID_NAME`; `INVALID_OUTPUT` where JSON cannot hold the value, naming what and where
   */
  json<T>(name: string, value: T, options?: ResourceOptions): Content<T>;
  /**
   * Bytes, copied, at `data:name`. Without a media type it is found by content, which is why there is a promise. Bytes that are
   * text become UTF-8, from the charset the media type declares.
   *
   * @throws ToolkitError `INVALID_NAME`; `INVALID_INPUT` for what is no bytes
   */
  data(name: string, bytes: Bytes, options?: ResourceOptions): Promise<Content>;
  /**
   * Reads a path, a URL (file, http, https, data), a Blob or a stream whole.
   *
   * A file is at its absolute `file:` URL and an http(s) URL at itself; a Blob or stream is at `data:name`. A stream is destroyed
   * where reading fails.
   *
   * @throws ToolkitError `NOT_FOUND` for a missing file or a 404, `LIMIT_EXCEEDED` beyond `maxBytes`, `UNAUTHORIZED` for a 401 or
   *   403, `REMOTE_ERROR` for another status, `UNAVAILABLE` where a server is not reached, `DENIED` for an address that `egress` refuses
   *   (private, loopback and the like, unless it is named), `INVALID_CONFIG` for egress that is none, `INVALID_INPUT` for what cannot be read,
   *   `INVALID_NAME`; the signal's reason when it aborts
   */
  read(source: ReadSource, options?: ReadSourceOptions): Promise<Content>;
  /**
   * A resource of any value: a string as text, bytes and Blobs as data, a Resource as itself under the new name (and its own URI),
   * anything else as JSON.
   *
   * @throws ToolkitError `INVALID_NAME`; `INVALID_OUTPUT` where JSON cannot hold the value
   */
  from(name: string, value: unknown): Promise<Resource>;
  /** The same resource under another URI. @throws ToolkitError `INVALID_NAME` for a URI without a scheme */
  withUri<R extends Resource>(original: R, uri: string): SameKind<R>;
  /** The same resource with another description. */
  withDescription<R extends Resource>(original: R, description: string): SameKind<R>;
  /**
   * Makes a Content of what its `toJSON()` gave.
   *
   * @throws ToolkitError `INVALID_INPUT`, whose issue points to what is wrong
   */
  fromJSON(json: unknown): Content;
} = Object.freeze({
  text,
  json,
  data,
  read: readSource,
  from,
  withUri,
  withDescription,
  fromJSON: (value: unknown) => contentFromJson(value),
});

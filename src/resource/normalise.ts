import { ToolkitError } from "../core/error.ts";
import { type Content, isContent, isResource, type Resource } from "../core/resource.ts";
import { abortable } from "../lib/promise.ts";
import { copyOf } from "./bytes.ts";
import { emptyContent, isEmptyContent, joinParts, jsonContent, jsonOf, textContent, textOf } from "./content.ts";
import { loadResource } from "./handle.ts";
import { parseJsonText } from "./json-text.ts";
import { isJsonType } from "./media-type.ts";
import { collectParts } from "./parts.ts";
import { contentOfBytes } from "./sniff.ts";

/** The options of turning a result into a Content. */
export interface ToContentOptions {
  /** Of the Content, where the result brings none; its parts are `name-1`, `name-2`, ... */
  readonly name: string;
  /** Default: the name behind the scheme of its kind. */
  readonly uri?: string | undefined;
  /** Called with each part of an async iterable as it comes. An error it throws ends the call. */
  readonly onPartial?: ((part: Content) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes a Content of whatever a tool gave:
 *
 * - nothing (undefined): an empty Content, `text/plain` of size 0;
 * - a string: `text/plain`;
 * - bytes (any typed array or ArrayBuffer, copied) or a Blob: their media type is found by content, text becomes UTF-8;
 * - a Content: itself; another Resource: read whole;
 * - a non-empty array of Resources, or an async iterable of any of these: nothing of none, the one, or `multipart/mixed`;
 * - anything else, null included: `application/json`.
 *
 * Nothing, strings, Contents and JSON are answered at once, without a promise.
 *
 * @throws ToolkitError `INVALID_OUTPUT` for what JSON cannot hold, naming what and where; what reading or iterating throws; the
 *   signal's reason when it aborts
 */
export function toContent(value: unknown, options: ToContentOptions): Content | Promise<Content> {
  if (typeof value === "string") return textContent(value, fieldsOf(options));
  if (value === undefined) return emptyContent(fieldsOf(options));
  if (typeof value !== "object" || value === null) return jsonContent(value, fieldsOf(options));
  if (isResource(value)) return isContent(value) ? value : loadResource(value, options);
  if (Array.isArray(value)) return ofArray(value, options);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
    return contentOfBytes(copyOf(value), fieldsOf(options));
  }
  if (Symbol.asyncIterator in value) return ofIterable(value as AsyncIterable<unknown>, options);
  if (value instanceof Blob) return ofBlob(value, options);
  assertNotHollow(value, options.name);
  return jsonContent(value, fieldsOf(options));
}

/** A Map, a Set, an Error, a Response: all of it would be lost as `{}`, without a word. */
function assertNotHollow(value: object, name: string): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null || "toJSON" in value || Object.keys(value).length > 0)
    return;
  const type = value.constructor?.name || "object of a class";
  const message = `is ${/^[AEIOU]/.test(type) ? "an" : "a"} ${type}, of which JSON holds nothing`;
  throw new ToolkitError(
    "INVALID_OUTPUT",
    `JSON cannot hold "${name}": the whole value ${message}. Convert it first.`,
    {
      issues: [{ pointer: "", message }],
    },
  );
}

// Not the options themselves: a Content must not take a media type or description from them.
function fieldsOf({ name, uri }: ToContentOptions) {
  return { name, uri };
}

function ofArray(values: readonly unknown[], options: ToContentOptions): Content | Promise<Content> {
  const isParts = values.length > 0 && isResource(values[0]) && values.every(isResource);
  if (!isParts) return jsonContent(values, fieldsOf(options));
  if (values.every(isContent)) return joinParts(values, fieldsOf(options));
  return Promise.all((values as readonly Resource[]).map((part) => loadResource(part, options))).then((parts) =>
    joinParts(parts, fieldsOf(options)),
  );
}

async function ofIterable(iterable: AsyncIterable<unknown>, options: ToContentOptions): Promise<Content> {
  const { name, onPartial, signal } = options;
  const convert = (value: unknown, index: number) => toContent(value, { name: `${name}-${index + 1}`, signal });
  return joinParts(await collectParts(iterable, { convert, onPart: onPartial, signal }), fieldsOf(options));
}

async function ofBlob(blob: Blob, options: ToContentOptions): Promise<Content> {
  return contentOfBytes(new Uint8Array(await abortable(blob.arrayBuffer(), options.signal)), fieldsOf(options), {
    declared: blob.type,
  });
}

/**
 * The value that a Content is to a validator: of JSON its value, of text the string, undefined of an empty Content. A promise only where
 * the Content is another copy's or its JSON is among its parts.
 *
 * @param isOnlyRead - nothing changes the value: it may be the Content's own
 * @throws ToolkitError `INVALID_OUTPUT` for bytes, for a media type of JSON whose text is none, and (as a rejection) for a multipart
 *   without exactly one JSON part
 */
export function jsonValueOf(content: Content, isOnlyRead = false): unknown {
  const value = jsonOf(content, isOnlyRead);
  if (value !== undefined) return value;
  if (isEmptyContent(content)) return undefined;
  if (content.parts !== undefined) return content.json();
  const text = textOf(content);
  if (text !== undefined)
    return isJsonType(content.mediaType) ? parseJsonText(text, content.name, content.mediaType) : text;
  if (isJsonType(content.mediaType)) return content.json();
  throw new ToolkitError("INVALID_OUTPUT", `"${content.name}" is ${content.mediaType}, where JSON is wanted.`, {
    issues: [{ pointer: "", message: `is ${content.mediaType}, not JSON` }],
  });
}

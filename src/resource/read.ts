import { type EgressOptions, readEgress } from "../core/egress.ts";
import { ToolkitError } from "../core/error.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import type { Content } from "../core/resource.ts";
import { type ByteStream, collectBytes, tooLarge } from "./collect-bytes.ts";
import { type LocationOptions, readFileContent, unreadable } from "./read-file.ts";
import { readUrlContent, shown } from "./read-url.ts";
import { parseResourceName } from "./resource-name.ts";
import { contentOfBytes } from "./sniff.ts";

/** A source for `resource.read`: a path, a URL (file, http, https, data), a Blob or File, or a stream of bytes. */
export type ReadSource = string | URL | Blob | ByteStream;

/** The options of `resource.read`. */
export interface ReadSourceOptions {
  /** As of `resource.data`: an identifier, or the name of a file. Default: the base name of a file or URL without its extension, else `blob` or `stream`. */
  readonly name?: string | undefined;
  /** The media type, with a charset where it is text in another than UTF-8. Default: found by content, then by extension. */
  readonly mediaType?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** At most so many bytes. Default: 104,857,600 (100 MiB). */
  readonly maxBytes?: number | undefined;
  /** Where an http(s) URL may lead, its redirects too, beside public addresses. Default: nowhere else. */
  readonly egress?: EgressOptions | undefined;
}

const optionNames: OptionNames<ReadSourceOptions> = {
  name: true,
  mediaType: true,
  signal: true,
  maxBytes: true,
  egress: true,
};

const unnamed = { name: undefined, extension: undefined };
const defaultMaxBytes = 100 * 1024 * 1024;

/** `scheme://...`, or the two schemes that go without. A path may contain a colon. */
const urlText = /^(?:[a-z][a-z0-9+.-]+:\/\/|file:|data:)/i;

/** Reads a source whole: see `resource.read`. */
export async function readSource(source: ReadSource, options: ReadSourceOptions = {}): Promise<Content> {
  assertOptionNames(options, optionNames, "of resource.read");
  const { mediaType, signal, maxBytes = defaultMaxBytes } = options;
  const { name, extension } = options.name === undefined ? unnamed : parseResourceName(options.name);
  assertMaxBytes(maxBytes);
  signal?.throwIfAborted();
  const egress = readEgress(options.egress, "of resource.read");
  const location = { name, extension, mediaType, signal, maxBytes, egress };
  if (typeof source === "string" && !urlText.test(source)) return readFileContent(source, location);
  if (typeof source === "string" || source instanceof URL) return readLocation(toUrl(source), location);
  if (source instanceof Blob) return readBlob(source, location);
  if (!isStream(source)) {
    throw unreadable("This", "it must be a path, a URL, a Blob or a stream, or use resource.from");
  }
  const title = name ?? "stream";
  const bytes = await collectBytes(source, { what: `The stream "${title}"`, maxBytes, signal });
  return contentOfBytes(bytes, { name: title, mediaType }, { extension });
}

/** Reads a URL whole, as far as an egress policy lets it: see `resource.read`. */
export function readLocation(
  url: URL,
  given: Pick<LocationOptions, "egress" | "signal"> & Partial<LocationOptions>,
): Promise<Content> {
  const options = { ...unnamed, mediaType: undefined, maxBytes: defaultMaxBytes, ...given };
  switch (url.protocol) {
    case "file:":
      return readFileContent(url, options);
    case "http:":
    case "https:":
    case "data:":
      return readUrlContent(url, options);
    default:
      throw unreadable(shown(url), `the scheme ${url.protocol} is not file:, http:, https: or data:`);
  }
}

function toUrl(source: string | URL): URL {
  if (typeof source !== "string") return source;
  try {
    return new URL(source);
  } catch (cause) {
    throw unreadable(source, "it is no valid URL", cause);
  }
}

async function readBlob(
  blob: Blob,
  { name, extension, mediaType, signal, maxBytes }: LocationOptions,
): Promise<Content> {
  const file = blob instanceof File ? blob.name : "";
  const dot = file.lastIndexOf(".");
  const title = name ?? ((dot > 0 ? file.slice(0, dot) : file) || "blob");
  const what = `The blob "${title}"`;
  if (blob.size > maxBytes) throw tooLarge(what, maxBytes, blob.size);
  const bytes = await collectBytes(blob.stream(), { what, maxBytes, signal });
  const fields = { name: title, uri: `data:${encodeURIComponent(title)}`, mediaType };
  return contentOfBytes(bytes, fields, {
    declared: blob.type,
    extension: extension ?? (dot > 0 ? file.slice(dot + 1) : undefined),
  });
}

function isStream(source: unknown): source is ByteStream {
  return typeof source === "object" && source !== null && Symbol.asyncIterator in source;
}

function assertMaxBytes(maxBytes: number): void {
  if (maxBytes === Number.POSITIVE_INFINITY || (Number.isInteger(maxBytes) && maxBytes >= 0)) return;
  const message = "must be a whole number of bytes, 0 or more, or Infinity";
  throw new ToolkitError("INVALID_INPUT", `maxBytes ${message}, and is ${maxBytes}.`, {
    issues: [{ pointer: "/maxBytes", message }],
  });
}

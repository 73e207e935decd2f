import { open } from "node:fs/promises";
import { parse, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { Content } from "../core/resource.ts";
import type { EgressPolicy } from "../lib/fetch/egress-policy.ts";
import { collectBytes, tooLarge } from "./collect-bytes.ts";
import { contentOfBytes } from "./sniff.ts";

/** The options of reading a file or URL. */
export interface LocationOptions {
  readonly name: string | undefined;
  /** That of the name, where it is given as the name of a file. Default: that of the file or URL. */
  readonly extension: string | undefined;
  readonly mediaType: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly maxBytes: number;
  /** Where a URL may lead. */
  readonly egress: EgressPolicy;
}

/** Reads a file by path or `file:` URL. Its URI is the absolute `file:` URL, its name the base name without extension. */
export async function readFileContent(location: string | URL, options: LocationOptions): Promise<Content> {
  const path = toPath(location);
  const { name, ext } = parse(path);
  const fields = { name: options.name ?? name, uri: pathToFileURL(path).href, mediaType: options.mediaType };
  return contentOfBytes(await readBytes(path, options), fields, { extension: options.extension ?? ext.slice(1) });
}

function toPath(location: string | URL): string {
  if (typeof location === "string") return resolve(location);
  try {
    return fileURLToPath(location);
  } catch (cause) {
    throw unreadable(location.href, messageOf(cause), cause);
  }
}

async function readBytes(path: string, { signal, maxBytes }: LocationOptions): Promise<Uint8Array> {
  signal?.throwIfAborted();
  const what = `The file ${path}`;
  try {
    const file = await open(path, "r");
    try {
      const status = await file.stat();
      if (status.isDirectory()) throw unreadable(path, "it is a folder");
      if (status.isFile() && status.size > maxBytes) throw tooLarge(what, maxBytes, status.size);
      return await collectBytes(file.createReadStream({ autoClose: false }), { what, maxBytes, signal });
    } finally {
      await file.close();
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (ToolkitError.is(error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") throw unreadable(path, messageOf(error), error);
    throw new ToolkitError(
      "NOT_FOUND",
      `There is no file ${path}. Check the path; a relative one starts from the working directory.`,
      { key: path, suggestions: [] },
      { cause: error },
    );
  }
}

/** @internal */
export function unreadable(what: string, why: string, cause?: unknown): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError(
    "INVALID_INPUT",
    `${what} cannot be read: ${why}.`,
    { issues: [{ pointer: "", message: why }] },
    { cause },
  );
}

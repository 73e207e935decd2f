import type { FileHandle } from "node:fs/promises";
import { ToolkitError } from "../../core/error.ts";
import type { OpenFile, OpenFolder } from "./contained-folder.ts";
import { openChildFile } from "./contained-folder.ts";

/** A file with a zero byte among so many is no text. */
const sniffedBytes = 8_192;

/** Does work with a file that is open, and closes it. */
export async function withFile<T>({ handle, stats }: OpenFile, work: (file: OpenFile) => Promise<T>): Promise<T> {
  try {
    return await work({ handle, stats });
  } finally {
    await handle.close();
  }
}

/** The bytes of a file. @throws ToolkitError `LIMIT_EXCEEDED` for one that is too large, also where it grows meanwhile */
export async function readWhole({ handle, stats }: OpenFile, path: string, maxBytes: number): Promise<Buffer> {
  if (stats.size > maxBytes) throw tooLarge(path, maxBytes, stats.size);
  const bytes = await readUpTo(handle, maxBytes + 1);
  if (bytes.length > maxBytes) throw tooLarge(path, maxBytes, bytes.length);
  return bytes;
}

async function readUpTo(handle: FileHandle, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  while (total < limit) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(65_536, limit - total)));
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    total += bytesRead;
  }
  return Buffer.concat(chunks, total);
}

function tooLarge(path: string, max: number, actual: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `${JSON.stringify(path)} has ${actual} bytes, and at most ${max} are read or written. Search it instead.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxFileBytes", max, actual });
}

/** The text of a file in a folder that is open; undefined for one that is none, too large, a link, or gone. */
export async function childText(folder: OpenFolder, name: string, maxBytes: number): Promise<string | undefined> {
  try {
    const bytes = await withFile(await openChildFile(folder, name), (file) => readWhole(file, name, maxBytes));
    return bytes.subarray(0, sniffedBytes).includes(0) ? undefined : bytes.toString("utf8");
  } catch {
    return undefined;
  }
}

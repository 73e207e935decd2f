import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { sep } from "node:path";

/** The bounds of reading a file that a stranger may have written. */
export interface FileBounds {
  /** The most bytes of the file. A larger one is not read. */
  readonly maxBytes: number;
  /** The folder that the file is in: a link may lead to another file of it, and nowhere else. Default: links are followed. */
  readonly within?: string | undefined;
}

/** The reason why a file was not read: it has more bytes than allowed. */
export class FileTooLarge extends Error {
  /** Its size; of one that grows, or that is no file, a part of it. */
  readonly bytes: number;

  constructor(bytes: number, maxBytes: number) {
    super(`it has ${bytes} bytes, and may have ${maxBytes}`);
    this.bytes = bytes;
  }
}

/** The reason why a link was not followed: it leads out of its folder. */
export class LinkLeadsOut extends Error {
  constructor() {
    super("it is a link that leads out of its folder");
  }
}

/** True for a link that leads out of its folder, whatever is there, and for one that leads to itself. It never rejects. */
export async function isStrayLink(file: string, folder: string): Promise<boolean> {
  try {
    if (!(await lstat(file)).isSymbolicLink()) return false;
    const [target, root] = await Promise.all([realpath(file), realpath(folder)]);
    return !isInside(target, root);
  } catch (error) {
    return isLink(error);
  }
}

// Absent on Windows, where each path is resolved first. A pipe in a folder is opened at once, instead of when it has a writer.
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
const insideFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/** Reads a file. @throws FileTooLarge, LinkLeadsOut, or the error of the file system */
export async function readBounded(file: string, { maxBytes, within }: FileBounds): Promise<Buffer> {
  const handle = await (within === undefined ? open(file, O_RDONLY) : openInside(file, within));
  try {
    const { size } = await handle.stat();
    if (size > maxBytes) throw new FileTooLarge(size, maxBytes);
    const bytes = await readUpTo(handle, size === 0 ? maxBytes + 1 : size + 1);
    // A file that grows while it is read, and one whose size the system does not know.
    const all =
      bytes.length > size && bytes.length <= maxBytes && size > 0 ? await readUpTo(handle, maxBytes + 1) : bytes;
    if (all.length > maxBytes) throw new FileTooLarge(all.length, maxBytes);
    return all;
  } finally {
    await handle.close();
  }
}

/** As `readBounded`, of a file on a disk that is fast. */
export function readBoundedNow(file: string, { maxBytes, within }: FileBounds): Buffer {
  const descriptor = within === undefined ? openSync(file, O_RDONLY) : openInsideNow(file, within);
  try {
    const { size } = fstatSync(descriptor);
    if (size > maxBytes) throw new FileTooLarge(size, maxBytes);
    const bytes = readUpToNow(descriptor, size === 0 ? maxBytes + 1 : size + 1);
    const all =
      bytes.length > size && bytes.length <= maxBytes && size > 0 ? readUpToNow(descriptor, maxBytes + 1) : bytes;
    if (all.length > maxBytes) throw new FileTooLarge(all.length, maxBytes);
    return all;
  } finally {
    closeSync(descriptor);
  }
}

async function openInside(file: string, folder: string): Promise<FileHandle> {
  if (O_NOFOLLOW !== 0) {
    try {
      return await open(file, insideFlags);
    } catch (error) {
      if (!isLink(error)) throw error;
    }
  }
  return await open(await realpathInside(file, folder), insideFlags);
}

function openInsideNow(file: string, folder: string): number {
  if (O_NOFOLLOW !== 0) {
    try {
      return openSync(file, insideFlags);
    } catch (error) {
      if (!isLink(error)) throw error;
    }
  }
  const target = realpathSync(file);
  assertInside(target, realpathSync(folder));
  return openSync(target, insideFlags);
}

/** True for the error of a link that is not followed; its code is another on FreeBSD. */
function isLink(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ELOOP" || code === "EMLINK";
}

/** True for a path that begins with that of a folder. Both are absolute, and real where links must not lead out. */
export function isInside(target: string, folder: string): boolean {
  return target.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The real path of what is in a folder, however many links lead there. @throws LinkLeadsOut, or the error of the file system */
export async function realpathInside(path: string, folder: string): Promise<string> {
  const [target, root] = await Promise.all([realpath(path), realpath(folder)]);
  assertInside(target, root);
  return target;
}

/** Both are real paths. */
function assertInside(target: string, folder: string): void {
  if (target !== folder && !isInside(target, folder)) throw new LinkLeadsOut();
}

async function readUpTo(handle: FileHandle, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, null);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

function readUpToNow(descriptor: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const bytesRead = readSync(descriptor, buffer, filled, length - filled, null);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

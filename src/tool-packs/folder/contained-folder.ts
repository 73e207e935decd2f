import { constants, type Dirent, type Stats } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, opendir, readlink, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { ToolkitError } from "../../core/error.ts";
import { isInside } from "../../lib/bounded-file.ts";
import { invalidPath, outside, toFileError } from "./file-errors.ts";

// Absent on Windows. A pipe is opened at once, instead of when it has a writer.
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** The names that Windows gives to devices, in each folder. */
const devices = /^(?:aux|con|nul|prn|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;
/** A longer path is none of a file system in use. */
const maxPathLength = 4_096;

/** An open folder, and its real path when it was opened. */
export interface OpenFolder {
  readonly handle: FileHandle;
  readonly path: string;
}

/** A file that is open to be read. Whoever has it closes the handle. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
}

/**
 * A folder that nothing leads out of: neither `..`, nor an absolute path, nor a link, nor one that changes between two steps. On Linux the
 * kernel says where an open file is, and what is made is made in a folder that is open; elsewhere its identity is compared after it was
 * opened.
 */
export class ContainedFolder {
  readonly #root: string;

  /** @param root - it need not be there yet */
  constructor(root: string) {
    this.#root = resolve(root);
  }

  /**
   * Opens a file.
   *
   * @throws ToolkitError `NOT_FOUND`, `DENIED` for what is outside, `INVALID_INPUT` for what is no file, such as a folder or a pipe
   */
  async openFile(path: string): Promise<OpenFile> {
    return await toFileError(path, async () => {
      const { target, root } = await this.#find(path);
      const there = await lstat(target);
      if (!there.isFile()) throw noFile(path, there);
      const handle = await open(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      return await closingOnError(handle, async () => {
        const stats = await handle.stat();
        if (!stats.isFile()) throw noFile(path, stats);
        await assertContained(handle, { path, target, root });
        return { handle, stats };
      });
    });
  }

  /** Opens a folder. @throws ToolkitError `NOT_FOUND`, `DENIED` for what is outside, `INVALID_INPUT` for what is no folder */
  async openFolder(path: string): Promise<OpenFolder> {
    return await toFileError(path, async () => {
      const { target, root } = await this.#find(path);
      return await openVerified(target, { path, target, root });
    });
  }

  /** The facts of a path; of a link, those of what it leads to. @throws ToolkitError as `openFile` does, but for devices and pipes */
  async stat(path: string): Promise<Stats> {
    return await toFileError(path, async () => await lstat((await this.#find(path)).target));
  }

  /**
   * Writes a file whole, or not at all: what reads it meanwhile has the old one.
   *
   * @param path - its folders are made where they are missing
   * @param before - the file that is to be replaced, as it was read; null for none
   * @throws ToolkitError `CONFLICT` for another one than that, `DENIED` for what is outside, `INVALID_INPUT` for what is no file
   */
  async write(path: string, bytes: Uint8Array, before: Stats | null): Promise<void> {
    await toFileError(path, async () => {
      const { folder, name } = await this.#folderFor(path);
      try {
        const target = inside(folder, name);
        await assertUnchanged(path, target, before);
        const temporary = inside(folder, `.${name.slice(0, 100)}.${crypto.randomUUID()}.tmp`);
        try {
          await writeNew(temporary, bytes, before);
          await assertUnchanged(path, target, before);
          await rename(temporary, target);
        } catch (error) {
          await rm(temporary, { force: true });
          throw error;
        }
      } finally {
        await folder.handle.close();
      }
    });
  }

  /** The folder that a file is to be written to, opened, and made where it is missing. */
  async #folderFor(path: string): Promise<{ readonly folder: OpenFolder; readonly name: string }> {
    const wanted = this.#inRoot(path);
    const root = await realpath(this.#root);
    const existing = await realpathOf(wanted);
    if (existing === root) throw invalidPath(path, "is a folder");
    // A link to a file of the folder stays a link.
    const file = existing ?? wanted;
    if (existing !== undefined) assertInside(existing, root, path);
    const missing: string[] = [];
    let at = dirname(file);
    let found = await realpathOf(at);
    while (found === undefined) {
      missing.unshift(basename(at));
      at = dirname(at);
      found = await realpathOf(at);
    }
    let folder = await openVerified(found, { path, target: found, root });
    for (const name of missing) {
      const child = inside(folder, name);
      await closingOnError(folder.handle, async () => await mkdir(child).catch(ignoreExisting));
      const next = await closingOnError(folder.handle, async () => {
        return await openVerified(child, { path, target: join(folder.path, name), root });
      });
      await folder.handle.close();
      folder = next;
    }
    return { folder, name: basename(file) };
  }

  /** The real path of what is there. */
  async #find(path: string): Promise<{ readonly target: string; readonly root: string }> {
    const wanted = this.#inRoot(path);
    const [target, root] = await Promise.all([realpath(wanted), realpath(this.#root)]);
    assertInside(target, root, path);
    return { target, root };
  }

  /** The absolute path, before links are followed. */
  #inRoot(path: string): string {
    if (path.length > maxPathLength) throw invalidPath(`${path.slice(0, 50)}...`, "is too long");
    if (path.includes("\0")) throw invalidPath(path, "has a character that no path has");
    const wanted = resolve(this.#root, path);
    assertInside(wanted, this.#root, path);
    if (process.platform === "win32") assertNoDevice(wanted.slice(this.#root.length), path);
    return wanted;
  }
}

/** The entries of a folder that is open, as the system gives them: so many at most. */
export async function entriesOf(
  folder: OpenFolder,
  limit: number,
): Promise<{ readonly entries: readonly Dirent[]; readonly more: boolean }> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(inside(folder, "."))) {
    if (entries.length === limit) return { entries, more: true };
    entries.push(entry);
  }
  return { entries, more: false };
}

/** Opens a file in a folder that is open; a link is not followed. @throws Error for what is no file */
export async function openChildFile(folder: OpenFolder, name: string): Promise<OpenFile> {
  const handle = await open(inside(folder, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  return await closingOnError(handle, async () => {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error(`${name} is no file`);
    return { handle, stats };
  });
}

/** Opens a folder in a folder that is open. It follows no link: undefined for one, and for what is no folder any more. */
export async function openChild(folder: OpenFolder, name: string): Promise<OpenFolder | undefined> {
  const path = join(folder.path, name);
  try {
    return { handle: await openAsFolder(inside(folder, name)), path };
  } catch {
    return undefined;
  }
}

/** The path of a child of a folder that is open. On Linux it leads there whatever has become of the folder's own path. */
export function inside({ handle, path }: OpenFolder, name: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${handle.fd}/${name}` : join(path, name);
}

interface Place {
  /** As it was asked for. */
  readonly path: string;
  readonly target: string;
  readonly root: string;
}

async function openVerified(at: string, place: Place): Promise<OpenFolder> {
  const handle = await openAsFolder(at);
  return await closingOnError(handle, async () => ({ handle, path: await assertContained(handle, place) }));
}

async function openAsFolder(path: string): Promise<FileHandle> {
  return await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
}

/** The real path of what is open. @throws ToolkitError `DENIED` where that is outside */
async function assertContained(handle: FileHandle, { path, target, root }: Place): Promise<string> {
  const real = (await kernelPath(handle)) ?? (await comparedPath(handle, target));
  if (real === undefined) throw outside(path);
  assertInside(real, root, path);
  return real;
}

/** The path of an open file, as the kernel has it; undefined where it does not say. */
async function kernelPath(handle: FileHandle): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  const link = `/proc/self/fd/${handle.fd}`;
  return await access(link).then(
    () => readlink(link),
    () => undefined,
  );
}

/** The path of an open file, where that file is there still. */
async function comparedPath(handle: FileHandle, target: string): Promise<string | undefined> {
  const [real, mine] = await Promise.all([realpath(target), handle.stat()]);
  const there = await lstat(real);
  return there.ino === mine.ino && there.dev === mine.dev ? real : undefined;
}

function assertInside(target: string, root: string, path: string): void {
  if (target !== root && !isInside(target, root)) throw outside(path);
}

function assertNoDevice(inRoot: string, path: string): void {
  const name = inRoot.split(sep).find((each) => each.includes(":") || devices.test(each));
  if (name !== undefined) throw invalidPath(path, "names a device or a stream of Windows");
}

async function realpathOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // A link that leads nowhere: what is written there is made where it leads.
    if (await isLink(path)) throw error;
    return undefined;
  }
}

async function isLink(path: string): Promise<boolean> {
  return await lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
}

async function writeNew(path: string, bytes: Uint8Array, before: Stats | null): Promise<void> {
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
  try {
    await handle.writeFile(bytes);
    if (before !== null) await handle.chmod(before.mode & 0o777);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function assertUnchanged(path: string, target: string, before: Stats | null): Promise<void> {
  const there = await lstat(target).catch(() => null);
  if (there !== null && !there.isFile()) throw noFile(path, there);
  const same =
    there === null || before === null
      ? there === before
      : there.ino === before.ino && there.mtimeMs === before.mtimeMs && there.size === before.size;
  if (same) return;
  const what = before === null ? "There is a file already" : "The file was changed meanwhile";
  throw new ToolkitError("CONFLICT", `${what}: ${path}. Read it before you replace it.`, { key: path, owners: [] });
}

function noFile(path: string, stats: Stats): ToolkitError<"INVALID_INPUT"> {
  return invalidPath(
    path,
    stats.isDirectory() ? "is a folder" : "is no file, but a link, a device, a pipe or a socket",
  );
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

async function closingOnError<T>(handle: FileHandle, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await handle.close();
    throw error;
  }
}

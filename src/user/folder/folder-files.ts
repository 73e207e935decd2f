import { randomUUID } from "node:crypto";
import { lstat, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { shown } from "../../core/options.ts";
import { realpathInside } from "../../lib/bounded-file.ts";

/** The files of a folder, by their path in it, with `/`. */
export class FolderFiles {
  readonly path: string;

  /** @throws ToolkitError `INVALID_INPUT` for what is no path and no `file:` URL */
  constructor(folder: string | URL) {
    this.path = pathOf(folder);
  }

  /**
   * Reads a file; undefined where there is none.
   *
   * @param maxBytes - a larger file is not read: a sparse one takes no room on the disk, and all of the memory
   * @param tooLarge - makes the error of a larger file
   * @throws ToolkitError `INVALID_INPUT`, `LIMIT_EXCEEDED`
   */
  async read(
    file: string,
    maxBytes: number,
    tooLarge: (file: string, max: number, actual: number) => Error,
  ): Promise<Buffer | undefined> {
    try {
      await this.#assertInside(file);
      const path = join(this.path, file);
      // Reading a pipe would never end.
      const found = await stat(path);
      if (!found.isFile()) throw new Error("it is no file");
      if (found.size > maxBytes) throw tooLarge(file, maxBytes, found.size);
      return await readFile(path);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      if (ToolkitError.is(error)) throw error;
      throw this.#failed(`${file} cannot be read`, error);
    }
  }

  /** The names of the files in a subfolder, sorted; undefined where there is no such folder. */
  async names(folder = ""): Promise<readonly string[] | undefined> {
    try {
      await this.#assertInside(folder);
      const found = await readdir(join(this.path, folder), { withFileTypes: true });
      return found.flatMap((each) => (each.isDirectory() ? [] : [each.name])).sort();
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw this.#failed("it cannot be read", error);
    }
  }

  /** Replaces a file as a whole: at any time the old or the new one is there, never a part of one, and a link is replaced by a file. True where it is different from before. */
  async write(file: string, bytes: Uint8Array): Promise<boolean> {
    const path = join(this.path, file);
    const temporary = join(dirname(path), `.${randomUUID()}.new`);
    try {
      await mkdir(dirname(path), { recursive: true });
      await this.#assertInside(dirname(file));
      const before = await lstat(path).catch(() => undefined);
      if (before?.isFile() === true && (await readFile(path)).equals(bytes)) return false;
      // A file that only its owner may read stays so.
      const mode = before?.isFile() === true ? before.mode & 0o777 : undefined;
      const handle = await open(temporary, "wx", mode === undefined ? undefined : mode & 0o600);
      try {
        if (mode !== undefined) await handle.chmod(mode);
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, path);
      return true;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw this.#failed(`${file} cannot be written`, error);
    }
  }

  async remove(file: string): Promise<void> {
    try {
      await this.#assertInside(dirname(file));
      await rm(join(this.path, file), { force: true });
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      throw this.#failed(`${file} cannot be removed`, error);
    }
  }

  /** A link may lead to another file of the folder, and nowhere else: its author may be another than the one who imports it. */
  async #assertInside(file: string): Promise<void> {
    await realpathInside(join(this.path, file), this.path);
  }

  #failed(what: string, cause: unknown): ToolkitError<"INVALID_INPUT"> {
    const message = `The folder ${this.path} cannot be used: ${what}: ${messageOf(cause)}`;
    return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "/folder", message: what }] }, { cause });
  }
}

function pathOf(folder: unknown): string {
  if (typeof folder === "string" && folder !== "") return folder;
  if (folder instanceof URL && folder.protocol === "file:") return fileURLToPath(folder);
  const message = `must be a path or a file: URL, and is ${shown(folder instanceof URL ? folder.href : folder)}`;
  throw new ToolkitError("INVALID_INPUT", `The folder ${message}.`, { issues: [{ pointer: "/folder", message }] });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

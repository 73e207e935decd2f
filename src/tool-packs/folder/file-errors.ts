import { ToolkitError } from "../../core/error.ts";

/** The error of a path that cannot be used. */
export function invalidPath(path: string, why: string): ToolkitError<"INVALID_INPUT"> {
  const message = `The path ${JSON.stringify(path)} ${why}.`;
  return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "/path", message: why }] });
}

/** The error of a path that leads out of the folder: it does not say what is there. */
export function outside(path: string): ToolkitError<"DENIED"> {
  const message = `The path ${JSON.stringify(path)} leads out of the folder that may be used. Name one below it, without "..".`;
  return new ToolkitError("DENIED", message, { rule: "root" });
}

/** Errors of the file system, in words that hold no other path. */
const refusals: Readonly<Record<string, string>> = {
  ENOTDIR: "passes a file as if it were a folder",
  ENAMETOOLONG: "has a name that is too long",
  ELOOP: "is a link that changed, or leads to itself",
  EISDIR: "is a folder",
  EACCES: "may not be used: the system does not permit it",
  EPERM: "may not be used: the system does not permit it",
  EROFS: "cannot be written: its file system is read-only",
  ENXIO: "is no file",
  EINVAL: "is no path of this file system",
};

/**
 * Runs work on a path. Errors of the file system become those of a call.
 *
 * @throws ToolkitError `NOT_FOUND`, `INVALID_INPUT`, or `TOOL_FAILED` for a disk that fails
 */
export async function toFileError<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (ToolkitError.is(error)) throw error;
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") {
      const message = `There is nothing at ${JSON.stringify(path)}. Look at its folder with read_tree.`;
      throw new ToolkitError("NOT_FOUND", message, { key: path, suggestions: [] }, { cause: error });
    }
    const why = Object.hasOwn(refusals, code) ? refusals[code] : undefined;
    if (why !== undefined) throw invalidPath(path, why);
    throw new ToolkitError("TOOL_FAILED", `${JSON.stringify(path)} cannot be used: ${code}.`, {}, { cause: error });
  }
}

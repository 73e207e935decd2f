import { stat } from "node:fs/promises";

/**
 * A warning about a file that others than its owner may read or change; undefined where there is none to give, such as on Windows, which
 * has no modes.
 *
 * @param what - the file in words, such as `The store`
 * @throws Error of the system where there is no such file
 */
export async function wideAccess(file: string, what: string): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  const { mode } = await stat(file);
  if ((mode & 0o077) === 0) return undefined;
  return `${what} ${file} has mode ${(mode & 0o777).toString(8)}: others than its owner may read or change what is in it. Run chmod 600 on it.`;
}

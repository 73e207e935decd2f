/**
 * What a file of a prompt folder is: a prompt, or a partial and nothing else. The file of a prompt may be used as a partial too.
 */
export type FileRole = "prompt" | "partial";

/** What a file is, by its name alone; undefined for what is no business of a prompt folder, such as a README or a backup. */
export function fileRole(name: string): FileRole | undefined {
  if (name.startsWith(".") || name.toLowerCase() === "readme.md") return undefined;
  if (/\.(?:md|prompt)$/i.test(name)) return name.startsWith("_") ? "partial" : "prompt";
  return /\.hbs$/i.test(name) ? "partial" : undefined;
}

/** True for a file in the form of Google's dotprompt. */
export function isDotprompt(file: string | undefined): boolean {
  return file !== undefined && /\.prompt$/i.test(file);
}

import { promptLimitExceeded, type ReadPromptLimits } from "../core/prompt-limits.ts";
import { describePlace, fileStart, placeOf } from "./prompt-problem.ts";

/** Refuses the text of a prompt or a partial that is too large. @throws ToolkitError `LIMIT_EXCEEDED` */
export function assertPromptSize(text: string, file: string | undefined, { maxBytes }: ReadPromptLimits): void {
  const bytes = bytesBeyond(text, maxBytes);
  if (bytes !== undefined) throw tooLarge(file, maxBytes, bytes);
}

/** The error of a file that is too large. */
export function tooLarge(file: string | undefined, maxBytes: number, bytes: number): Error {
  const what =
    "The file is too large for a prompt: move what callers can pass to a field of the input, and texts to resources.";
  return promptLimitExceeded("maxBytes", maxBytes, `${describePlace(file, fileStart)}: ${what}`, bytes);
}

/** Refuses front matter that is too large. @throws ToolkitError `LIMIT_EXCEEDED` */
export function assertFrontMatterSize(
  { text, yaml, yamlStart }: { readonly text: string; readonly yaml: string; readonly yamlStart: number },
  file: string | undefined,
  { maxFrontMatterBytes }: ReadPromptLimits,
): void {
  const bytes = bytesBeyond(yaml, maxFrontMatterBytes);
  if (bytes === undefined) return;
  const what = "The front matter is too large: move texts below it, and say of the input only what callers must know.";
  const place = describePlace(file, placeOf(text, yamlStart));
  throw promptLimitExceeded("maxFrontMatterBytes", maxFrontMatterBytes, `${place}: ${what}`, bytes);
}

/** The size of a text that is larger than allowed; undefined for one that is not. */
function bytesBeyond(text: string, maxBytes: number): number | undefined {
  // A character has one byte at least and three at most.
  if (text.length * 3 <= maxBytes) return undefined;
  const bytes = text.length > maxBytes ? text.length : Buffer.byteLength(text);
  return bytes > maxBytes ? bytes : undefined;
}

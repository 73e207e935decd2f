import { promptLimitExceeded, type ReadPromptLimits } from "../core/prompt-limits.ts";
import { describePlace, fileStart } from "./prompt-problem.ts";

/** Refuses the text of a prompt or a partial that is too large. @throws ToolkitError `LIMIT_EXCEEDED` */
export function assertPromptSize(text: string, file: string | undefined, { maxBytes }: ReadPromptLimits): void {
  // A character has one byte at least and three at most.
  if (text.length * 3 <= maxBytes) return;
  const bytes = text.length > maxBytes ? text.length : Buffer.byteLength(text);
  if (bytes > maxBytes) throw tooLarge(file, maxBytes, bytes);
}

/** The error of a file that is too large. */
export function tooLarge(file: string | undefined, maxBytes: number, bytes: number): Error {
  const what = `The file is too large for a prompt: move what callers can pass to a field of the input, and texts to resources.`;
  return promptLimitExceeded("maxBytes", maxBytes, `${describePlace(file, fileStart)}: ${what}`, bytes);
}

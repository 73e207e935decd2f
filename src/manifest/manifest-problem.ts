import { ToolkitError } from "../core/error.ts";
import { visible } from "../lib/visible-text.ts";
import type { Place } from "../prompt/prompt-problem.ts";

/** The place of a mistake. */
export interface ProblemPlace extends Place {
  /** Undefined for a manifest that came from no file. */
  readonly file: string | undefined;
}

/** More of a message is cut: it may quote a value of any length. */
const maxLength = 2_000;

/**
 * The error of a manifest, for its author: the place, the mistake, and what to write instead. Names of files and fields are those of a
 * stranger: they add no line to the message.
 */
export function manifestProblem(
  { file, line, column }: ProblemPlace,
  what: string,
  hint: string,
  { cause, variable }: { readonly cause?: unknown; readonly variable?: string | undefined } = {},
): ToolkitError<"INVALID_MANIFEST"> {
  const text = visible(`${file ?? "manifest"}:${line}:${column}: ${what}`).slice(0, maxLength);
  return new ToolkitError(
    "INVALID_MANIFEST",
    `${text} ${visible(hint)}`.trimEnd(),
    { file, line, column, hint, ...(variable === undefined ? {} : { variable }) },
    { cause },
  );
}

import { messageOf, ToolkitError } from "../core/error.ts";
import { visible } from "../lib/visible-text.ts";
import { mistakeLines } from "../lib/written-mistakes.ts";
import { describePlace, fileStart, type Place } from "../prompt/prompt-problem.ts";

/** The place of a mistake. */
export interface ProblemPlace extends Place {
  /** Undefined for a manifest that came from no file. */
  readonly file: string | undefined;
}

/** The error of a manifest, for its author: the place, the mistake, and what to write instead. */
export function manifestProblem(
  { file, ...place }: ProblemPlace,
  what: string,
  hint: string,
  { cause, variable }: { readonly cause?: unknown; readonly variable?: string | undefined } = {},
): ToolkitError<"INVALID_MANIFEST"> {
  const text = mistakeLines([`${describePlace(file ?? "manifest", place)}: ${what}`]);
  return new ToolkitError(
    "INVALID_MANIFEST",
    `${text} ${visible(hint)}`.trimEnd(),
    { file, ...place, hint, ...(variable === undefined ? {} : { variable }) },
    { cause },
  );
}

/** The error of a manifest that could not be loaded: a mode of the program's own may throw anything, and stops no other manifest. */
export function loadProblem(error: unknown, file: string): ToolkitError {
  if (ToolkitError.is(error)) return error;
  return manifestProblem({ file, ...fileStart }, `It cannot be loaded: ${messageOf(error)}.`, "", { cause: error });
}

import { ToolkitError } from "../core/error.ts";

/** A place in a file, as editors count: line and column from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The place as people write it: `prompts/summarize.md:3:8`; without a file `prompt:3:8`. */
export function describePlace(file: string | undefined, place: Place): string {
  return `${file ?? "prompt"}:${place.line}:${place.column}`;
}

/** What is wrong with a prompt file, for whoever wrote it: where, what, and what to write instead. */
export function promptProblem(
  file: string | undefined,
  place: Place,
  what: string,
  hint: string,
  cause?: unknown,
): ToolkitError<"INVALID_PROMPT"> {
  return new ToolkitError(
    "INVALID_PROMPT",
    `${describePlace(file, place)}: ${what} ${hint}`,
    { file, line: place.line, column: place.column, hint },
    { cause },
  );
}

/** The place of an offset in a text. */
export function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: offset - lineStart + 1 };
}

/** Which check a problem comes from. */
export type ProblemKind = "file" | "yaml" | "field" | "name" | "schema" | "template" | "partial";

/** Takes a problem: whoever reads a prompt refuses it at the first, lint notes it and goes on. */
export type Report = (problem: ToolkitError, kind: ProblemKind) => void;

/** Throws the problem. */
export const refuse: Report = (problem) => {
  throw problem;
};

import { ToolkitError } from "../core/error.ts";
import type { ErrorDetails } from "../core/error-catalog.ts";

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
  changes?: ErrorDetails["INVALID_PROMPT"]["changes"],
): ToolkitError<"INVALID_PROMPT"> {
  return new ToolkitError(
    "INVALID_PROMPT",
    `${describePlace(file, place)}: ${what} ${hint}`,
    { file, line: place.line, column: place.column, hint, ...(changes === undefined ? {} : { changes }) },
    { cause },
  );
}

/** What a problem of a prompt says, in its parts. */
export interface ProblemParts {
  readonly file: string | undefined;
  readonly place: Place;
  readonly what: string;
  readonly hint: string | undefined;
}

/** The parts that the message of a problem was made of; `file` is where it is, unless it says another. */
export function problemParts(problem: ToolkitError, file: string | undefined): ProblemParts {
  const details = ToolkitError.is(problem, "INVALID_PROMPT") ? problem.details : {};
  const where = details.file ?? file;
  const [, line = "1", column = "1", text = problem.message] =
    /^:(\d+):(\d+): ([\s\S]*)$/.exec(withoutStart(problem.message, where ?? "prompt")) ?? [];
  const { hint } = details;
  const what = hint !== undefined && text.endsWith(hint) ? text.slice(0, -hint.length).trimEnd() : text;
  return { file: where, place: { line: Number(line), column: Number(column) }, what, hint };
}

function withoutStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
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

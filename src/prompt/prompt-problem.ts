import { ToolkitError } from "../core/error.ts";
import type { ErrorDetails } from "../core/error-catalog.ts";
import { visible } from "../lib/visible-text.ts";

/** A place in a file, as editors count: line and column from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The beginning of a file, for a problem of all of it. */
export const fileStart: Place = { line: 1, column: 1 };

/** The place as people write it: `prompts/summarize.md:3:8`; without a file `prompt:3:8`. */
export function describePlace(file: string | undefined, place: Place): string {
  return `${visible(file ?? "prompt")}:${place.line}:${place.column}`;
}

/**
 * The error of a prompt file, for its author: the place, the mistake, and the text to write instead. Names of files and fields are those of
 * a stranger: they add no line to the message, and so to a log.
 *
 * @param advice - a text on one line, or several lines
 */
export function promptProblem(
  file: string | undefined,
  place: Place,
  what: string,
  advice: string | readonly string[],
  cause?: unknown,
  changes?: ErrorDetails["INVALID_PROMPT"]["changes"],
): ToolkitError<"INVALID_PROMPT"> {
  const hint = [advice].flat().map(visible).join("\n");
  return new ToolkitError(
    "INVALID_PROMPT",
    `${describePlace(file, place)}: ${visible(what)} ${hint}`,
    { file, line: place.line, column: place.column, hint, ...(changes === undefined ? {} : { changes }) },
    { cause },
  );
}

/** The parts of the message of a problem. */
export interface ProblemParts {
  readonly file: string | undefined;
  readonly place: Place;
  readonly what: string;
  readonly hint: string | undefined;
}

/** Takes the message of a problem apart; `file` is its file, unless its details name another. */
export function problemParts(problem: ToolkitError, file: string | undefined): ProblemParts {
  const isPlaced = ToolkitError.is(problem, "INVALID_PROMPT") || ToolkitError.is(problem, "INVALID_MANIFEST");
  const details = isPlaced ? problem.details : {};
  const where = details.file ?? file;
  const start = visible(where ?? "prompt");
  const message = problem.message.startsWith(start) ? problem.message.slice(start.length) : problem.message;
  const [, line = "1", column = "1", text = problem.message] = /^:(\d+):(\d+): ([\s\S]*)$/.exec(message) ?? [];
  const hint = details.hint === "" ? undefined : details.hint;
  const what = hint !== undefined && text.endsWith(hint) ? text.slice(0, -hint.length).trimEnd() : text;
  return { file: where, place: { line: Number(line), column: Number(column) }, what, hint };
}

/** The place of an offset in a text. */
export function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/** As `placeOf`, for many offsets: the lines of the text are counted once, when the first place is asked for. */
export function placeFinder(text: string): (offset: number) => Place {
  let starts: readonly number[] | undefined;
  return (offset) => {
    starts ??= lineStarts(text);
    let first = 0;
    let last = starts.length - 1;
    while (first < last) {
      const middle = Math.ceil((first + last) / 2);
      if ((starts[middle] ?? 0) <= offset) first = middle;
      else last = middle - 1;
    }
    return { line: first + 1, column: offset - (starts[first] ?? 0) + 1 };
  };
}

/** The offset of each line of a text. */
export function lineStarts(text: string): readonly number[] {
  return [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
}

/** The check that a problem comes from. */
export type ProblemKind = "file" | "yaml" | "field" | "name" | "schema" | "template" | "partial";

/** Receives a problem: reading a prompt throws the first one, lint collects them all. */
export type ReportProblem = (problem: ToolkitError, kind: ProblemKind) => void;

/** Throws the problem. */
export const throwProblem: ReportProblem = (problem) => {
  throw problem;
};

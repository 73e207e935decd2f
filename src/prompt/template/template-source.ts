import { isDotprompt } from "../prompt-files.ts";
import { type Place, placeOf } from "../prompt-problem.ts";

/** The text of a template, and its place in its file. */
export interface TemplateSource {
  readonly text: string;
  readonly file: string | undefined;
  /** It has the helpers of dotprompt too. */
  readonly isDotprompt?: boolean | undefined;
  /** The place in the file of a line and column (both from 1) of the text. */
  placeAt(line: number, column: number): Place;
}

/** A template that starts at the first column of a line of its file. */
export function templateFromLine(text: string, file: string | undefined, firstLine: number): TemplateSource {
  return {
    text,
    file,
    isDotprompt: isDotprompt(file),
    placeAt: (line, column) => ({ line: line + firstLine - 1, column }),
  };
}

/** The place in the file of an offset of the text. */
export function placeInFile(source: TemplateSource, offset: number): Place {
  const { line, column } = placeOf(source.text, offset);
  return source.placeAt(line, column);
}

/** A part of a text between two marks, which are included. */
export interface MarkedRegion<Kind> {
  readonly offset: number;
  readonly text: string;
  readonly kind: Kind;
}

/** The marks that begin a region, and the pattern of the mark that ends it. */
export type RegionMarks<Kind> = readonly [begins: RegExp, end: RegExp, kind: Kind];

/** The regions of a text, in their order. The time it takes is linear in the text: an end that is missing is searched for once. */
export function* markedRegions<Kind>(
  text: string,
  opening: RegExp,
  marks: readonly RegionMarks<Kind>[],
): Generator<MarkedRegion<Kind>> {
  const missing = new Set<RegExp>();
  const start = new RegExp(opening, "g");
  for (let match = start.exec(text); match !== null; match = start.exec(text)) {
    const { 0: mark, index: offset } = match;
    const [, end, kind] = marks.find(([begins]) => begins.test(mark)) ?? [];
    if (end === undefined || missing.has(end)) continue;
    const closing = new RegExp(end, "g");
    closing.lastIndex = offset + mark.length;
    if (closing.test(text)) {
      start.lastIndex = closing.lastIndex;
      yield { offset, text: text.slice(offset, closing.lastIndex), kind: kind as Kind };
    } else missing.add(end);
  }
}

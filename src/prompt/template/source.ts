import { isDotprompt } from "../file-name.ts";
import type { Place } from "../problem.ts";

/** The text of a template, and where it is in its file. */
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

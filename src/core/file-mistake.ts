/** A mistake in a file that a person wrote. */
export interface FileMistake {
  readonly file?: string | undefined;
  /** From 1, as the column. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** The text to write instead. */
  readonly hint?: string | undefined;
}

/** A change to a prompt file that was written for another template language. */
export interface PromptChange {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** The text that stands there. */
  readonly text: string;
  /** The text to put in its place; undefined where nothing does the same. */
  readonly instead: string | undefined;
  /** A field that the input needs for it. */
  readonly field?: string | undefined;
  /** A partial to be written, `_name.md` in the same folder, and its text. */
  readonly partial?: { readonly name: string; readonly text: string } | undefined;
}

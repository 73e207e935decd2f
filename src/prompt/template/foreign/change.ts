import type { NeededField } from "./condition.ts";

/** What to change in a template of another language, for one of its tags. */
export interface TemplateChange {
  /** Where it starts in the text. */
  readonly offset: number;
  /** What stands there. */
  readonly text: string;
  /** What is to stand there; undefined where Handlebars has nothing for it. */
  readonly instead: string | undefined;
  /** What else is to do. */
  readonly hint?: string | undefined;
  /** A field the input needs for it. */
  readonly field?: NeededField | undefined;
  /** A partial that is to be written, with the text that goes there. */
  readonly partial?: { readonly name: string; readonly text: string } | undefined;
}

/** Applies changes to the text they were found in. */
export function applyChanges(text: string, changes: readonly TemplateChange[]): string {
  let result = "";
  let end = 0;
  for (const { offset, text: old, instead } of changes) {
    result += text.slice(end, offset) + (instead ?? old);
    end = offset + old.length;
  }
  return result + text.slice(end);
}

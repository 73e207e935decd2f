/** A change that turns one tag of a template into Handlebars. */
export interface TemplateChange {
  /** Start of the tag in the text. */
  readonly offset: number;
  /** The text to replace. */
  readonly text: string;
  /** The replacement; undefined where Handlebars has nothing for it. */
  readonly instead: string | undefined;
  /** Further advice. */
  readonly hint?: string | undefined;
  /** A partial to be written, and its text. */
  readonly partial?: { readonly name: string; readonly text: string } | undefined;
}

/** In the order of the text; a change of a whole block comes before those inside it. */
export function byOffset(a: TemplateChange, b: TemplateChange): number {
  return a.offset - b.offset || b.text.length - a.text.length;
}

/** Applies changes to the text they were found in. */
export function applyChanges(text: string, changes: readonly TemplateChange[]): string {
  let result = "";
  let end = 0;
  for (const { offset, text: old, instead } of changes.toSorted(byOffset)) {
    // A change inside a block that becomes a partial was made in the text of the partial.
    if (offset < end) continue;
    result += text.slice(end, offset) + (instead ?? old);
    end = offset + old.length;
  }
  return result + text.slice(end);
}

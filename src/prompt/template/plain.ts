/** A partial that a plain template uses. */
export interface PlainPartial {
  readonly name: string;
  /** Where its tag starts. */
  readonly offset: number;
}

const path = "[A-Za-z_][A-Za-z0-9_]*(?:\\.[A-Za-z_][A-Za-z0-9_]*)*";
const tag = new RegExp(
  `\\{\\{(?:#(if|unless|each|with) (${path})|/(if|unless|each|with)|(else)|> ?([A-Za-z0-9_][A-Za-z0-9_-]*)|(?:json |upper |lower |trim )?(${path})|( ${path} ))\\}\\}(?!\\})`,
  "y",
);

/** Words that mean something here or in another template language, where a name stands. */
const meaningful = new RegExp(
  `^ ?(?:${[
    "el\\w*|end\\w*|if|for|unless|each|with|range|define|template|block|set|include|extends|macro|import|call|filter|do|raw",
    "lookup|log|json|default|join|upper|lower|trim|len|index|print\\w*|html|js|urlquery|slice|continue|break",
    "not|and|or|is|in|eq|ne|lt|le|gt|ge|true|false|null|nil|None|True|False|undefined|helperMissing|blockHelperMissing",
  ].join("|")})(?![A-Za-z0-9_])`,
);

const maxDepth = 30;

/**
 * The partials of a template that is right beyond doubt: its tags are `{{name}}`, `{{upper name}}`, `{{> name}}`, and `{{#if name}}` and
 * its like, opened and closed in order. Undefined for any other, right or wrong, which is for `checkTemplate`: that takes many times as
 * long.
 */
export function plainPartials(text: string): readonly PlainPartial[] | undefined {
  // Where it is no tag of ours, it may be one of another language.
  if (/(?<!\{)\{[%#]/.test(text)) return undefined;
  const partials: PlainPartial[] = [];
  const open: { readonly name: string; hasElse: boolean }[] = [];
  for (let at = text.indexOf("{{"); at !== -1; at = text.indexOf("{{", tag.lastIndex)) {
    tag.lastIndex = at;
    const match = text[at - 1] === "\\" ? null : tag.exec(text);
    if (match === null) return undefined;
    const [, opened, condition, closed, otherwise, partial, value, spaced] = match;
    const name = condition ?? partial ?? value ?? spaced;
    if (name !== undefined && meaningful.test(name)) return undefined;
    if (opened !== undefined) open.push({ name: opened, hasElse: false });
    else if (closed !== undefined && open.pop()?.name !== closed) return undefined;
    else if (partial !== undefined) partials.push({ name: partial, offset: at });
    if (open.length > maxDepth || (otherwise !== undefined && !takesElse(open.at(-1)))) return undefined;
  }
  return open.length === 0 ? partials : undefined;
}

function takesElse(block: { hasElse: boolean } | undefined): boolean {
  if (block === undefined || block.hasElse) return false;
  block.hasElse = true;
  return true;
}

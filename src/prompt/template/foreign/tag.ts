/** A tag of a template language, whichever. */
export interface Tag {
  readonly offset: number;
  /** As it is written, braces included. */
  readonly text: string;
  /** What stands inside, without marks that trim. */
  readonly inner: string;
  /** `{{ }}`, or `{% %}` and `{# #}` of Jinja. */
  readonly form: "value" | "statement" | "comment";
  /** Cuts the blank space before it, or after it. */
  readonly trimsBefore: boolean;
  readonly trimsAfter: boolean;
}

const opening = /\\\{\{|\{\{~?!--|\{\{~?!|\{\{-?\s*\/\*|\{\{\{|\{\{|\{%|\{#/g;

/** How each kind of tag ends; what has no form is passed over. */
const endings: readonly (readonly [opening: RegExp, end: string, form: Tag["form"] | undefined])[] = [
  [/^\{\{~?!--/, "--~?\\}\\}", undefined],
  [/^\{\{~?!/, "\\}\\}", undefined],
  [/^\{\{-?\s*\/\*/, "\\*\\/\\s*-?\\}\\}", "value"],
  [/^\{\{\{/, "\\}\\}\\}", "value"],
  [/^\{\{/, "\\}\\}", "value"],
  [/^\{%/, "%\\}", "statement"],
  [/^\{#/, "#\\}", "comment"],
];

/** All tags of a text, but comments of Handlebars. The time it takes grows with the text, whatever is in it. */
export function tagsOf(text: string): readonly Tag[] {
  const found: Tag[] = [];
  const endless = new Set<string>();
  const start = new RegExp(opening);
  for (let match = start.exec(text); match !== null; match = start.exec(text)) {
    const [mark] = match;
    const [, end, form] = endings.find(([is]) => is.test(mark)) ?? [];
    if (end === undefined || endless.has(end)) continue;
    const closing = new RegExp(end, "g");
    closing.lastIndex = match.index + mark.length;
    if (closing.exec(text) === null) {
      endless.add(end);
      continue;
    }
    start.lastIndex = closing.lastIndex;
    if (form !== undefined) found.push(tagOf(text.slice(match.index, closing.lastIndex), match.index, form));
  }
  return found;
}

function tagOf(text: string, offset: number, form: Tag["form"]): Tag {
  const braces = text.startsWith("{{{") ? 3 : 2;
  const inside = text.slice(braces, -braces);
  const before = form === "value" ? /^(?:~|-(?=\s))/ : /^[-+]/;
  const after = form === "value" ? /(?:~|(?<=\s)-)$/ : /[-+]$/;
  return {
    offset,
    text,
    inner: inside.replace(before, "").replace(after, "").trim(),
    form,
    trimsBefore: /^[~-]/.test(before.exec(inside)?.[0] ?? ""),
    trimsAfter: /[~-]$/.test(after.exec(inside)?.[0] ?? ""),
  };
}

/** Tags of Handlebars that take the place of one, trimming what it trims. */
export function inPlaceOf(tag: Tag, ...inners: readonly string[]): string {
  return inners
    .map((inner, index) => {
      const before = index === 0 && tag.trimsBefore ? "~" : "";
      const after = index === inners.length - 1 && tag.trimsAfter ? "~" : "";
      return `{{${before}${inner}${after}}}`;
    })
    .join("");
}

/** A text with tags in it that takes the place of a tag, trimming what it trims. */
export function textInPlaceOf(tag: Tag, text: string): string {
  return `${tag.trimsBefore ? "{{~!}}" : ""}${text}${tag.trimsAfter ? "{{!~}}" : ""}`;
}

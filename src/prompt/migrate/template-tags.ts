import { markedRegions, type RegionMarks } from "../template/template-source.ts";

/** A tag between braces, in the syntax of any template language. */
export interface TemplateTag {
  readonly offset: number;
  /** As it is written, braces included. */
  readonly text: string;
  /** The text inside the braces, without marks that trim. */
  readonly inner: string;
  /** `{{ }}`, or `{% %}` of Jinja. */
  readonly form: "value" | "statement";
  /** Removes the blank space before the tag, or after it. */
  readonly trimsBefore: boolean;
  readonly trimsAfter: boolean;
}

const opening = /\\\{\{|\{\{~?!--|\{\{~?!|\{\{-?\s*\/\*|\{\{\{|\{\{|\{%|\{#/;

/** The marks of each kind of tag, and of comments of Handlebars and Jinja. */
const tagMarks: readonly RegionMarks<TemplateTag["form"] | "comment">[] = [
  [/^\{\{~?!--/, /--~?\}\}/, "comment"],
  [/^\{\{~?!/, /\}\}/, "comment"],
  [/^\{\{-?\s*\/\*/, /\*\/\s*-?\}\}/, "value"],
  [/^\{\{\{/, /\}\}\}/, "value"],
  [/^\{\{/, /\}\}/, "value"],
  [/^\{%/, /%\}/, "statement"],
  [/^\{#/, /#\}/, "comment"],
];

/** All tags of a text, except comments of Handlebars and Jinja. */
export function templateTags(text: string): readonly TemplateTag[] {
  const tags: TemplateTag[] = [];
  for (const { offset, text: tag, kind } of markedRegions(text, opening, tagMarks)) {
    if (kind !== "comment") tags.push(toTag(tag, offset, kind));
  }
  return tags;
}

function toTag(text: string, offset: number, form: TemplateTag["form"]): TemplateTag {
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

/** Handlebars tags that replace a tag and trim the blank space it trims. */
export function tagsInPlaceOf(tag: TemplateTag, ...inners: readonly string[]): string {
  return inners
    .map((inner, index) => {
      const before = index === 0 && tag.trimsBefore ? "~" : "";
      const after = index === inners.length - 1 && tag.trimsAfter ? "~" : "";
      return `{{${before}${inner}${after}}}`;
    })
    .join("");
}

/** A text that replaces a tag and trims the blank space it trims. */
export function textInPlaceOf(tag: TemplateTag, text: string): string {
  return `${tag.trimsBefore ? "{{~!}}" : ""}${text}${tag.trimsAfter ? "{{!~}}" : ""}`;
}

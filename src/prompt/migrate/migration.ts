import { type Place, placeFinder, promptProblem } from "../prompt-problem.ts";
import type { TemplateSource } from "../template/template-source.ts";
import { changesOfGo, isGoTag } from "./go-template.ts";
import type { TemplateChange } from "./template-change.ts";
import { type TemplateTag, templateTags } from "./template-tags.ts";

/** A template in another language: the changes that make it Handlebars, or the first tag where the language is only recognised. */
export type OtherTemplate =
  | { readonly language: "Go template syntax"; readonly changes: readonly TemplateChange[] }
  | { readonly language: "Jinja"; readonly tag: TemplateTag };

// Every template of another language has one of these, and some Handlebars too, whose tags are then looked at one by one.
const mayBeOther =
  /\{%|\{\{-|\s-\}\}|\{\{\/\*|\{\{[^{}]*(?:[|=(`]|\sif\s|[\s(]\$?\.|\$)|\{\{\s*(?:if|range|with|define|block|template)\s/;

/**
 * Recognises a template of Go's text/template or of Jinja.
 *
 * @param isBroken - Handlebars cannot parse it: then an `{{ end }}` is one of Go
 */
export function findOtherTemplate(text: string, isBroken: boolean): OtherTemplate | undefined {
  if (!isBroken && !mayBeOther.test(text)) return undefined;
  const tags = templateTags(text);
  const values = tags.filter(({ form }) => form === "value");
  const isGo = values.some((tag) => isGoTag(tag) || (isBroken && tag.inner === "end"));
  const jinja = isGo || !tags.some(isJinjaTag) ? undefined : templateTags(withoutCode(text)).find(isJinjaTag);
  if (jinja !== undefined) return { language: "Jinja", tag: jinja };
  if (!isGo && !values.some(({ text: tag }) => /^\{\{-\s|\s-\}\}$/.test(tag))) return undefined;
  const changes = changesOfGo(text, tags);
  return changes.length === 0 ? undefined : { language: "Go template syntax", changes };
}

const jinjaStatement =
  /^(?:if|elif|endif|for|endfor|set|include|import|from|extends|macro|endmacro|block|endblock|raw|endraw|with|endwith|filter|call)\b/;

/** True for a tag that only Jinja has. */
function isJinjaTag({ form, inner }: TemplateTag): boolean {
  if (form === "statement") return jinjaStatement.test(inner);
  if (/^[#^/>!&*]|^else\b/.test(inner)) return false;
  const bare = inner.replace(/"[^"]*"|'[^']*'/g, '""');
  return /\||[\w\]]\(|==|!=|\sif\s.+\selse\s/.test(bare);
}

/** The text with blanks in place of markdown code, in which a prompt may show tags of Jinja. */
function withoutCode(text: string): string {
  if (!text.includes("`")) return text;
  // The fence is matched in full: else each shorter one would search the whole text for its end.
  const code = /^ {0,3}(`{3,}|~{3,})(?![`~])[\s\S]*?^ {0,3}\1|`[^`\n]*`/gm;
  return text.replace(code, (found) => found.replace(/[^\n]/g, " "));
}

/** The error that says how a template of another language is written in Handlebars. */
export function otherTemplateProblem(source: TemplateSource, other: OtherTemplate, cause?: unknown): Error {
  const find = placeFinder(source.text);
  const placeAt = (offset: number): Place => {
    const { line, column } = find(offset);
    return source.placeAt(line, column);
  };
  if (other.language === "Jinja") {
    const { offset, text } = other.tag;
    const tag = text.length > maxTagLength ? `${text.slice(0, maxTagLength)}...` : text;
    return promptProblem(source.file, placeAt(offset), `${tag} is no Handlebars.`, jinjaAdvice.split("\n"), cause);
  }
  const placed = other.changes.map((change) => ({ change, place: placeAt(change.offset) }));
  const [first] = placed;
  const place = first?.place ?? source.placeAt(1, 1);
  const advice = placed.length === 1 && first !== undefined ? adviceFor(first.change) : adviceForAll(placed);
  const details = placed.map(({ change, place: { line, column } }) => ({
    line,
    column,
    text: change.text,
    instead: change.instead,
    partial: change.partial,
  }));
  const what = `${shownTag(first?.change.text ?? "It")} is no Handlebars.`;
  return promptProblem(source.file, place, what, `This is Go template syntax. ${advice}`.split("\n"), cause, details);
}

/** A longer tag is cut in the message, in characters. */
const maxTagLength = 80;

const jinjaAdvice = `This is Jinja. The usual replacements are:
  {% if x %}..{% else %}..{% endif %} is {{#if x}}..{{else}}..{{/if}}, and {% if not x %} is {{#unless x}}
  {% for a in items %}..{% endfor %} is {{#each items as |a|}}..{{/each}}, in which {{@root.x}} is a value of the input
  {{ x | upper }} is {{upper x}}, and {{ x | default("none") }} is {{default "none" x}}`;

/** The first tag of a text that is to be changed. */
function shownTag(text: string): string {
  return /^[\s\S]*?\}\}|^[\s\S]*?%\}/.exec(text)?.[0] ?? text;
}

function adviceFor(change: TemplateChange): string {
  const { instead, hint } = change;
  if (instead === undefined) return `${hint}`;
  return `${instead === "" ? "Remove it" : `Write ${instead} instead`}${addition(change)}.`;
}

function addition({ hint, partial }: TemplateChange): string {
  if (partial !== undefined) return `, and put what stands in it into a file _${partial.name}.md of the same folder`;
  return hint === undefined ? "" : `: ${hint}`;
}

function adviceForAll(placed: readonly { readonly change: TemplateChange; readonly place: Place }[]): string {
  const lines = placed.map(({ change, place }) => {
    const { instead, partial } = change;
    const what = partial === undefined ? change.text : `${shownTag(change.text)} ... {{ end }}`;
    const to = instead === undefined ? `: ${change.hint}` : instead === "" ? ": remove it" : ` to ${instead}`;
    return `\n  ${place.line}:${place.column} ${what}${to}${instead === undefined ? "" : addition(change)}`;
  });
  return `Change these ${placed.length} tags:${lines.join("")}`;
}

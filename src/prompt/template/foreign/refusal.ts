import { type Place, placeOf, promptProblem } from "../../problem.ts";
import type { TemplateSource } from "../source.ts";
import type { TemplateChange } from "./change.ts";
import { goChanges, isGoTag } from "./go.ts";
import { isJinjaTag, jinjaChanges } from "./jinja.ts";
import { type Tag, tagsOf } from "./tag.ts";

/** What is written in another language in a template, and what to write instead. */
export interface Foreign {
  readonly language: "Go template syntax" | "Jinja";
  readonly changes: readonly TemplateChange[];
}

// Whatever is written in another language has one of these; so has some Handlebars, at which the tags are looked at one by one.
const mayBeForeign =
  /\{%|\{\{-|\s-\}\}|\{\{\/\*|\{\{[^{}]*(?:[|=(`]|\sif\s|[\s(]\$?\.|\$)|\{\{\s*(?:if|range|with|define|block|template)\s/;

/**
 * Finds a template of Go's text/template or of Jinja.
 *
 * @param isBroken - it cannot be read as Handlebars: then an `{{ end }}` is that of Go
 */
export function findForeign(text: string, isBroken: boolean, hasEquals: boolean): Foreign | undefined {
  if (!isBroken && !mayBeForeign.test(text)) return undefined;
  const tags = tagsOf(text);
  const values = tags.filter(({ form }) => form === "value");
  const isGo = values.some((tag) => isGoTag(tag) || (isBroken && tag.inner === "end"));
  const isJinja = !isGo && tags.some(isJinjaTag) && jinjaTagsOutsideCode(text).some(isJinjaTag);
  const isTrimmed = values.some(({ text: tag }) => /^\{\{-\s|\s-\}\}$/.test(tag));
  if (!isGo && !isJinja && !isTrimmed) return undefined;
  const changes = isJinja ? jinjaChanges(tags, hasEquals) : goChanges(text, tags, hasEquals);
  return changes.length === 0 ? undefined : { language: isJinja ? "Jinja" : "Go template syntax", changes };
}

// What a prompt says about Jinja, it says as code.
function jinjaTagsOutsideCode(text: string): readonly Tag[] {
  const isText = !text.includes("`");
  return tagsOf(isText ? text : text.replace(/^ {0,3}(```+|~~~+)[\s\S]*?^ {0,3}\1|`[^`\n]*`/gm, ""));
}

/** The error that tells every change. */
export function foreignProblem(source: TemplateSource, { language, changes }: Foreign, cause?: unknown): Error {
  const placed = changes.map((change) => ({ change, place: placeIn(source, change.offset) }));
  const [first] = placed;
  const place = first?.place ?? source.placeAt(1, 1);
  const hint = `This is ${language}. ${changes.length === 1 && first !== undefined ? single(first.change) : several(placed)}`;
  const details = placed.map(({ change, place: { line, column } }) => ({
    line,
    column,
    text: change.text,
    instead: change.instead,
    field: change.field?.name,
    partial: change.partial,
  }));
  return promptProblem(source.file, place, `${titleOf(first?.change)} is no Handlebars.`, hint, cause, details);
}

function placeIn(source: TemplateSource, offset: number): Place {
  const { line, column } = placeOf(source.text, offset);
  return source.placeAt(line, column);
}

/** The tag a change begins with. */
function titleOf(change: TemplateChange | undefined): string {
  return /^[\s\S]*?\}\}|^[\s\S]*?%\}/.exec(change?.text ?? "")?.[0] ?? change?.text ?? "It";
}

function single(change: TemplateChange): string {
  const { instead, hint } = change;
  if (instead === undefined) return `${hint}`;
  const added = addition(change);
  return `${instead === "" ? "Remove it" : `Write ${instead} instead`}${added === "" ? "." : `${added}.`}`;
}

function addition({ hint, field, partial }: TemplateChange): string {
  if (partial !== undefined) return `, and put what stands in it into a file _${partial.name}.md of the same folder`;
  if (field !== undefined) return `, with a field ${field.name} in the input: ${field.meaning}`;
  return hint === undefined ? "" : `: ${hint}`;
}

function several(placed: readonly { readonly change: TemplateChange; readonly place: Place }[]): string {
  const lines = placed.map(({ change, place }) => {
    const { instead, partial } = change;
    const what = partial === undefined ? change.text : `${titleOf(change)} ... {{ end }}`;
    const to = instead === undefined ? `: ${change.hint}` : instead === "" ? ": remove it" : ` to ${instead}`;
    return `\n  ${place.line}:${place.column} ${what}${to}${instead === undefined ? "" : addition(change)}`;
  });
  return `Change these ${placed.length} tags:${lines.join("")}`;
}

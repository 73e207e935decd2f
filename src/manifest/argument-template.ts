import { ToolkitError } from "../core/error.ts";
import { defaultPromptLimits } from "../core/prompt-limits.ts";
import type { FieldPath } from "../lib/value.ts";
import { findOtherTemplate } from "../prompt/migrate/migration.ts";
import { applyChanges } from "../prompt/migrate/template-change.ts";
import { Template } from "../prompt/template/prompt-template.ts";
import { Rendering } from "../prompt/template/rendering.ts";
import { templateFromLine } from "../prompt/template/template-source.ts";
import type { ParsedManifest } from "./manifest-port.ts";

/** Gives the text of a template for the arguments of a call. @throws ToolkitError `LIMIT_EXCEEDED`, `INVALID_INPUT` */
export type ArgumentTemplate = (input: Readonly<Record<string, unknown>>) => string;

/**
 * Reads a template of arguments: Handlebars as in prompts, or Go's text/template as PromptKit has it (`{{.city}}`, `{{ if eq .id "X" }}`), which
 * is turned into Handlebars. It has no partials and reads nothing but its input; the work and the length of a rendering are bounded.
 *
 * @throws ToolkitError `INVALID_MANIFEST` at the path
 */
export function argumentTemplate(
  { problem }: Pick<ParsedManifest, "problem">,
  path: FieldPath,
  text: string,
): ArgumentTemplate {
  if (!/\{[{%]/.test(text)) return () => text;
  const refused = (why: string, cause?: unknown) =>
    problem(path, `The template cannot be used: ${why}`, "Write {{city}}, {{json list}} or {{#if city}}...{{/if}}.", {
      cause,
    });
  try {
    const template = read(text, refused);
    const [partial] = template.partials;
    if (partial !== undefined) throw refused(`it uses the partial ${partial.name}, and there are none here.`);
    template.compiled();
    return (input) => template.render(input, new Rendering(defaultPromptLimits, noPartial));
  } catch (error) {
    if (!ToolkitError.is(error, "INVALID_PROMPT")) throw error;
    throw refused(error.message, error);
  }
}

function noPartial(name: string): never {
  throw new TypeError(`There is no partial ${name}.`);
}

/** The template, from a text of one language or the other. */
function read(text: string, refused: (why: string) => Error): Template {
  if (Buffer.byteLength(text) > defaultPromptLimits.maxBytes) throw refused("it is too large.");
  try {
    return templateOf(text);
  } catch (error) {
    const isOther = ToolkitError.is(error, "INVALID_PROMPT") && error.details.changes !== undefined;
    const other = isOther ? findOtherTemplate(text, true) : undefined;
    if (other?.language !== "Go template syntax") throw error;
    const lost = other.changes.find(({ instead, partial }) => instead === undefined || partial !== undefined);
    if (lost === undefined) return templateOf(applyChanges(text, other.changes));
    throw refused(`Handlebars has nothing for ${lost.text.slice(0, 80)}. ${lost.hint ?? ""}`.trimEnd());
  }
}

/** A brace behind a tag is text, as in `{"id": {{id}}}`: Handlebars would take three for the end of another tag. */
function templateOf(text: string): Template {
  const apart = text.replace(/(?<!\{)(\{\{(?!\{)[^{}]*)\}\}(?=\})/g, "$1~}} ");
  return new Template(templateFromLine(apart, "template", 1), "prompt");
}

import { messageOf, ToolkitError } from "../../core/error.ts";
import { promptProblem } from "../prompt-problem.ts";
import { checkTemplate, type TemplateRole } from "./check-template.ts";
import { compileTemplate } from "./compile-template.ts";
import { LoopData, type Rendering, RenderScope, type TextOf } from "./rendering.ts";
import { placeInFile, type TemplateSource } from "./template-source.ts";
import type { PartialUse, TemplateUses } from "./template-uses.ts";

/** A partial by its name. */
export type NamedPartial = Pick<PartialUse, "name" | "place">;

/** A checked template, compiled when it is first needed and never again. */
export class Template {
  readonly source: TemplateSource;
  readonly partials: readonly NamedPartial[];
  readonly #role: TemplateRole;
  #uses: TemplateUses | undefined;
  #compiled: TextOf | undefined;

  /** @throws ToolkitError `INVALID_PROMPT` */
  constructor(source: TemplateSource, role: TemplateRole) {
    this.source = source;
    this.#role = role;
    // A file of dotprompt has helpers that the fast check does not know.
    const plain = source.isDotprompt === true ? undefined : plainPartials(source.text);
    this.partials = plain === undefined ? this.uses.partials : plain.map((partial) => toNamed(partial, source));
  }

  get file(): string | undefined {
    return this.source.file;
  }

  /** All values and partials that it uses. */
  get uses(): TemplateUses {
    this.#uses ??= checkTemplate(this.source, this.#role);
    return this.#uses;
  }

  /** @throws ToolkitError `INVALID_PROMPT` for a template that passed the fast check and is none to Handlebars */
  compiled(): TextOf {
    try {
      this.#compiled ??= compileTemplate(this.source);
      return this.#compiled;
    } catch (error) {
      throw this.#problem(error);
    }
  }

  /**
   * The text for an input.
   *
   * @throws ToolkitError `INVALID_INPUT` for a value that cannot be written, `LIMIT_EXCEEDED`, `INVALID_PROMPT` for any other failure
   */
  render(input: unknown, run: Rendering): string {
    const { source } = this;
    try {
      const text = this.compiled()(new RenderScope(input, new LoopData(input, undefined), [], undefined), run);
      run.assertBytes(text, { source, ...start });
      return text;
    } catch (error) {
      if (ToolkitError.is(error)) throw error;
      throw this.#problem(error);
    }
  }

  #problem(error: unknown): ToolkitError {
    const what = `The template cannot be rendered: ${messageOf(error)}.`;
    const hint = "Look at what it does with this input.";
    return promptProblem(this.file, this.source.placeAt(1, 1), what, hint, error);
  }
}

const start = { line: 1, column: 1 };

/** The place is computed when it is read: only an error needs it. */
function toNamed({ name, offset }: PlainPartial, source: TemplateSource): NamedPartial {
  return {
    name,
    get place() {
      return placeInFile(source, offset);
    },
  };
}

/** A partial that a plain template uses. */
interface PlainPartial {
  readonly name: string;
  /** Start of its tag. */
  readonly offset: number;
}

const path = "[A-Za-z_][A-Za-z0-9_]*(?:\\.[A-Za-z_][A-Za-z0-9_]*)*";
const tag = new RegExp(
  `\\{\\{(?:#(if|unless|each|with) (${path})|/(if|unless|each|with)|(else)|> ?([A-Za-z0-9_][A-Za-z0-9_-]*)|(?:json |upper |lower |trim )?(${path})|( ${path} ))\\}\\}(?!\\})`,
  "y",
);

/** Words with a meaning of their own here or in another template language, in the place of a name. */
const reserved = new RegExp(
  `^ ?(?:${[
    "el\\w*|end\\w*|if|for|unless|each|with|range|define|template|block|set|include|extends|macro|import|call|filter|do|raw",
    "lookup|log|json|default|join|upper|lower|trim|len|index|print\\w*|html|js|urlquery|slice|continue|break",
    "not|and|or|is|in|eq|ne|lt|le|gt|ge|true|false|null|nil|None|True|False|undefined|helperMissing|blockHelperMissing",
  ].join("|")})(?![A-Za-z0-9_])`,
);

const maxDepth = 30;
/** Templates with more in their tags are checked in full: there the limit on tags is found. In characters. */
const maxPlainTags = 64 * 1024;

/**
 * The partials of a template that is certainly correct: its tags are `{{name}}`, `{{upper name}}`, `{{> name}}`, and `{{#if name}}` and
 * its like, opened and closed in order. Undefined for any other template, correct or not, for which `checkTemplate` is needed: that
 * takes many times as long.
 */
export function plainPartials(text: string): readonly PlainPartial[] | undefined {
  // A tag of another language may look like text to Handlebars. Most texts need no more than the quick search.
  if ((text.includes("{%") || text.includes("{#")) && /(?<!\{)\{[%#]/.test(text)) return undefined;
  const partials: PlainPartial[] = [];
  const open: { readonly name: string; hasElse: boolean }[] = [];
  let tags = 0;
  for (let at = text.indexOf("{{"); at !== -1; at = text.indexOf("{{", tag.lastIndex)) {
    tag.lastIndex = at;
    const match = text[at - 1] === "\\" ? null : tag.exec(text);
    if (match === null) return undefined;
    tags += match[0].length;
    const [, opened, condition, closed, otherwise, partial, value, spaced] = match;
    const name = condition ?? partial ?? value ?? spaced;
    if (name !== undefined && reserved.test(name)) return undefined;
    if (opened !== undefined) open.push({ name: opened, hasElse: false });
    else if (closed !== undefined && open.pop()?.name !== closed) return undefined;
    else if (partial !== undefined) partials.push({ name: partial, offset: at });
    if (open.length > maxDepth || tags > maxPlainTags || (otherwise !== undefined && !takesElse(open.at(-1))))
      return undefined;
  }
  return open.length === 0 ? partials : undefined;
}

function takesElse(block: { hasElse: boolean } | undefined): boolean {
  if (block === undefined || block.hasElse) return false;
  block.hasElse = true;
  return true;
}

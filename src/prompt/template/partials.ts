import type { ToolkitError } from "../../core/error.ts";
import { partialBody } from "../front-matter/split.ts";
import { type Place, promptProblem } from "../problem.ts";
import { type TemplateSource, templateFromLine } from "./source.ts";
import { type NamedPartial, Template } from "./template.ts";

/** The file of a partial. */
export interface PartialFile {
  readonly file: string;
  readonly text: string;
  /** It has the helpers of dotprompt too. Default: by the name of the file. */
  readonly isDotprompt?: boolean | undefined;
}

/** Where partials come from. */
export interface PartialShelf {
  find(name: string): PartialFile | undefined;
  /** Where it looks for a partial, for messages: `_tone.md, tone.hbs and tone.md in prompts`. */
  describe(name: string): string;
}

/**
 * Partials whose texts are given by name.
 *
 * @param isDotprompt - they are for a file of dotprompt, and have its helpers too
 */
export function givenPartials(texts: Readonly<Record<string, string>> = {}, isDotprompt = false): PartialShelf {
  return {
    find(name) {
      const text = Object.hasOwn(texts, name) ? texts[name] : undefined;
      return text === undefined ? undefined : { file: `partial ${name}`, text, isDotprompt };
    },
    describe: (name) => `"${name}" in the option partials`,
  };
}

/** The files a partial may be in, the first that exists counts: `{{> tone}}` is `_tone.md`, `tone.hbs`, `tone.md` or `_tone.prompt`. */
export function partialFileNames(name: string): readonly string[] {
  return [`_${name}.md`, `${name}.hbs`, `${name}.md`, `_${name}.prompt`];
}

/** The template in the file of a partial. @throws ToolkitError `INVALID_PROMPT` */
export function partialSource({ file, text, isDotprompt }: PartialFile): TemplateSource {
  const { body, bodyLine } = partialBody(text, file);
  const source = templateFromLine(body, file, bodyLine);
  return isDotprompt === undefined ? source : { ...source, isDotprompt };
}

/** The problem of a tag that names a partial there is not. */
export function missingPartial(
  name: string,
  shelf: PartialShelf,
  file: string | undefined,
  place: Place,
): ToolkitError {
  const what = `There is no partial "${name}": looked for ${shelf.describe(name)}.`;
  return promptProblem(file, place, what, `Write the file, or correct the name in {{> ${name}}}.`);
}

/** The problem of a tag that leads back to the partial it stands in. */
export function circularPartial(
  name: string,
  chain: readonly string[],
  file: string | undefined,
  place: Place,
): ToolkitError {
  const circle = [...chain.slice(chain.indexOf(name)), name].join(" > ");
  return promptProblem(file, place, `The partial "${name}" uses itself (${circle}).`, "Remove one of these tags.");
}

/** What was made of a file. */
interface LoadedPartial extends PartialFile {
  readonly template: Template;
}

/** The partials of one folder, each checked once for each text it has, however many prompts use it. */
export class Partials {
  readonly #shelf: PartialShelf;
  readonly #loaded = new Map<string, LoadedPartial>();

  constructor(shelf: PartialShelf) {
    this.#shelf = shelf;
  }

  /**
   * All partials a template needs, those of partials included.
   *
   * @throws ToolkitError `INVALID_PROMPT` for one that is missing or wrong, or uses itself
   */
  neededBy(template: Template): ReadonlyMap<string, Template> {
    const needed = new Map<string, Template>();
    this.#collect(template, needed, []);
    return needed;
  }

  #collect(template: Template, needed: Map<string, Template>, chain: readonly string[]): void {
    for (const use of template.partials) {
      const { name } = use;
      if (chain.includes(name)) throw circularPartial(name, chain, template.source.file, use.place);
      if (needed.has(name)) continue;
      const partial = this.#load(use, template.source.file);
      this.#collect(partial, needed, [...chain, name]);
      needed.set(name, partial);
    }
  }

  /** True where the partial of a name is still what this template was made of. */
  isCurrent(name: string, template: Template): boolean {
    const loaded = this.#loaded.get(name);
    return loaded?.template === template && isSame(loaded, this.#shelf.find(name));
  }

  #load(use: NamedPartial, user: string | undefined): Template {
    const { name } = use;
    const found = this.#shelf.find(name);
    if (found === undefined) throw missingPartial(name, this.#shelf, user, use.place);
    const loaded = this.#loaded.get(name);
    if (loaded !== undefined && isSame(loaded, found)) return loaded.template;
    const template = new Template(partialSource(found), "partial");
    this.#loaded.set(name, { ...found, template });
    return template;
  }
}

function isSame(a: PartialFile, b: PartialFile | undefined): boolean {
  return a.file === b?.file && a.text === b.text;
}

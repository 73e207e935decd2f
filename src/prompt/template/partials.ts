import { partialBody } from "../front-matter/split.ts";
import { type Place, promptProblem } from "../problem.ts";
import { templateFromLine } from "./source.ts";
import { Template } from "./template.ts";

/** The file of a partial. */
export interface PartialFile {
  readonly file: string;
  readonly text: string;
}

/** Where partials come from. */
export interface PartialShelf {
  find(name: string): PartialFile | undefined;
  /** Where it looks for a partial, for messages: `_tone.md, tone.hbs and tone.md in prompts`. */
  describe(name: string): string;
}

/** The files a partial may be in, the first that exists counts: `{{> tone}}` is `_tone.md`, `tone.hbs` or `tone.md`. */
export function partialFileNames(name: string): readonly string[] {
  return [`_${name}.md`, `${name}.hbs`, `${name}.md`];
}

/** The partials of one folder, each read and checked once, however many prompts use it. */
export class Partials {
  readonly #shelf: PartialShelf;
  readonly #templates = new Map<string, Template>();

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
    for (const { name, place } of template.uses.partials) {
      if (chain.includes(name)) {
        const { file } = template.source;
        const circle = [...chain.slice(chain.indexOf(name)), name].join(" > ");
        throw promptProblem(file, place, `The partial "${name}" uses itself (${circle}).`, "Remove one of these tags.");
      }
      if (needed.has(name)) continue;
      const partial = this.#load(name, template.source.file, place);
      this.#collect(partial, needed, [...chain, name]);
      needed.set(name, partial);
    }
  }

  #load(name: string, user: string | undefined, place: Place): Template {
    let template = this.#templates.get(name);
    if (template === undefined) {
      const found = this.#shelf.find(name);
      if (found === undefined) {
        const what = `There is no partial "${name}": looked for ${this.#shelf.describe(name)}.`;
        throw promptProblem(user, place, what, `Write the file, or correct the name in {{> ${name}}}.`);
      }
      const { body, bodyLine } = partialBody(found.text, found.file);
      template = new Template(templateFromLine(body, found.file, bodyLine), "partial");
      this.#templates.set(name, template);
    }
    return template;
  }
}

import { join } from "node:path";
import type { ToolkitError } from "../../core/error.ts";
import type { ReadPromptLimits } from "../../core/prompt-limits.ts";
import { partialBody } from "../front-matter/split-front-matter.ts";
import { promptProblem } from "../prompt-problem.ts";
import { assertPromptSize } from "../prompt-size.ts";
import { type NamedPartial, Template } from "./prompt-template.ts";
import { type TemplateSource, templateFromLine } from "./template-source.ts";

/** The file of a partial. */
export interface PartialFile {
  readonly file: string;
  readonly text: string;
  /** It has the helpers of dotprompt too. Default: by the name of the file. */
  readonly isDotprompt?: boolean | undefined;
}

/** A place that has partials, such as a folder. */
export interface PartialFinder {
  find(name: string): PartialFile | undefined;
  /** The places where it looks for a partial, for messages: `_tone.md, tone.hbs and tone.md in prompts`. */
  describe(name: string): string;
}

/**
 * Partials whose texts are given by name.
 *
 * @param isDotprompt - they are for a file of dotprompt, and have its helpers too
 */
export function givenPartials(texts: Readonly<Record<string, string>> = {}, isDotprompt = false): PartialFinder {
  return {
    find(name) {
      const text = Object.hasOwn(texts, name) ? texts[name] : undefined;
      return text === undefined ? undefined : { file: `partial ${name}`, text, isDotprompt };
    },
    describe: (name) => `"${name}" in the option partials`,
  };
}

/**
 * Partials among the files of a folder, whose texts are given by file name.
 *
 * @param inside - the folder in it that has them, as the names of its files begin: `letters/`
 */
export function folderPartials(folder: string, texts: ReadonlyMap<string, string>, inside = ""): PartialFinder {
  return {
    find(name) {
      const found = partialFileNames(name).find((candidate) => texts.has(inside + candidate));
      if (found === undefined) return undefined;
      return { file: join(folder, inside, found), text: texts.get(inside + found) ?? "" };
    },
    describe(name) {
      const names = partialFileNames(name);
      return `${names.slice(0, -1).join(", ")} and ${names.at(-1)} in ${inside === "" ? folder : join(folder, inside.slice(0, -1))}`;
    },
  };
}

/** The files a partial may be in, the first that exists counts: `{{> tone}}` is `_tone.md`, `tone.hbs`, `tone.md` or `_tone.prompt`. */
export function partialFileNames(name: string): readonly string[] {
  return [`_${name}.md`, `${name}.hbs`, `${name}.md`, `_${name}.prompt`];
}

/** The template in the file of a partial. @throws ToolkitError `INVALID_PROMPT`, `LIMIT_EXCEEDED` */
export function partialSource({ file, text, isDotprompt }: PartialFile, limits: ReadPromptLimits): TemplateSource {
  const { body, bodyLine } = partialBody(text, file, limits);
  const source = templateFromLine(body, file, bodyLine);
  return isDotprompt === undefined ? source : { ...source, isDotprompt };
}

/** The most partials that use one another: each takes a part of the stack when it is rendered. */
const maxChain = 100;

/** A template with the partials that it names itself. */
interface PartialUser {
  readonly file: string | undefined;
  readonly partials: readonly NamedPartial[];
}

/**
 * All partials that templates need, those of partials included, by name. One that uses itself is reported.
 *
 * @param load - gives a partial; undefined for one that is missing or broken, which it has reported
 */
export function neededPartials<T extends PartialUser>(
  templates: readonly T[],
  load: (use: NamedPartial, user: T) => T | undefined,
  report: (problem: ToolkitError, user: T) => void,
): ReadonlyMap<string, T> {
  const needed = new Map<string, T>();
  const chain: string[] = [];
  const visit = (user: T): void => {
    for (const use of user.partials) {
      const { name } = use;
      if (needed.has(name)) continue;
      if (chain.includes(name)) report(circularPartial(use, chain, user.file), user);
      else if (chain.length >= maxChain) report(deepPartial(use, user.file), user);
      else {
        const partial = load(use, user);
        if (partial === undefined) continue;
        chain.push(name);
        visit(partial);
        chain.pop();
        needed.set(name, partial);
      }
    }
  };
  for (const template of templates) visit(template);
  return needed;
}

/** The problem of a tag that names a missing partial. */
export function missingPartial(
  { name, place }: NamedPartial,
  finder: PartialFinder,
  file: string | undefined,
): ToolkitError {
  const what = `There is no partial "${name}": looked for ${finder.describe(name)}.`;
  return promptProblem(file, place, what, `Write the file, or correct the name in {{> ${name}}}.`);
}

function circularPartial(
  { name, place }: NamedPartial,
  chain: readonly string[],
  file: string | undefined,
): ToolkitError {
  const circle = [...chain.slice(chain.indexOf(name)), name].join(" > ");
  return promptProblem(file, place, `The partial "${name}" uses itself (${circle}).`, "Remove one of these tags.");
}

function deepPartial({ name, place }: NamedPartial, file: string | undefined): ToolkitError {
  const what = `The partial "${name}" is nested in ${maxChain} others.`;
  return promptProblem(file, place, what, "Write the text of some of them where it is used.");
}

/** A partial and the file that its template was made of. */
interface LoadedPartial extends PartialFile {
  readonly template: Template;
}

/** The partials of one folder, each checked once for each text it has, for all prompts that use it. */
export class Partials {
  /** The limits of the prompts that use them, and of each partial. */
  readonly limits: ReadPromptLimits;
  readonly #finder: PartialFinder;
  readonly #loaded = new Map<string, LoadedPartial>();

  constructor(finder: PartialFinder, limits: ReadPromptLimits) {
    this.#finder = finder;
    this.limits = limits;
  }

  /**
   * All partials that the templates of a prompt need, those of partials included, by name.
   *
   * @throws ToolkitError `INVALID_PROMPT` for one that is missing or wrong, or uses itself
   */
  neededBy(body: Template, system: Template | undefined): ReadonlyMap<string, Template> {
    return neededPartials(
      system === undefined ? [body] : [body, system],
      (use, user) => this.#load(use, user.file),
      (problem) => {
        throw problem;
      },
    );
  }

  /** True for a template of the text that the partial has now. */
  isCurrent(name: string, template: Template): boolean {
    const loaded = this.#loaded.get(name);
    return loaded?.template === template && isSame(loaded, this.#finder.find(name));
  }

  #load(use: NamedPartial, user: string | undefined): Template {
    const { name } = use;
    const found = this.#finder.find(name);
    if (found === undefined) throw missingPartial(use, this.#finder, user);
    const loaded = this.#loaded.get(name);
    if (loaded !== undefined && isSame(loaded, found)) return loaded.template;
    assertPromptSize(found.text, found.file, this.limits);
    const template = new Template(partialSource(found, this.limits), "partial");
    this.#loaded.set(name, { ...found, template });
    return template;
  }
}

function isSame(a: PartialFile, b: PartialFile | undefined): boolean {
  return a.file === b?.file && a.text === b.text;
}

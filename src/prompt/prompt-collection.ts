import { join, posix } from "node:path";
import { ToolkitError } from "../core/error.ts";
import type { Prompt } from "../core/item.ts";
import type { ReadPromptLimits } from "../core/prompt-limits.ts";
import { Turns } from "../lib/turns.ts";
import { FilePrompt } from "./file-prompt.ts";
import { parsePromptFile } from "./parse-prompt.ts";
import type { FolderTexts } from "./prompt-files.ts";
import { fileRole, insideOf, namePrefixOf } from "./prompt-files.ts";
import { folderPartials, Partials } from "./template/partials.ts";

/** A file of the folder, and the result of parsing it. */
interface ParsedFile {
  readonly text: string;
  /** The last good version. */
  readonly prompt: Prompt | undefined;
  /** The reason why the text cannot be parsed. */
  readonly error: ToolkitError | undefined;
}

/** The prompts of one folder. An update parses only files that changed and files that use a changed partial. */
export class PromptCollection {
  readonly #folder: string;
  readonly #texts = new Map<string, string>();
  readonly #files = new Map<string, ParsedFile>();
  /** The files that use partials, or are broken, as one may be that lacks one. */
  readonly #using = new Set<string>();
  #names: readonly string[] = [];
  readonly #limits: ReadPromptLimits;
  /** The partials of each folder: those of a prompt are beside it. */
  readonly #partials = new Map<string, Partials>();
  /** The file that has a name, by the name: the first one keeps it. */
  #owners: ReadonlyMap<string, string> = new Map();
  #prompts: readonly Prompt[] = [];
  #problems: readonly ToolkitError[] = [];

  constructor(folder: string, limits: ReadPromptLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /** The prompts, sorted by the names of their files. */
  get prompts(): readonly Prompt[] {
    return this.#prompts;
  }

  /** The problems, each once: a broken partial breaks many files and is one problem. */
  get problems(): readonly ToolkitError[] {
    return this.#problems;
  }

  /** True for the file of a prompt that cannot be parsed. */
  isBroken(name: string): boolean {
    return this.#files.get(name)?.error !== undefined;
  }

  /**
   * Brings the collection up to date, in turns; one update begins when the last one has ended.
   *
   * @param names - all files of the folder, in code-unit order
   * @param read - the files that may have changed. One that cannot be read keeps its last version
   */
  async update(names: readonly string[], { texts, errors }: FolderTexts): Promise<void> {
    const isSameSet = names.length === this.#names.length && names.every((name, at) => name === this.#names[at]);
    this.#names = names;
    if (!isSameSet) this.#removeOthers(new Set(names));
    for (const [name, text] of texts) this.#texts.set(name, text);
    const before = new Map([...texts.keys()].map((name) => [name, this.#files.get(name)]));
    const turns = new Turns();
    // A file without partials whose text is the same is as it was.
    const doubtful = new Set([...texts.keys(), ...this.#using]);
    for (const name of doubtful) {
      if (turns.isOver) await turns.next();
      if (!this.#texts.has(name) || fileRole(posix.basename(name)) !== "prompt") continue;
      if (!before.has(name)) before.set(name, this.#files.get(name));
      this.#refresh(name);
    }
    if (!isSameSet || errors.size > 0 || this.#problems.length > 0 || !this.#takePlaces(before))
      this.#resolveNames(names, errors);
  }

  #removeOthers(current: ReadonlySet<string>): void {
    for (const name of this.#texts.keys()) if (!current.has(name)) this.#texts.delete(name);
    for (const name of this.#files.keys()) if (!current.has(name)) this.#files.delete(name);
    for (const name of this.#using) if (!current.has(name)) this.#using.delete(name);
  }

  /** Puts new prompts in the places of those that had their names; false where a name or a problem is new. */
  #takePlaces(before: ReadonlyMap<string, ParsedFile | undefined>): boolean {
    const prompts = [...this.#prompts];
    for (const [name, old] of before) {
      const { prompt, error } = this.#files.get(name) ?? {};
      if (prompt === old?.prompt && error === undefined) continue;
      const at = old?.prompt === undefined ? -1 : prompts.indexOf(old.prompt);
      if (prompt === undefined || error !== undefined || at < 0 || prompt.name !== old?.prompt?.name) return false;
      prompts[at] = prompt;
    }
    this.#prompts = prompts;
    return true;
  }

  #refresh(name: string): void {
    const text = this.#texts.get(name) ?? "";
    const before = this.#files.get(name);
    if (before?.text === text && before.error === undefined && this.#hasCurrentPartials(name, before.prompt)) return;
    try {
      const prompt = parsePromptFile(text, join(this.#folder, name), this.#partialsOf(name), namePrefixOf(name));
      this.#files.set(name, { text, prompt, error: undefined });
      if (FilePrompt.sourceOf(prompt)?.partials.size) this.#using.add(name);
      else this.#using.delete(name);
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
      this.#files.set(name, { text, prompt: before?.prompt, error });
      this.#using.add(name);
    }
  }

  #partialsOf(name: string): Partials {
    const inside = insideOf(name);
    let partials = this.#partials.get(inside);
    if (partials === undefined) {
      partials = new Partials(folderPartials(this.#folder, this.#texts, inside), this.#limits);
      this.#partials.set(inside, partials);
    }
    return partials;
  }

  #hasCurrentPartials(file: string, prompt: Prompt | undefined): boolean {
    const used = prompt === undefined ? undefined : FilePrompt.sourceOf(prompt)?.partials;
    for (const [name, template] of used ?? []) if (!this.#partialsOf(file).isCurrent(name, template)) return false;
    return true;
  }

  /** Chooses one prompt for each name. */
  #resolveNames(names: readonly string[], unread: ReadonlyMap<string, ToolkitError>): void {
    const owners = new Map<string, string>();
    for (const [name, file] of this.#owners) if (this.#files.get(file)?.prompt?.name === name) owners.set(name, file);
    const prompts: Prompt[] = [];
    const problems = new Map<string, ToolkitError>();
    const report = (error: ToolkitError) => problems.set(error.message, error);
    for (const file of names) {
      const { prompt, error } = this.#files.get(file) ?? {};
      const problem = unread.get(file) ?? error;
      if (problem !== undefined) report(problem);
      if (prompt === undefined) continue;
      const owner = owners.get(prompt.name) ?? file;
      owners.set(prompt.name, owner);
      if (owner === file) prompts.push(prompt);
      else report(this.#conflict(prompt.name, owner, file));
    }
    this.#owners = owners;
    this.#prompts = prompts;
    this.#problems = [...problems.values()];
  }

  #conflict(name: string, ownerName: string, fileName: string): ToolkitError {
    const [owner, file] = [join(this.#folder, ownerName), join(this.#folder, fileName)];
    const message = `${file}: The name "${name}" is that of ${owner} too. Give one of them another name.`;
    return new ToolkitError("CONFLICT", message, { key: name, owners: [owner, file] });
  }
}

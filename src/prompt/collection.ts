import { join } from "node:path";
import { ToolkitError } from "../core/error.ts";
import type { Prompt } from "../core/item.ts";
import { fileRole } from "./file-name.ts";
import type { FolderTexts } from "./files.ts";
import { parsePromptFile } from "./parse.ts";
import { FilePrompt } from "./prompt.ts";
import { type PartialFile, Partials, partialFileNames } from "./template/partials.ts";

/** The file of a prompt. */
interface PromptFile {
  /** What `prompt` or `error` was made of. */
  readonly text: string;
  /** Its last good version. */
  readonly prompt: Prompt | undefined;
  /** Why the text is no prompt. */
  readonly error: ToolkitError | undefined;
}

/** The prompts of one folder, kept up to date at the cost of what changed: a file is parsed when it, or a partial it uses, is another. */
export class Collection {
  readonly #folder: string;
  readonly #texts = new Map<string, string>();
  readonly #files = new Map<string, PromptFile>();
  readonly #partials: Partials;
  /** The file a name belongs to: whichever had it first keeps it. */
  #owners: ReadonlyMap<string, string> = new Map();
  #prompts: readonly Prompt[] = [];
  #problems: readonly ToolkitError[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    this.#partials = new Partials(new FolderShelf(folder, this.#texts));
  }

  /** The prompts, by the names of their files. */
  get prompts(): readonly Prompt[] {
    return this.#prompts;
  }

  /** What is wrong, once each: a partial that is broken breaks many files and is one problem. */
  get problems(): readonly ToolkitError[] {
    return this.#problems;
  }

  /** True for a file that holds no prompt, though it should. */
  isBroken(name: string): boolean {
    return this.#files.get(name)?.error !== undefined;
  }

  /**
   * Takes in how the folder is now.
   *
   * @param names - all its files
   * @param read - those that may be different. A file that cannot be read stays as it was
   */
  update(names: readonly string[], { texts, errors }: FolderTexts): void {
    const current = new Set(names);
    for (const name of this.#texts.keys()) if (!current.has(name)) this.#texts.delete(name);
    for (const [name, text] of texts) this.#texts.set(name, text);
    for (const name of this.#files.keys()) if (!current.has(name)) this.#files.delete(name);
    for (const name of [...this.#texts.keys()]) if (fileRole(name) === "prompt") this.#refresh(name);
    this.#choose(errors);
  }

  #refresh(name: string): void {
    const text = this.#texts.get(name) ?? "";
    const before = this.#files.get(name);
    if (before?.text === text && before.error === undefined && this.#hasItsPartials(before.prompt)) return;
    try {
      const prompt = parsePromptFile(text, join(this.#folder, name), this.#partials);
      this.#files.set(name, { text, prompt, error: undefined });
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
      this.#files.set(name, { text, prompt: before?.prompt, error });
    }
  }

  #hasItsPartials(prompt: Prompt | undefined): boolean {
    const used = prompt === undefined ? undefined : FilePrompt.sourceOf(prompt)?.partials;
    for (const [name, template] of used ?? []) if (!this.#partials.isCurrent(name, template)) return false;
    return true;
  }

  /** One prompt of each name. */
  #choose(unread: ReadonlyMap<string, ToolkitError>): void {
    const owners = new Map<string, string>();
    for (const [name, file] of this.#owners) if (this.#files.get(file)?.prompt?.name === name) owners.set(name, file);
    const prompts: Prompt[] = [];
    const problems = new Map<string, ToolkitError>();
    const report = (error: ToolkitError) => problems.set(error.message, error);
    for (const file of [...new Set([...this.#files.keys(), ...unread.keys()])].sort()) {
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

/** The partials of a folder whose texts are read. */
export class FolderShelf {
  readonly #folder: string;
  readonly #texts: ReadonlyMap<string, string>;

  constructor(folder: string, texts: ReadonlyMap<string, string>) {
    this.#folder = folder;
    this.#texts = texts;
  }

  find(name: string): PartialFile | undefined {
    const found = partialFileNames(name).find((candidate) => this.#texts.has(candidate));
    if (found === undefined) return undefined;
    return { file: join(this.#folder, found), text: this.#texts.get(found) ?? "" };
  }

  describe(name: string): string {
    const names = partialFileNames(name);
    return `${names.slice(0, -1).join(", ")} and ${names.at(-1)} in ${this.#folder}`;
  }
}

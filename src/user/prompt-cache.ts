import { ToolkitError } from "../core/error.ts";
import { assertIdentifier } from "../core/identifier.ts";
import type { Prompt } from "../core/item.ts";
import type { ReadPromptLimits } from "../core/prompt-limits.ts";
import { Turns } from "../lib/turns.ts";
import { FilePrompt } from "../prompt/file-prompt.ts";
import { parseFrontMatter } from "../prompt/front-matter/front-matter.ts";
import { parsePromptFields } from "../prompt/front-matter/prompt-fields.ts";
import { splitFrontMatter } from "../prompt/front-matter/split-front-matter.ts";
import { parsePromptFile } from "../prompt/parse-prompt.ts";
import { assertPromptSize } from "../prompt/prompt-size.ts";
import { type PartialFile, Partials, partialSource } from "../prompt/template/partials.ts";
import { Template } from "../prompt/template/prompt-template.ts";
import { isPartialKey } from "./item-key.ts";

/** Texts by key; undefined where a text is removed. */
export type TextChanges = ReadonlyMap<string, string | undefined>;

/** A prompt, or why its text cannot be read; undefined for a partial, which is no prompt. */
type Result = Prompt | ToolkitError | undefined;

/** Changes of texts, and the prompts that change with them. */
export interface Revision {
  readonly changes: TextChanges;
  /** Results of all texts that were read again, by key. */
  readonly results: ReadonlyMap<string, Result>;
  /** Number of commits before it: it is current as long as there is no other. */
  readonly commits: number;
}

/** The name of a prompt, from its front matter alone. @throws ToolkitError `INVALID_PROMPT`, `INVALID_NAME`, `RESERVED_NAME`, `LIMIT_EXCEEDED` */
export function promptNameOf(text: string, file: string | undefined, limits: ReadPromptLimits): string {
  assertPromptSize(text, file, limits);
  const split = splitFrontMatter(text, file, limits);
  return parsePromptFields(parseFrontMatter(split, file)).name;
}

/** A tag that names a partial. In the text of a prompt it may also stand where it is none: what it names is then read in vain. */
const partialTag = /\{\{[{~#\s]*>\s*["'[]?([^\s"'\]}~]+)/g;

/** The names of the partials that a text uses itself. */
export function partialNamesIn(text: string): readonly string[] {
  if (!text.includes(">")) return [];
  return [...new Set([...text.matchAll(partialTag)].map(([, name = ""]) => name))];
}

/** The keys under which a partial is looked for, the first of them first. */
export function partialKeysOf(name: string): readonly [string, string] {
  return [`_${name}`, name];
}

/**
 * The texts of the prompts and partials of one owner, and the prompts made of them. A text may be parsed when its prompt is first needed.
 * A prompt that breaks stays as it was.
 */
export class PromptCache {
  readonly #texts = new Map<string, string>();
  /** The names of the partials that a text uses, of those that use any. */
  readonly #uses = new Map<string, readonly string[]>();
  /** The keys of texts of prompts that are not parsed. */
  readonly #unparsed = new Set<string>();
  /** Prompts that are parsed again when they are needed: as long as a caller has one, it is that one. */
  readonly #released = new Map<string, WeakRef<Prompt>>();
  readonly #prompts = new Map<string, Prompt>();
  readonly #broken = new Map<string, ToolkitError>();
  readonly #limits: ReadPromptLimits;
  #commits = 0;
  #length = 0;

  constructor(limits: ReadPromptLimits) {
    this.#limits = limits;
  }

  /** The errors of texts that cannot be read, by key. */
  get broken(): ReadonlyMap<string, ToolkitError> {
    return this.#broken;
  }

  /** Length of all texts. */
  get length(): number {
    return this.#length;
  }

  has(key: string): boolean {
    return this.#texts.has(key);
  }

  /** True for a text that is to be parsed when its prompt is needed. */
  isUnparsed(key: string): boolean {
    return this.#unparsed.has(key);
  }

  /** Keeps a text, which is parsed when its prompt is needed. True where it is another than before. */
  defer(key: string, text: string): boolean {
    if (this.#texts.get(key) === text) return false;
    this.#commits += 1;
    this.#setText(key, text);
    this.#prompts.delete(key);
    this.#broken.delete(key);
    if (!isPartialKey(key)) this.#unparsed.add(key);
    return true;
  }

  /** Parses a text that is kept; undefined where it is wrong: its error is among the broken ones. */
  parse(key: string): Prompt | undefined {
    if (!this.#unparsed.has(key)) return this.#prompts.get(key);
    const none = new Map<string, string>();
    const result = this.#released.get(key)?.deref() ?? this.#result(key, none, this.#partials(none));
    this.#released.delete(key);
    this.#unparsed.delete(key);
    if (ToolkitError.is(result)) this.#broken.set(key, result);
    else if (result !== undefined) this.#prompts.set(key, result);
    return this.#prompts.get(key);
  }

  /** Gives up a parsed prompt: its text is parsed again when it is needed. That of a text that broke stays. */
  release(key: string): void {
    const prompt = this.#prompts.get(key);
    if (prompt === undefined || this.#broken.has(key)) return;
    this.#prompts.delete(key);
    this.#unparsed.add(key);
    this.#released.set(key, new WeakRef(prompt));
  }

  /** Reads the texts that change, and those of the prompts that use them as partials. */
  revise(changes: TextChanges): Revision {
    const results = new Map<string, Result>();
    const partials = this.#partials(changes);
    for (const key of this.#affected(changes, true)) results.set(key, this.#result(key, changes, partials));
    return { changes, results, commits: this.#commits };
  }

  /**
   * As `revise`, for many texts: other work can run in between, and commit another revision.
   *
   * @param withUnparsed - whether prompts are parsed that were not, where they use a text that changes
   */
  async reviseAll(changes: TextChanges, withUnparsed: boolean): Promise<Revision> {
    const commits = this.#commits;
    const results = new Map<string, Result>();
    const partials = this.#partials(changes);
    const turns = new Turns();
    for (const key of this.#affected(changes, withUnparsed)) {
      if (turns.isOver) await turns.next();
      results.set(key, this.#result(key, changes, partials));
    }
    return { changes, results, commits };
  }

  /** False for a revision that was made before another was committed. */
  isCurrent(revision: Revision): boolean {
    return revision.commits === this.#commits;
  }

  /** The errors that a revision adds: of each text that changes, and of each prompt that would break. */
  problems({ changes, results }: Revision): readonly { readonly key: string; readonly error: ToolkitError }[] {
    return [...results].flatMap(([key, error]) =>
      ToolkitError.is(error) && (changes.has(key) || !this.#broken.has(key)) ? [{ key, error }] : [],
    );
  }

  /** Applies a revision. Returns the prompts that are new or changed, and the names of those removed. */
  commit({ changes, results }: Revision): { readonly put: readonly Prompt[]; readonly removed: readonly string[] } {
    const put: Prompt[] = [];
    const removed: string[] = [];
    this.#commits += 1;
    for (const [key, text] of changes) {
      if (text !== undefined) {
        this.#setText(key, text);
        continue;
      }
      this.#length -= this.#texts.get(key)?.length ?? 0;
      this.#texts.delete(key);
      this.#uses.delete(key);
      this.#released.delete(key);
      this.#broken.delete(key);
      const isUnparsed = this.#unparsed.delete(key);
      if (this.#prompts.delete(key) || isUnparsed) removed.push(key);
    }
    for (const [key, result] of results) {
      this.#unparsed.delete(key);
      if (ToolkitError.is(result)) {
        this.#broken.set(key, result);
        continue;
      }
      this.#broken.delete(key);
      if (result === undefined || result.version === this.#prompts.get(key)?.version) continue;
      this.#prompts.set(key, result);
      put.push(result);
    }
    return { put, removed };
  }

  /** The keys of texts that change, of prompts that use one of them, and of broken ones, whose partial may be there now. */
  #affected(changes: TextChanges, withUnparsed: boolean): ReadonlySet<string> {
    const names = new Set([...changes.keys()].map(partialNameOf));
    // As they are before the change: what is wrong already does not break by it.
    if (withUnparsed) for (const key of this.#unparsedUsing(names)) this.parse(key);
    const affected = new Set(this.#broken.keys());
    for (const key of this.#uses.keys()) {
      const prompt = this.#prompts.get(key);
      if (prompt === undefined) continue;
      for (const name of FilePrompt.sourceOf(prompt)?.partials.keys() ?? []) if (names.has(name)) affected.add(key);
    }
    for (const [key, text] of changes) {
      if (text === undefined) affected.delete(key);
      else affected.add(key);
    }
    return affected;
  }

  /** The prompts that are not parsed and use a partial of one of these names, themselves or through others. */
  #unparsedUsing(names: ReadonlySet<string>): ReadonlySet<string> {
    const found = new Set<string>();
    if (this.#unparsed.size === 0) return found;
    const changing = new Set(names);
    for (let before = -1; before < changing.size; ) {
      before = changing.size;
      for (const [key, used] of this.#uses) {
        if (!used.some((name) => changing.has(name))) continue;
        changing.add(partialNameOf(key));
        if (this.#unparsed.has(key)) found.add(key);
      }
    }
    return found;
  }

  #setText(key: string, text: string): void {
    this.#length += text.length - (this.#texts.get(key)?.length ?? 0);
    this.#texts.set(key, text);
    this.#released.delete(key);
    const used = partialNamesIn(text);
    if (used.length > 0) this.#uses.set(key, used);
    else this.#uses.delete(key);
  }

  #result(key: string, changes: TextChanges, partials: Partials): Result {
    const text = changes.get(key) ?? this.#texts.get(key) ?? "";
    const file = `${key}.md`;
    try {
      if (isPartialKey(key)) {
        assertIdentifier(key.slice(1), "partial");
        assertPromptSize(text, file, this.#limits);
        void new Template(partialSource({ file, text }, this.#limits), "partial");
        return undefined;
      }
      const known = changes.has(key) || this.#broken.has(key) ? undefined : this.#prompts.get(key);
      if (known !== undefined) return FilePrompt.withPartials(known, partials);
      const prompt = parsePromptFile(text, file, partials);
      if (prompt.name === key) return prompt;
      const message = `${file}: The prompt is stored as "${key}", and its front matter says "${prompt.name}". Store it under that name.`;
      return new ToolkitError("INVALID_PROMPT", message, { file });
    } catch (error) {
      if (ToolkitError.is(error)) return error;
      throw error;
    }
  }

  #partials(changes: TextChanges): Partials {
    const textOf = (key: string) => (changes.has(key) ? changes.get(key) : this.#texts.get(key));
    return new Partials(
      {
        find(name: string): PartialFile | undefined {
          for (const key of partialKeysOf(name)) {
            const text = textOf(key);
            if (text !== undefined) return { file: `${key}.md`, text };
          }
          return undefined;
        },
        describe: (name: string) => `the partial _${name} and the prompt ${name} of the namespace user`,
      },
      this.#limits,
    );
  }
}

/** The name by which a text is used as a partial. */
function partialNameOf(key: string): string {
  return isPartialKey(key) ? key.slice(1) : key;
}

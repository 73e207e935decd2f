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

/** The texts of the prompts and partials of one owner, and the prompts made of them. A prompt that breaks stays as it was. */
export class PromptCache {
  readonly #texts = new Map<string, string>();
  readonly #prompts = new Map<string, Prompt>();
  readonly #broken = new Map<string, ToolkitError>();
  readonly #limits: ReadPromptLimits;
  #commits = 0;

  constructor(limits: ReadPromptLimits) {
    this.#limits = limits;
  }

  /** The errors of texts that cannot be read, by key. */
  get broken(): ReadonlyMap<string, ToolkitError> {
    return this.#broken;
  }

  /** Reads the texts that change, and those of the prompts that use them as partials. */
  revise(changes: TextChanges): Revision {
    const results = new Map<string, Result>();
    const partials = this.#partials(changes);
    for (const key of this.#affected(changes)) results.set(key, this.#result(key, changes, partials));
    return { changes, results, commits: this.#commits };
  }

  /** As `revise`, for many texts: other work can run in between, and commit another revision. */
  async reviseAll(changes: TextChanges): Promise<Revision> {
    const commits = this.#commits;
    const results = new Map<string, Result>();
    const partials = this.#partials(changes);
    const turns = new Turns();
    for (const key of this.#affected(changes)) {
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
        this.#texts.set(key, text);
        continue;
      }
      this.#texts.delete(key);
      this.#broken.delete(key);
      if (this.#prompts.delete(key)) removed.push(key);
    }
    for (const [key, result] of results) {
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
  #affected(changes: TextChanges): ReadonlySet<string> {
    const affected = new Set(this.#broken.keys());
    const names = new Set([...changes.keys()].map((key) => (isPartialKey(key) ? key.slice(1) : key)));
    for (const [key, prompt] of this.#prompts) {
      for (const name of FilePrompt.sourceOf(prompt)?.partials.keys() ?? []) if (names.has(name)) affected.add(key);
    }
    for (const [key, text] of changes) {
      if (text === undefined) affected.delete(key);
      else affected.add(key);
    }
    return affected;
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
          for (const key of [`_${name}`, name]) {
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

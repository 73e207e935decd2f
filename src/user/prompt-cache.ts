import { defaultPromptLimits } from "../core/prompt-limits.ts";
import { setImmediate } from "node:timers/promises";
import { ToolkitError } from "../core/error.ts";
import { assertIdentifier } from "../core/identifier.ts";
import type { Prompt } from "../core/item.ts";
import { FilePrompt } from "../prompt/file-prompt.ts";
import { parsePromptFile } from "../prompt/parse-prompt.ts";
import { type PartialFile, Partials, partialSource } from "../prompt/template/partials.ts";
import { Template } from "../prompt/template/prompt-template.ts";

/** Texts by key; undefined where it is taken away. */
export type TextChanges = ReadonlyMap<string, string | undefined>;

/** A prompt that was read, or why it cannot be; undefined for a partial, which is no prompt. */
type Result = Prompt | ToolkitError | undefined;

/** What some texts make of the prompts. */
export interface Revision {
  readonly changes: TextChanges;
  /** Of what is read anew, by key. */
  readonly results: ReadonlyMap<string, Result>;
}

/** No longer than this nothing else runs while many prompts are read, in milliseconds. */
const turnMs = 10;

/** True for the key of what is a partial and no prompt. */
export function isPartialKey(key: string): boolean {
  return key.startsWith("_");
}

/** The texts of the prompts and partials of one owner, and the prompts they make. A prompt that breaks stays what it was. */
export class PromptCache {
  readonly #texts = new Map<string, string>();
  readonly #prompts = new Map<string, Prompt>();
  readonly #broken = new Map<string, ToolkitError>();

  /** Why prompts are not what their texts say, by key. */
  get broken(): ReadonlyMap<string, ToolkitError> {
    return this.#broken;
  }

  text(key: string): string | undefined {
    return this.#texts.get(key);
  }

  get keys(): readonly string[] {
    return [...this.#texts.keys()];
  }

  /** Reads the text of a prompt with the partials there are. @throws ToolkitError `INVALID_PROMPT` and the like */
  parse(text: string, name: string | undefined): Prompt {
    return this.#parse(text, name, this.#partials(new Map()));
  }

  /** What would become of the prompts if some texts changed: of those themselves, and of those that use them as partials. */
  revise(changes: TextChanges): Revision {
    const results = new Map<string, Result>();
    const partials = this.#partials(changes);
    for (const key of this.#affected(changes)) results.set(key, this.#result(key, changes, partials));
    return { changes, results };
  }

  /** As `revise`, in turns, for many. */
  async reviseAll(changes: TextChanges): Promise<Revision> {
    const results = new Map<string, Result>();
    const partials = this.#partials(changes);
    let turnEnds = performance.now() + turnMs;
    for (const key of this.#affected(changes)) {
      if (performance.now() > turnEnds) {
        await setImmediate();
        turnEnds = performance.now() + turnMs;
      }
      results.set(key, this.#result(key, changes, partials));
    }
    return { changes, results };
  }

  /** What would be wrong that is not wrong now: of each text that changes, and of each prompt that would break. */
  problems({ changes, results }: Revision): readonly { readonly key: string; readonly error: ToolkitError }[] {
    return [...results].flatMap(([key, error]) =>
      ToolkitError.is(error) && (changes.has(key) || !this.#broken.has(key)) ? [{ key, error }] : [],
    );
  }

  /** Makes it so. Gives the prompts that are there anew, and the names of those that are gone. */
  commit({ changes, results }: Revision): { readonly put: readonly Prompt[]; readonly gone: readonly string[] } {
    const put: Prompt[] = [];
    const gone: string[] = [];
    for (const [key, text] of changes) {
      if (text !== undefined) {
        this.#texts.set(key, text);
        continue;
      }
      this.#texts.delete(key);
      this.#broken.delete(key);
      if (this.#prompts.delete(key)) gone.push(key);
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
    return { put, gone };
  }

  /** Those whose text changes, those that use one of them, and those that were broken: what they lack may be there now. */
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
    try {
      if (isPartialKey(key)) {
        assertIdentifier(key.slice(1), "partial");
        void new Template(partialSource({ file: `${key}.md`, text }), "partial");
        return undefined;
      }
      const prompt = this.#parse(text, key, partials);
      if (prompt.name === key) return prompt;
      const message = `${key}.md: The prompt is stored as "${key}", and its front matter says "${prompt.name}". Store it under that name.`;
      return new ToolkitError("INVALID_PROMPT", message, { file: `${key}.md` });
    } catch (error) {
      if (ToolkitError.is(error)) return error;
      throw error;
    }
  }

  #parse(text: string, name: string | undefined, partials: Partials): Prompt {
    return parsePromptFile(text, name === undefined ? undefined : `${name}.md`, partials);
  }

  #partials(changes: TextChanges): Partials {
    const textOf = (key: string) => (changes.has(key) ? changes.get(key) : this.#texts.get(key));
    return new Partials({
      find(name: string): PartialFile | undefined {
        for (const key of [`_${name}`, name]) {
          const text = textOf(key);
          if (text !== undefined) return { file: `${key}.md`, text };
        }
        return undefined;
      },
      describe: (name: string) => `the partial _${name} and the prompt ${name} of the namespace user`,
    }, defaultPromptLimits);
  }
}

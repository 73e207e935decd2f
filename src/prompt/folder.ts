import { messageOf } from "../core/error.ts";
import type { Prompt } from "../core/item.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Source, SourceChange } from "../core/source.ts";
import { systemClock, type Timer } from "../lib/clock.ts";
import { type FolderState, scanFolder } from "../lib/folder-scan.ts";
import { type FolderWatcher, watchFolder } from "../lib/folder-watcher.ts";
import { abortable } from "../lib/promise.ts";
import { Collection } from "./collection.ts";
import { fileRole } from "./file-name.ts";
import { pathOf, readTexts, unreadableFolder } from "./files.ts";

/** How a folder of prompts is used. */
export interface PromptFolderOptions {
  /** Follow what happens to its files. Default: false, it is read once. */
  readonly watch?: boolean | undefined;
  /**
   * How often it is looked at beside the events of the system, in milliseconds, from 100: network disks have none, and neither have
   * files that are links to other folders. Default: 5 s.
   */
  readonly pollMs?: number | undefined;
}

const optionNames: OptionNames<PromptFolderOptions> = { watch: true, pollMs: true };
const defaultPollMs = 5_000;
const leastPollMs = 100;

/**
 * The prompts of a folder as a source, for a namespace of its own: each `*.md` and `*.prompt` but `README.md` and what starts with `_` (partials)
 * or `.`. Folders inside it are not read.
 *
 * With `watch`, a file that is new, changed or removed counts within half a second, and many at once are one `promptListChanged`. A
 * changed partial changes the prompts that use it. The folder may come later, go, and come again.
 *
 * A broken file stops no other: it keeps its last good version, and is among the `failures` of `list()` and told to the logger once,
 * with line, column and what to write instead; when it is mended that is told too. Of two files with one name the first keeps it. A
 * folder that cannot be read keeps the prompts that were known.
 *
 * @param folder - a path or a `file:` URL
 * @throws ToolkitError `INVALID_INPUT` for what is neither; `INVALID_CONFIG` for an option out of its range, or one there is not
 *
 * @example
 * ```ts
 * toolkit.addSource("prompts", promptFolder("prompts", { watch: true }));
 * ```
 */
export function promptFolder(folder: string | URL, options: PromptFolderOptions = {}): Source {
  const path = pathOf(folder);
  assertOptionNames(options, optionNames, "of a prompt folder");
  const { watch = false, pollMs = defaultPollMs } = options;
  if (typeof watch !== "boolean") throw invalidOption("watch", "true or false", watch, "of a prompt folder");
  if (typeof pollMs !== "number" || !(pollMs >= leastPollMs)) {
    throw invalidOption("pollMs", `a number of milliseconds from ${leastPollMs}`, pollMs, "of a prompt folder");
  }
  const source = new PromptFolder(path, pollMs);
  return {
    prompt: (reading) => source.read(reading),
    problems: () => source.problems,
    ...(watch ? { watch: (listener) => source.watch(listener) } : {}),
  };
}

type Listener = (change: SourceChange) => void;

/** A file that has been broken for less may be half-written, in milliseconds. */
const patienceMs = 150;

class PromptFolder {
  readonly #path: string;
  readonly #pollMs: number;
  readonly #collection: Collection;
  readonly #versions = new Map<string, string>();
  readonly #listeners = new Set<Listener>();
  /** Since when each problem is there, by its message. */
  #since = new Map<string, number>();
  #shown: readonly Error[] = [];
  #watcher: FolderWatcher | undefined;
  #unwatchable: Error | undefined;
  #ripening: Timer | undefined;
  #wasRead = false;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(path: string, pollMs: number) {
    this.#path = path;
    this.#pollMs = pollMs;
    this.#collection = new Collection(path);
  }

  get problems(): readonly Error[] {
    return this.#unwatchable === undefined ? this.#shown : [...this.#shown, this.#unwatchable];
  }

  /** Reads what is different. One after another: two toolkits may share it. */
  read(options: ReadOptions): Promise<readonly Prompt[]> {
    const reading = this.#reading.then(() => this.#read(options));
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  watch(listener: Listener): () => void {
    // Its own, so that one that watches twice ends once.
    const own: Listener = (change) => listener(change);
    this.#listeners.add(own);
    this.#watcher ??= watchFolder(this.#path, {
      wanted: isWanted,
      pollMs: this.#pollMs,
      onChange: () => this.#tell(),
      onProblem: (cause) => this.#watchesBadly(cause),
    });
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#watcher?.close();
      this.#ripening?.cancel();
      this.#watcher = undefined;
      this.#unwatchable = undefined;
    };
  }

  async #read(options: ReadOptions): Promise<readonly Prompt[]> {
    const state = await this.#state(options);
    if (state.identity === undefined) throw await unreadableFolder(this.#path, state.error);
    const names = [...state.files.keys()];
    const changed = names.filter((name) => this.#versions.get(name) !== state.files.get(name)?.version);
    const read = await readTexts(this.#path, changed, options);
    this.#collection.update(names, read);
    this.#versions.clear();
    for (const [name, { version }] of state.files) {
      // What is broken is read again each time: it may have been half-written.
      if (!read.errors.has(name) && !this.#collection.isBroken(name)) this.#versions.set(name, version);
    }
    this.#showProblems();
    this.#wasRead = true;
    return this.#collection.prompts;
  }

  async #state({ signal }: ReadOptions): Promise<FolderState> {
    return await abortable(this.#watcher?.state() ?? scanFolder(this.#path, isWanted), signal);
  }

  /** Shows each problem when it is old enough. While one is not, those shown before stay: its file may have been one of theirs. */
  #showProblems(): void {
    const now = systemClock.now();
    // Nobody is seen to write what is there at the beginning.
    const appeared = this.#wasRead && this.#watcher !== undefined ? now : 0;
    const { problems } = this.#collection;
    this.#since = new Map(problems.map(({ message }) => [message, this.#since.get(message) ?? appeared]));
    const ripe = problems.filter(({ message }) => (this.#since.get(message) ?? 0) <= now - patienceMs);
    this.#ripening?.cancel();
    if (ripe.length === problems.length) {
      this.#shown = ripe;
      return;
    }
    const messages = new Set(ripe.map(({ message }) => message));
    this.#shown = [...this.#shown.filter(({ message }) => !messages.has(message)), ...ripe];
    const youngest = Math.max(...this.#since.values());
    this.#ripening = systemClock.setTimer(() => this.#tell(), youngest + patienceMs - now + 1);
  }

  #watchesBadly(cause: unknown): void {
    const what = `${this.#path}: The system gives no events of this folder: ${messageOf(cause)}.`;
    const remedy = `It is looked at every ${this.#pollMs / 1000} s. On Linux, raise fs.inotify.max_user_watches or max_user_instances.`;
    this.#unwatchable = new Error(`${what} ${remedy}`, { cause });
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener({ kind: "prompt" });
  }
}

function isWanted(name: string): boolean {
  return fileRole(name) !== undefined;
}

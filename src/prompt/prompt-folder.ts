import { messageOf } from "../core/error.ts";
import type { Prompt } from "../core/item.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import { type PromptLimits, type ReadPromptLimits, readPromptLimits } from "../core/prompt-limits.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Source, SourceChange } from "../core/source.ts";
import { systemClock, type Timer } from "../lib/clock.ts";
import { type FolderState, scanFolder, type WantedFiles } from "../lib/folder-scan.ts";
import { type FolderWatcher, watchFolder } from "../lib/folder-watcher.ts";
import { abortable } from "../lib/promise.ts";
import { PromptCollection } from "./prompt-collection.ts";
import {
  assertRecursive,
  fileRole,
  foldersWithPrompts,
  mayHoldPrompts,
  pathOf,
  readTexts,
  unreadableFolder,
} from "./prompt-files.ts";

/** Options of `promptFolder`. */
export interface PromptFolderOptions {
  /**
   * Read the folders inside it too: `letters/greet.md` is the prompt `letters-greet`, with the partials of its own folder. Folders whose
   * names start with `.` or `_`, `node_modules`, and links to folders are left out. Default: they are not read, and those that hold
   * prompts are reported; `false` leaves them out silently.
   */
  readonly recursive?: boolean | undefined;
  /** Follow changes of its files. Default: false, it is read once. */
  readonly watch?: boolean | undefined;
  /**
   * Interval of looks in addition to the events of the file system, in milliseconds, from 100: network disks have no events, and
   * neither have links to files in other folders, of which none may lead out of this one. Each looks at the folders, which change as files
   * come, go and take the place of others, and where there are no events at 1,000 of the files. Default: 5 s.
   */
  readonly pollMs?: number | undefined;
  /** The size of each file, and the work of a rendering. */
  readonly limits?: PromptLimits | undefined;
}

const optionNames: OptionNames<PromptFolderOptions> = { recursive: true, watch: true, pollMs: true, limits: true };
const defaultPollMs = 5_000;
const leastPollMs = 100;

/**
 * The prompts of a folder as a source, for a namespace of its own: each `*.md` and `*.prompt` except `README.md` and
 * files whose names start with `_` (partials) or `.`. Folders inside it are read with `recursive` alone, and a link that leads out of it is a problem.
 *
 * With `watch`, a file that is new, changed or removed takes effect within a tenth of a second on local disks of Linux, and half a second elsewhere, and many at once are one
 * `promptListChanged`. A changed partial changes the prompts that use it. The folder may be created later, removed, and created again.
 *
 * A broken file stops no other: it keeps its last good version, is among the `failures` of `list()`, and is logged once, with line,
 * column and what to write instead; its repair is logged too. Of two files with one name the first keeps it. A folder that cannot be
 * read keeps the prompts that were known.
 *
 * @param folder - a path or a `file:` URL
 * @throws ToolkitError `INVALID_INPUT` for another folder; `INVALID_CONFIG` for an option that is unknown or out of its range
 *
 * @example
 * ```ts
 * toolkit.addSource("prompts", promptFolder("prompts", { watch: true }));
 * ```
 */
export function promptFolder(folder: string | URL, options: PromptFolderOptions = {}): Source {
  const path = pathOf(folder);
  assertOptionNames(options, optionNames, "of a prompt folder");
  const { watch = false, pollMs = defaultPollMs, recursive } = options;
  assertRecursive(recursive, "of a prompt folder");
  if (typeof watch !== "boolean") throw invalidOption("watch", "true or false", watch, "of a prompt folder");
  if (typeof pollMs !== "number" || !(pollMs >= leastPollMs)) {
    throw invalidOption("pollMs", `a number of milliseconds from ${leastPollMs}`, pollMs, "of a prompt folder");
  }
  const source = new PromptFolder(path, { pollMs, recursive, limits: readPromptLimits(options.limits, "limits") });
  return {
    prompt: (reading) => source.read(reading),
    problems: () => source.problems,
    immutable: true,
    ...(watch ? { watch: (listener) => source.watch(listener) } : {}),
  };
}

type Listener = (change: SourceChange) => void;

/** The most folders that a message names. */
const maxNamed = 5;
/** A file that has been broken for a shorter time may be half-written, in milliseconds. */
const settleMs = 150;

/** The options of a folder with their defaults. */
interface FolderSettings {
  readonly pollMs: number;
  readonly recursive: boolean | undefined;
  readonly limits: ReadPromptLimits;
}

class PromptFolder {
  readonly #path: string;
  readonly #settings: FolderSettings;
  readonly #files: WantedFiles;
  readonly #collection: PromptCollection;
  readonly #versions = new Map<string, string>();
  readonly #listeners = new Set<Listener>();
  /** Time of the first appearance of each problem, by its message. */
  #since = new Map<string, number>();
  #reported: readonly Error[] = [];
  #watcher: FolderWatcher | undefined;
  #watchProblem: Error | undefined;
  #unreadFolders: Error | undefined;
  #settling: Timer | undefined;
  #wasRead = false;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(path: string, settings: FolderSettings) {
    this.#path = path;
    this.#settings = settings;
    this.#files = settings.recursive === true ? { wanted: isWanted, entered: mayHoldPrompts } : { wanted: isWanted };
    this.#collection = new PromptCollection(path, settings.limits);
  }

  get problems(): readonly Error[] {
    const others = [this.#watchProblem, this.#unreadFolders].filter((problem) => problem !== undefined);
    return others.length === 0 ? this.#reported : [...this.#reported, ...others];
  }

  /** Reads the changed files. Reads are sequential: two toolkits may share the source. */
  read(options: ReadOptions): Promise<readonly Prompt[]> {
    const reading = this.#reading.then(() => this.#read(options));
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  watch(listener: Listener): () => void {
    // A function of its own, so that a listener that is added twice is removed once.
    const own: Listener = (change) => listener(change);
    this.#listeners.add(own);
    this.#watcher ??= watchFolder(this.#path, {
      ...this.#files,
      pollMs: this.#settings.pollMs,
      onChange: () => this.#emitChange(),
      onProblem: (cause) => this.#reportWatchProblem(cause),
    });
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#watcher?.close();
      this.#settling?.cancel();
      this.#watcher = undefined;
      this.#watchProblem = undefined;
    };
  }

  async #read(options: ReadOptions): Promise<readonly Prompt[]> {
    const state = await this.#state(options);
    if (state.identity === undefined) throw await unreadableFolder(this.#path, state.error);
    const names = [...state.files.keys()];
    const changed = names.filter((name) => this.#versions.get(name) !== state.files.get(name)?.version);
    const read = await readTexts(this.#path, changed, { ...options, limits: this.#settings.limits });
    await this.#collection.update(names, read);
    if (this.#versions.size > names.length) this.#versions.clear();
    for (const name of this.#versions.size === 0 ? names : changed) {
      const version = state.files.get(name)?.version;
      // A broken file is read again each time: it may have been half-written.
      const isRead = version !== undefined && !read.errors.has(name) && !this.#collection.isBroken(name);
      if (isRead) this.#versions.set(name, version);
      else this.#versions.delete(name);
    }
    this.#reportProblems();
    if (!this.#wasRead && this.#settings.recursive === undefined) await this.#findUnreadFolders();
    this.#wasRead = true;
    return this.#collection.prompts;
  }

  async #state({ signal }: ReadOptions): Promise<FolderState> {
    return await abortable(this.#watcher?.state() ?? scanFolder(this.#path, this.#files), signal);
  }

  /** Reports each problem when it is old enough. Until then the earlier ones stay: the new one may be of the same file. */
  #reportProblems(): void {
    const now = systemClock.now();
    // Files that exist at the first read are not being written now.
    const appeared = this.#wasRead && this.#watcher !== undefined ? now : 0;
    const { problems } = this.#collection;
    this.#since = new Map(problems.map(({ message }) => [message, this.#since.get(message) ?? appeared]));
    const settled = problems.filter(({ message }) => (this.#since.get(message) ?? 0) <= now - settleMs);
    this.#settling?.cancel();
    if (settled.length === problems.length) {
      this.#reported = settled;
      return;
    }
    const messages = new Set(settled.map(({ message }) => message));
    this.#reported = [...this.#reported.filter(({ message }) => !messages.has(message)), ...settled];
    const youngest = Math.max(...this.#since.values());
    this.#settling = systemClock.setTimer(() => this.#emitChange(), youngest + settleMs - now + 1);
  }

  /** Looks once for prompts in folders that are not read: the author of one would search long for it. */
  async #findUnreadFolders(): Promise<void> {
    const names = await foldersWithPrompts(this.#path);
    if (names.length === 0) return;
    const what = `These folders in it hold prompts and are not read: ${names.slice(0, maxNamed).join(", ")}${names.length > maxNamed ? " and others" : ""}.`;
    const hint = "Set recursive: true to read them, as `folder-name`, or recursive: false to leave them out.";
    this.#unreadFolders = new Error(`${this.#path}: ${what} ${hint}`);
  }

  #reportWatchProblem(cause: unknown): void {
    const what = `${this.#path}: The file system reports no changes of this folder: ${messageOf(cause)}.`;
    const remedy = `It is looked at every ${this.#settings.pollMs / 1000} s. On Linux, raise fs.inotify.max_user_watches or max_user_instances.`;
    this.#watchProblem = new Error(`${what} ${remedy}`, { cause });
    this.#emitChange();
  }

  #emitChange(): void {
    for (const listener of [...this.#listeners]) listener({ kind: "prompt" });
  }
}

function isWanted(name: string): boolean {
  return fileRole(name) !== undefined;
}

import { messageOf } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import { systemClock, type Timer } from "../lib/clock.ts";
import { type FolderState, scanFolder, type WantedFiles } from "../lib/folder-scan.ts";
import { type FolderWatcher, watchFolder } from "../lib/folder-watcher.ts";
import { abortable } from "../lib/promise.ts";

/** The items that are made of the files of a folder. */
export interface FolderContents {
  /** The files that count. */
  readonly files: WantedFiles;
  /** Another text once other files count. Default: they are always the same. */
  readonly scope?: string | undefined;
  /** The mistakes of the files as they were read last, each identified by its message. */
  readonly problems: readonly Error[];
  /**
   * Brings the items up to date; one update begins when the last one has ended.
   *
   * @param names - all files that count, in code-unit order
   * @param changed - those whose version is another one than when they were read last
   * @returns whether a file is read again with the next update: a broken one may have been half-written
   */
  update(
    names: readonly string[],
    changed: readonly string[],
    options: ReadOptions,
  ): Promise<(name: string) => boolean>;
  /** The error of a folder that cannot be read. */
  unreadable(cause: unknown): Promise<Error>;
}

/** A file that has been broken for a shorter time may be half-written, in milliseconds. */
const settleMs = 150;

/**
 * A folder whose files are read, and followed as long as there is a listener. A broken file is reported when it has been broken for a moment;
 * a folder that cannot be read keeps what was known.
 */
export class FollowedFolder {
  readonly #path: string;
  readonly #contents: FolderContents;
  readonly #pollMs: number;
  readonly #versions = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  /** Time of the first appearance of each problem, by its message. */
  #since = new Map<string, number>();
  #reported: readonly Error[] = [];
  #watcher: FolderWatcher | undefined;
  #watchProblem: Error | undefined;
  /** The scope of the watcher. */
  #scope: string | undefined;
  #settling: Timer | undefined;
  #wasRead = false;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(path: string, contents: FolderContents, { pollMs }: { readonly pollMs: number }) {
    this.#path = path;
    this.#contents = contents;
    this.#pollMs = pollMs;
  }

  get problems(): readonly Error[] {
    return this.#watchProblem === undefined ? this.#reported : [...this.#reported, this.#watchProblem];
  }

  /** Reads the changed files. Reads are sequential: two toolkits may share the source. @throws Error of a folder that cannot be read */
  read(options: ReadOptions): Promise<void> {
    const reading = this.#reading.then(() => this.#read(options));
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  /** Calls back when files changed, and when a problem is old enough to be reported, until the returned function is called. */
  watch(listener: () => void): () => void {
    // A function of its own, so that a listener that is added twice is removed once.
    const own = () => listener();
    this.#listeners.add(own);
    this.#watcher ??= this.#watchFiles();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#watcher?.close();
      this.#settling?.cancel();
      this.#watcher = undefined;
      this.#watchProblem = undefined;
    };
  }

  #watchFiles(): FolderWatcher {
    this.#scope = this.#contents.scope;
    return watchFolder(this.#path, {
      ...this.#contents.files,
      pollMs: this.#pollMs,
      onChange: () => this.#emitChange(),
      onProblem: (cause) => this.#reportWatchProblem(cause),
    });
  }

  async #read(options: ReadOptions): Promise<void> {
    const state = await this.#state(options);
    if (state.identity === undefined) throw await this.#contents.unreadable(state.error);
    const names = [...state.files.keys()];
    const changed = names.filter((name) => this.#versions.get(name) !== state.files.get(name)?.version);
    const isUnread = await this.#contents.update(names, changed, options);
    if (this.#versions.size > names.length) this.#versions.clear();
    for (const name of this.#versions.size === 0 ? names : changed) {
      const version = state.files.get(name)?.version;
      if (version !== undefined && !isUnread(name)) this.#versions.set(name, version);
      else this.#versions.delete(name);
    }
    this.#reportProblems();
    this.#wasRead = true;
    if (this.#watcher === undefined || this.#contents.scope === this.#scope) return;
    // Those that count now may have changed before they were watched.
    this.#watcher.close();
    this.#watcher = this.#watchFiles();
    this.#emitChange();
  }

  async #state({ signal }: ReadOptions): Promise<FolderState> {
    return await abortable(this.#watcher?.state() ?? scanFolder(this.#path, this.#contents.files), signal);
  }

  /** Reports each problem when it is old enough. Until then the earlier ones stay: the new one may be of the same file. */
  #reportProblems(): void {
    const now = systemClock.now();
    // Files that exist at the first read are not being written now.
    const appeared = this.#wasRead && this.#watcher !== undefined ? now : 0;
    const { problems } = this.#contents;
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

  #reportWatchProblem(cause: unknown): void {
    const what = `${this.#path}: The file system reports no changes of this folder: ${messageOf(cause)}.`;
    const remedy = `It is looked at every ${this.#pollMs / 1000} s. On Linux, raise fs.inotify.max_user_watches or max_user_instances.`;
    this.#watchProblem = new Error(`${what} ${remedy}`, { cause });
    this.#emitChange();
  }

  #emitChange(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

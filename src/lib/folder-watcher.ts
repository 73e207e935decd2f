import { join } from "node:path";
import { type Clock, systemClock, type Timer } from "./clock.ts";
import { FolderEvents } from "./folder-events.ts";
import { type FolderState, isFresh, isSameFolder, scanFolder, timeGrainMs, type WantedFiles } from "./folder-scan.ts";

/** The options of watching a folder. */
export interface FolderWatchOptions extends WantedFiles {
  /** Called once for each batch of changes. */
  onChange(state: FolderState): void;
  /** Called when the system gives no events of this folder, such as where it has no watches left: then only `pollMs` finds changes. */
  onProblem(error: unknown): void;
  /**
   * The interval of scans without an event, in milliseconds: network disks have no events, and neither have files behind links to
   * another folder. Default: 5 s.
   */
  readonly pollMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** A folder that is followed. */
export interface FolderWatcher {
  /** The folder as it was reported last; at first, as it is found. */
  state(): Promise<FolderState>;
  /** Ends it. Nothing is reported afterwards. */
  close(): void;
}

/** A batch of changes ends when nothing happens for so long ... */
const quietMs = 40;
/** ... or when it has gone on for so long. */
const longestBatchMs = 200;
/** An editor that writes by removing, or by emptying, has written within this time. */
const holdMs = 150;

/**
 * Follows the files of one folder, which need not be there yet, may be removed and made again, or be replaced by another behind the
 * same path or link. It leaves no handle, and keeps no process alive.
 */
export function watchFolder(path: string, options: FolderWatchOptions): FolderWatcher {
  return new Watch(path, options);
}

class Watch implements FolderWatcher {
  readonly #path: string;
  readonly #options: FolderWatchOptions;
  readonly #clock: Clock;
  readonly #events: FolderEvents;
  /** The events of the folders in it, by their path from it. */
  readonly #inner = new Map<string, FolderEvents>();
  readonly #first: Promise<FolderState>;
  #told: FolderState | undefined;
  /** When the present batch of events began, and its last came. */
  #batch: { readonly since: number; last: number } | undefined;
  #heldSince: number | undefined;
  #next: Timer | undefined;
  #poll: Timer | undefined;
  #looking = false;
  #again = false;
  #closed = false;

  constructor(path: string, options: FolderWatchOptions) {
    this.#path = path;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#events = new FolderEvents(path, { onEvent: () => this.#stir(), onProblem: options.onProblem });
    this.#first = this.#begin();
  }

  async state(): Promise<FolderState> {
    return this.#told ?? (await this.#first);
  }

  close(): void {
    this.#closed = true;
    this.#events.close();
    for (const events of this.#inner.values()) events.close();
    this.#next?.cancel();
    this.#poll?.cancel();
  }

  async #begin(): Promise<FolderState> {
    this.#looking = true;
    const state = await this.#scan();
    this.#looking = false;
    this.#told = state;
    this.#follow(state);
    this.#pollLater();
    return state;
  }

  /** The events are listened to before the files are looked at: what happens in between is not lost. */
  async #scan(): Promise<FolderState> {
    await this.#events.attach();
    let state = await scanFolder(this.#path, this.#options);
    while (await this.#attachInner(state.folders)) state = await scanFolder(this.#path, this.#options);
    return state;
  }

  /** Listens to the events of the folders in it. @returns true where one is new, whose files may have changed before */
  async #attachInner(folders: readonly string[]): Promise<boolean> {
    if (this.#closed) return false;
    for (const [folder, events] of this.#inner) {
      if (folders.includes(folder)) continue;
      events.close();
      this.#inner.delete(folder);
    }
    const added = folders.filter((folder) => !this.#inner.has(folder));
    const { onProblem } = this.#options;
    for (const folder of added) {
      this.#inner.set(folder, new FolderEvents(join(this.#path, folder), { onEvent: () => this.#stir(), onProblem }));
    }
    // Another folder may have come under a path.
    await Promise.all([...this.#inner.values()].map((events) => events.attach()));
    return added.length > 0;
  }

  #stir(): void {
    const now = this.#clock.now();
    if (this.#batch === undefined) {
      this.#batch = { since: now, last: now };
      this.#lookIn(quietMs);
    } else this.#batch.last = now;
  }

  #lookIn(delayMs: number): void {
    if (this.#closed) return;
    this.#next?.cancel();
    this.#next = this.#clock.setTimer(() => this.#due(), delayMs);
  }

  #due(): void {
    if (this.#batch !== undefined) {
      const endsAt = Math.min(this.#batch.last + quietMs, this.#batch.since + longestBatchMs);
      const leftMs = endsAt - this.#clock.now();
      if (leftMs > 0) {
        this.#lookIn(leftMs);
        return;
      }
    }
    void this.#look();
  }

  #pollLater(): void {
    if (this.#closed) return;
    this.#poll = this.#clock.setTimer(() => {
      void this.#look();
      this.#pollLater();
    }, this.#options.pollMs ?? 5_000);
  }

  async #look(): Promise<void> {
    if (this.#closed) return;
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    this.#batch = undefined;
    const state = await this.#scan();
    this.#looking = false;
    if (this.#closed) return;
    this.#consider(state);
    this.#follow(state);
  }

  #consider(state: FolderState): void {
    const told = this.#told ?? state;
    if (isSameFolder(told, state)) {
      this.#heldSince = undefined;
      return;
    }
    if (isHalfway(told, state)) {
      this.#heldSince ??= this.#clock.now();
      const leftMs = this.#heldSince + holdMs - this.#clock.now();
      if (leftMs > 0) {
        this.#lookIn(leftMs);
        return;
      }
    }
    this.#heldSince = undefined;
    this.#told = state;
    this.#options.onChange(state);
  }

  /** Looks once more where something may have been missed. */
  #follow(state: FolderState): void {
    const missed = this.#again;
    this.#again = false;
    if (this.#heldSince === undefined && (missed || isFresh(state))) this.#lookIn(2 * timeGrainMs);
  }
}

/** True where a file, or all of them, is gone or empty that was not: it may be about to be written. */
function isHalfway(told: FolderState, state: FolderState): boolean {
  if (told.identity !== undefined && state.identity === undefined) return true;
  for (const [name, { size }] of told.files) if (size > 0 && (state.files.get(name)?.size ?? 0) === 0) return true;
  for (const [name, { size }] of state.files) if (size === 0 && !told.files.has(name)) return true;
  return false;
}

import { join } from "node:path";
import { type Clock, systemClock, type Timer } from "./clock.ts";
import { FolderEvents } from "./folder-events.ts";
import {
  type FolderState,
  folderStamps,
  freshFiles,
  isSameFolder,
  scanFolder,
  scanNames,
  timeGrainMs,
  type WantedFiles,
} from "./folder-scan.ts";

/** The options of watching a folder. */
export interface FolderWatchOptions extends WantedFiles {
  /** Called once for each batch of changes. */
  onChange(state: FolderState): void;
  /** Called when the system gives no events of this folder, such as where it has no watches left: then `pollMs` finds changes. */
  onProblem(error: unknown): void;
  /**
   * The interval of looks without an event, in milliseconds: network disks have no events, and neither have files behind links to
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

/** A batch of changes ends when nothing happens for so long: longer than the grain of file times ... */
const quietMs = 25;
/** ... or when it has gone on for so long. */
const longestBatchMs = 200;
/** A batch of more names may be one of which the system lost events: everything is scanned then. */
const mostNames = 1_000;
/** The files that a poll looks at where events cannot be relied on, and in case one was lost. */
const polledFiles = 1_000;
const doubtedFiles = 10;
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
  /** The names that may not be as they were reported, by their path from the folder; undefined where everything may not. */
  #names: Set<string> | undefined = new Set();
  /** Of its folders, as they were when they were scanned last. */
  #stamps: ReadonlyMap<string, string> = new Map();
  /** Every change is an event with its name: then little else need be looked at. */
  #isReliable = false;
  #polledTo = 0;
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
    this.#events = this.#eventsOf("");
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
    this.#follow(state, undefined);
    this.#pollLater();
    return state;
  }

  /** The events are listened to before the files are looked at: what happens in between is not lost. */
  async #scan(): Promise<FolderState> {
    await this.#events.attach();
    for (;;) {
      const stamps = await folderStamps(this.#path, [...this.#inner.keys()]);
      const state = await scanFolder(this.#path, this.#options);
      if (await this.#attachInner(state.folders)) continue;
      this.#stamps = stamps;
      this.#isReliable = [this.#events, ...this.#inner.values()].every((events) => events.isReliable);
      return state;
    }
  }

  /** Listens to the events of the folders in it. @returns true where one is new or gone, whose files may have changed before */
  async #attachInner(folders: readonly string[]): Promise<boolean> {
    if (this.#closed) return false;
    const current = new Set(folders);
    const gone = [...this.#inner].filter(([folder]) => !current.has(folder));
    for (const [folder, events] of gone) {
      events.close();
      this.#inner.delete(folder);
    }
    const added = folders.filter((folder) => !this.#inner.has(folder));
    for (const folder of added) this.#inner.set(folder, this.#eventsOf(folder));
    // Another folder may have come under a path.
    await Promise.all([...this.#inner.values()].map((events) => events.attach()));
    return added.length + gone.length > 0;
  }

  #eventsOf(folder: string): FolderEvents {
    const prefix = folder === "" ? "" : `${folder}/`;
    const onEvent = (name: string | undefined) => this.#stir(name === undefined ? undefined : prefix + name);
    return new FolderEvents(join(this.#path, folder), { onEvent, onProblem: this.#options.onProblem });
  }

  #stir(name: string | undefined): void {
    const now = this.#clock.now();
    if (name === undefined || !this.#isReliable) this.#names = undefined;
    else this.#names?.add(name);
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
      void this.#pollNow().then(() => this.#pollLater());
    }, this.#options.pollMs ?? 5_000);
  }

  /** Looks at the folders, and at some of the files: what it costs does not grow with them. */
  async #pollNow(): Promise<void> {
    const stamps = await folderStamps(this.#path, [...this.#inner.keys()]);
    if (this.#closed) return;
    for (const [folder, stamp] of stamps) if (this.#stamps.get(folder) !== stamp) this.#names = undefined;
    const { files = new Map<string, unknown>(), links = [] } = this.#told ?? {};
    const isReliable = this.#isReliable;
    const others = isReliable ? doubtedFiles : polledFiles;
    for (const name of this.#nextOf([...files.keys()], others)) this.#names?.add(name);
    for (const name of isReliable ? this.#nextOf(links, polledFiles) : []) this.#names?.add(name);
    this.#polledTo += others;
    await this.#look();
  }

  /** So many of all, others each time. */
  #nextOf(all: readonly string[], count: number): readonly string[] {
    const from = all.length <= count ? 0 : this.#polledTo % all.length;
    return all.slice(from, from + count);
  }

  async #look(): Promise<void> {
    if (this.#closed) return;
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    this.#batch = undefined;
    const names = this.#names;
    this.#names = new Set();
    const state = (await this.#lookAt(names)) ?? (await this.#scan());
    this.#looking = false;
    if (this.#closed) return;
    this.#consider(state, names);
    this.#follow(state, names);
  }

  /** The state with some names looked at again; undefined where that says too little. */
  async #lookAt(names: ReadonlySet<string> | undefined): Promise<FolderState | undefined> {
    if (names === undefined || names.size > mostNames + doubtedFiles || this.#told?.identity === undefined)
      return undefined;
    const within = [...names].map((name) => name.slice(0, Math.max(0, name.lastIndexOf("/"))));
    const stamps = await folderStamps(this.#path, [...new Set(within)]);
    const state = await scanNames(this.#path, this.#told, names, this.#options);
    if (state !== undefined) this.#stamps = new Map([...this.#stamps, ...stamps]);
    return state;
  }

  #consider(state: FolderState, names: ReadonlySet<string> | undefined): void {
    const told = this.#told ?? state;
    if (isSameFolder(told, state)) {
      this.#heldSince = undefined;
      // Folders without files, and links, may have come or gone.
      if (told.folders.length !== state.folders.length || told.links.length !== state.links.length) this.#told = state;
      return;
    }
    if (isHalfway(told, state)) {
      this.#heldSince ??= this.#clock.now();
      const leftMs = this.#heldSince + holdMs - this.#clock.now();
      if (leftMs > 0) {
        this.#names = names && this.#names && new Set([...this.#names, ...names]);
        this.#lookIn(leftMs);
        return;
      }
    }
    this.#heldSince = undefined;
    this.#told = state;
    this.#options.onChange(state);
  }

  /** Looks once more where something may have been missed. */
  #follow(state: FolderState, names: ReadonlySet<string> | undefined): void {
    const missed = this.#again;
    this.#again = false;
    const fresh = freshFiles(state, names);
    for (const name of fresh) this.#names?.add(name);
    if (this.#heldSince === undefined && (missed || fresh.length > 0)) this.#lookIn(2 * timeGrainMs);
  }
}

/** True where a file, or all of them, is gone or empty that was not: it may be about to be written. */
function isHalfway(told: FolderState, state: FolderState): boolean {
  if (told.identity !== undefined && state.identity === undefined) return true;
  for (const [name, { size }] of told.files) if (size > 0 && (state.files.get(name)?.size ?? 0) === 0) return true;
  for (const [name, { size }] of state.files) if (size === 0 && !told.files.has(name)) return true;
  return false;
}

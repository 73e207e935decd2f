import { type FSWatcher, watch } from "node:fs";
import { access, statfs } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { folderIdentity } from "./folder-scan.ts";

/** A listener for the events of a folder. */
export interface FolderEventListener {
  /** @param name - of what may have changed in it; undefined where that is not known, or where the folder itself may have */
  onEvent(name: string | undefined): void;
  /** There will be no events, once for each reason. */
  onProblem(error: unknown): void;
}

/**
 * The events the system has of one folder and of its name: of what is in it, and that it is removed, made, renamed or, where the
 * path is a link, led elsewhere.
 *
 * A watch of the system stays with the folder it was made for, whatever its path leads to later; so the place of its name, the
 * folder around it, is watched too, or the nearest one that there is.
 */
export class FolderEvents {
  readonly #path: string;
  readonly #listener: FolderEventListener;
  #inside: FSWatcher | undefined;
  #around: FSWatcher | undefined;
  #identity: string | undefined;
  /** Whether what is watched may no longer be what the path leads to. */
  #isDoubtful = true;
  #problem: string | undefined;
  #isLocal = false;
  #closed = false;

  constructor(path: string, listener: FolderEventListener) {
    this.#path = resolve(path);
    this.#listener = listener;
  }

  /** Every change of a file in it is an event with its name. Not so on network disks, where others change files, and where watches are used up. */
  get isReliable(): boolean {
    return this.#isLocal && this.#around !== undefined && (this.#identity === undefined || this.#inside !== undefined);
  }

  /** Listens to what is there now, where that is another folder than before. It never rejects. */
  async attach(): Promise<void> {
    const identity = await this.#identityNow();
    if (this.#closed) return;
    if (!this.#isDoubtful && identity !== undefined && identity === this.#identity) return;
    this.#isDoubtful = false;
    await this.#watchAround();
    // Looked at again: it may have been made since, and then its place said nothing yet.
    this.#identity = await this.#identityNow();
    this.#isLocal = this.#identity === undefined || (await isOnLocalDisk(this.#path));
    if (this.#closed) return;
    this.#inside?.close();
    this.#inside = this.#identity === undefined ? undefined : this.#listen(this.#path, basename(this.#path), true);
  }

  close(): void {
    this.#closed = true;
    this.#inside?.close();
    this.#around?.close();
  }

  async #identityNow(): Promise<string | undefined> {
    return await folderIdentity(this.#path).catch(() => undefined);
  }

  /** Watches the folder nearest to the path that there is. */
  async #watchAround(): Promise<void> {
    const [place, name] = await nearestPlace(this.#path);
    if (this.#closed) return;
    this.#around?.close();
    this.#around = this.#listen(place, name, false);
    const [nearest] = await nearestPlace(this.#path);
    if (!this.#closed && nearest !== place) await this.#watchAround();
  }

  /** Listens to one folder; events of a name say that the path may lead elsewhere now. */
  #listen(folder: string, name: string, isInside: boolean): FSWatcher | undefined {
    try {
      const watcher = watch(folder, { persistent: false });
      watcher.on("change", (_type, changed) => {
        const isOfName = changed === null || String(changed) === name;
        if (isOfName) this.#isDoubtful = true;
        if (isInside || isOfName) this.#listener.onEvent(isOfName ? undefined : String(changed));
      });
      watcher.on("error", (error) => {
        watcher.close();
        this.#isDoubtful = true;
        // On Windows, the end of the folder is reported this way.
        if (!isGone(error)) this.#complain(error);
        this.#listener.onEvent(undefined);
      });
      return watcher;
    } catch (error) {
      this.#isDoubtful = true;
      if (!isGone(error)) this.#complain(error);
      return undefined;
    }
  }

  #complain(error: unknown): void {
    const { code = String(error) } = error as { code?: string };
    if (this.#closed || this.#problem === code) return;
    this.#problem = code;
    this.#listener.onProblem(error);
  }
}

/** The types of the file systems of Linux that report every change: ext, XFS, Btrfs, tmpfs, overlay, ZFS, F2FS, bcachefs, ramfs. */
const localTypes: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e, 0x858458f6,
]);

async function isOnLocalDisk(path: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const { type } = await statfs(path).catch(() => ({ type: 0 }));
  return localTypes.has(type);
}

const goneCodes = new Set(["ENOENT", "ENOTDIR", "EPERM"]);

function isGone(error: unknown): boolean {
  return goneCodes.has((error as { code?: string }).code ?? "");
}

/** The nearest folder around a path that there is, and the name in it that leads to the path. */
async function nearestPlace(path: string): Promise<readonly [place: string, name: string]> {
  let name = path;
  let place = dirname(path);
  while (dirname(place) !== place && !(await exists(place))) {
    name = place;
    place = dirname(place);
  }
  return [place, basename(name)];
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

import { toError } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import { type FolderContents, FollowedFolder } from "./followed-folder.ts";

/** Folders that are followed together: one that cannot be read keeps what was known, and holds up none of the others. */
export class FollowedFolders {
  readonly #folders: readonly FollowedFolder[];
  #unread: readonly Error[] = [];

  constructor(
    contents: readonly (FolderContents & { readonly folder: string })[],
    options: { readonly pollMs: number },
  ) {
    this.#folders = contents.map((each) => new FollowedFolder(each.folder, each, options));
  }

  get problems(): readonly Error[] {
    return [...this.#unread, ...this.#folders.flatMap(({ problems }) => problems)];
  }

  /** Reads what changed. @throws the reason of an aborted signal */
  async read(options: ReadOptions): Promise<void> {
    const unread: Error[] = [];
    for (const folder of this.#folders) {
      try {
        await folder.read(options);
      } catch (error) {
        options.signal?.throwIfAborted();
        unread.push(toError(error));
      }
    }
    this.#unread = unread;
  }

  /** Calls back as `FollowedFolder` does, for each of them. */
  watch(listener: () => void): () => void {
    const ends = this.#folders.map((folder) => folder.watch(listener));
    return () => {
      for (const end of ends) end();
    };
  }
}

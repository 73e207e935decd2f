import type { ItemMap, Kind } from "./item.ts";
import type { ReadOptions } from "./resource.ts";

/** Something a source says: the list of a kind changed, or the content of one resource. */
export interface SourceChange {
  readonly kind: Kind;
  readonly uri?: string | undefined;
}

/** Gives the items of a kind that there are now. */
export type Lister<K extends Kind> = (options: ReadOptions) => readonly ItemMap[K][] | Promise<readonly ItemMap[K][]>;

/** Whatever supplies items to a namespace. It lists by kind, and may say that something changed. */
export interface Source extends Partial<{ readonly [K in Kind]: Lister<K> }> {
  /** Calls the listener on every change until the returned function is called. */
  watch?(listener: (change: SourceChange) => void): () => void;
}

import type { ItemMap, Kind } from "./item.ts";
import type { ReadOptions } from "./resource.ts";

/** A change that a source reports: of the list of a kind, or of the content of one resource. */
export interface SourceChange {
  readonly kind: Kind;
  readonly uri?: string | undefined;
  /** Nothing was said, but something may have been missed, such as while a stream was broken. */
  readonly gap?: boolean | undefined;
}

/** Ends a subscription. Calling it again does nothing. */
export type Unsubscribe = () => Promise<void> | void;

/** Returns the current items of a kind. */
export type Lister<K extends Kind> = (options: ReadOptions) => readonly ItemMap[K][] | Promise<readonly ItemMap[K][]>;

/** Supplies items to a namespace. It lists by kind, and may say that something changed. */
export interface Source extends Partial<{ readonly [K in Kind]: Lister<K> }> {
  /** Its items never change: another version is another object, so that one which was read is not read again. Default: each may. */
  readonly immutable?: boolean | undefined;
  /** Calls the listener on every change until the returned function is called. */
  watch?(listener: (change: SourceChange) => void): () => void;
  /**
   * Faults for which some items are missing or old since they were listed last, such as a broken file. Each is among the
   * `failures` of `list()`, and logged once when it appears and once when it is gone; it is identified by its message.
   */
  problems?(): readonly Error[];
  /** From now on `watch` reports changes of this resource's content. Missing, it reports those of every resource or of none. */
  subscribe?(uri: string, options: ReadOptions): Promise<Unsubscribe> | Unsubscribe;
}

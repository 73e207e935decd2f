import type { Tool } from "../core/item.ts";
import type { Source } from "../core/source.ts";

/** The part of a Toolkit that takes a pack. */
export interface PackHost {
  addSource(namespace: string, source: Source): Disposable;
}

/** Where a pack is mounted. */
export interface PackPlace {
  /** Default: the name of the pack. */
  readonly namespace?: string | undefined;
}

/** A source of tools that stay as they are. */
export function packOf(tools: readonly Tool[]): Source {
  return { immutable: true, tool: () => tools };
}

import type { Entry } from "../core/item.ts";

/** Decides which part of the catalogue is visible. */
export interface Visibility {
  entry(entry: Entry): boolean;
  /** True where something in it may be visible. */
  namespace(name: string): boolean;
}

export const everything: Visibility = { entry: () => true, namespace: () => true };

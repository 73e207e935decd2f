import type { Entry } from "../core/item.ts";

/** What of the catalogue may be seen. */
export interface Visibility {
  entry(entry: Entry): boolean;
  /** True where something of it may be. */
  namespace(name: string): boolean;
}

export const everything: Visibility = { entry: () => true, namespace: () => true };

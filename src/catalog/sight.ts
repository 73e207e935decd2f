import type { Entry } from "../core/item.ts";

/** What of the catalogue may be seen. */
export interface Sight {
  entry(entry: Entry): boolean;
  /** True where something of it may be. */
  namespace(name: string): boolean;
}

export const everything: Sight = { entry: () => true, namespace: () => true };

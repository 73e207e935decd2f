import type { Named } from "../core/rule-names.ts";

/** Decides which part of the catalogue is visible. */
export interface Visibility {
  /** Two visibilities with equal rules show the same items: their lists are counted once for both. */
  readonly rules: string;
  /** True where rules with names choose what shows: which items these mean depends on all that may have them. */
  readonly followsNames: boolean;
  entry(item: Named): boolean;
  /** True for an item that may become visible or invisible without a change of itself, since its rules depend on what a lookup finds. */
  isOpen(item: Named): boolean;
  /** True where something in it may be visible. */
  namespace(name: string): boolean;
  /** True where nothing in it will ever be visible. */
  hides(namespace: string): boolean;
}

export const everything: Visibility = {
  rules: "",
  followsNames: false,
  entry: () => true,
  isOpen: () => false,
  namespace: () => true,
  hides: () => false,
};

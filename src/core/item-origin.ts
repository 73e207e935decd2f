import type { Item } from "./item.ts";

/** The text that an item was made of. */
export interface ItemOrigin {
  readonly what: "manifest" | "workflow";
  /** The file with line and column, as errors name it: `tools/weather.yaml:3:19`. Undefined for one that came from no file. */
  readonly place?: string | undefined;
  /** Of a manifest: its mode, or its kind where that is not `Tool`. */
  readonly mode?: string | undefined;
}

const originKey: unique symbol = Symbol("toolweave.origin");

/** Notes the origin of an item, for explanations alone: nothing that lists or copies the members of the item sees it. */
export function withOrigin<I extends Item>(item: I, origin: ItemOrigin): I {
  return Object.defineProperty(item, originKey, { value: Object.freeze(origin) });
}

/** The origin of an item; undefined for one that was made by code or came from a server. */
export function originOf(item: Item): ItemOrigin | undefined {
  return (item as { readonly [originKey]?: ItemOrigin })[originKey];
}

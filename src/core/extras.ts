import type { Item } from "./item.ts";

const extras = new WeakMap<Item, Readonly<Record<string, unknown>>>();

/** Notes the fields of a remote item that no item of ours has, such as its icons. */
export function setExtras(item: Item, fields: Readonly<Record<string, unknown>>): void {
  extras.set(item, fields);
}

/** Those fields as the server sent them, its title included; undefined for an item that no MCP server described. */
export function extrasOf(item: Item): Readonly<Record<string, unknown>> | undefined {
  return extras.get(item);
}

import { beginningOf, type InspectOptions, inspect, shownAs } from "../lib/console-text.ts";
import type { ConnectorRefusal, Definition } from "./definition.ts";
import type { Entry, ItemMap, Kind } from "./item.ts";

/** The ref of an item: `namespace.name`, or `uri#namespace` for a resource or template. */
export function refOf(kind: Kind, namespace: string, key: string): string {
  return kind === "tool" || kind === "prompt" ? `${namespace}.${key}` : `${key}#${namespace}`;
}

/** Apart from the fields, of which there are many: shows an entry on the console without its item. */
const entryMethods = Object.create(Object.prototype, {
  [inspect]: {
    value(this: Entry, depth: number, options: InspectOptions): string {
      const { kind, ref, stale, item } = this;
      const description = beginningOf(item.description);
      return shownAs("Entry", { kind, ref, description, stale: stale || undefined }, depth, options);
    },
  },
});

const definitions = new WeakMap<Entry, Definition>();
const templates = new WeakMap<Entry, Entry<"template">>();

/**
 * Makes the frozen envelope of an item.
 *
 * @param template - the template that made the item of a URI
 */
export function makeEntry<K extends Kind>(
  definition: Definition,
  item: ItemMap[K],
  namespace: string,
  stale: boolean,
  template?: Entry<"template">,
): Entry<K> {
  const { kind, name, key } = definition;
  const entry = Object.freeze({
    __proto__: entryMethods,
    kind,
    namespace,
    name,
    ref: refOf(kind, namespace, key),
    stale,
    item,
  }) as unknown as Entry<K>;
  definitions.set(entry as unknown as Entry, definition);
  if (template !== undefined) templates.set(entry as unknown as Entry, template);
  return entry;
}

/** The template that made the resource of an entry; undefined for a resource that is listed. */
export function templateOf(entry: Entry): Entry<"template"> | undefined {
  return templates.get(entry);
}

/** True for an entry of a toolkit, whatever else looks like one. */
export function isEntry(value: unknown): value is Entry {
  return definitions.has(value as Entry);
}

/** The definition of an entry's item, as it was read when the item was added. */
export function definitionOf(entry: Entry): Definition {
  const definition = definitions.get(entry);
  if (definition === undefined) throw new TypeError("Not an entry of a toolkit.");
  return definition;
}

/** The reason why its connector refuses an item, or the template that made it; undefined where it does not. */
export function refusedByConnector(entry: Entry): ConnectorRefusal | undefined {
  const template = templateOf(entry);
  return (template && definitionOf(template).refusal) ?? definitionOf(entry).refusal;
}

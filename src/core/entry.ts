import { beginningOf, type InspectOptions, inspect, shownAs } from "../lib/console-text.ts";
import type { ConnectorRefusal, Definition } from "./definition.ts";
import type { Entry, Item, ItemMap, Kind } from "./item.ts";

/** The ref of an item: `namespace.name`, or `uri#namespace` for a resource or template. */
export function refOf(kind: Kind, namespace: string, key: string): string {
  return kind === "tool" || kind === "prompt" ? `${namespace}.${key}` : `${key}#${namespace}`;
}

/**
 * An entry. Its definition is in it, and not beside it in a map with weak keys: there are many entries, and the collector passes over each key
 * of such a map again and again.
 */
class FrozenEntry {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly ref: string;
  readonly stale: boolean;
  readonly item: Item;
  readonly #definition: Definition;

  constructor(definition: Definition, item: Item, namespace: string, stale: boolean) {
    const { kind, name, key } = definition;
    this.kind = kind;
    this.namespace = namespace;
    this.name = name;
    this.ref = refOf(kind, namespace, key);
    this.stale = stale;
    this.item = item;
    this.#definition = definition;
    Object.freeze(this);
  }

  static definitionOf(value: unknown): Definition | undefined {
    return typeof value === "object" && value !== null && #definition in value ? value.#definition : undefined;
  }

  /** Shows it on the console without its item. */
  [inspect](depth: number, options: InspectOptions): string {
    const { kind, ref, stale, item } = this;
    const description = beginningOf(item.description);
    return shownAs("Entry", { kind, ref, description, stale: stale || undefined }, depth, options);
  }
}

// To those who look at it, an entry is an object like any other.
Reflect.deleteProperty(FrozenEntry.prototype, "constructor");

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
  const entry = new FrozenEntry(definition, item, namespace, stale) as unknown as Entry<K>;
  if (template !== undefined) templates.set(entry as unknown as Entry, template);
  return entry;
}

/** The template that made the resource of an entry; undefined for a resource that is listed. */
export function templateOf(entry: Entry): Entry<"template"> | undefined {
  return templates.get(entry);
}

/** True for an entry of a toolkit, whatever else looks like one. */
export function isEntry(value: unknown): value is Entry {
  return FrozenEntry.definitionOf(value) !== undefined;
}

/** The definition of an entry's item, as it was read when the item was added. */
export function definitionOf(entry: Entry): Definition {
  const definition = FrozenEntry.definitionOf(entry);
  if (definition === undefined) throw new TypeError("Not an entry of a toolkit.");
  return definition;
}

/** The reason why its connector refuses an item, or the template that made it; undefined where it does not. */
export function refusedByConnector(entry: Entry): ConnectorRefusal | undefined {
  const template = templateOf(entry);
  return (template && definitionOf(template).refusal) ?? definitionOf(entry).refusal;
}

import { definitionOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import type { ToolkitEvent, ToolkitEventType } from "../core/event.ts";
import { builtinNamespace } from "../core/identifier.ts";
import { type Entry, type Item, type Kind, kinds, type ListFailure } from "../core/item.ts";
import { explainKey, type KeyExplanation } from "./explain.ts";
import { entryFromTemplate } from "./from-template.ts";
import { parseKey } from "./key.ts";
import {
  type Difference,
  mergedEntries,
  Namespace,
  type NamespaceChange,
  type NamespaceOptions,
  type Registration,
} from "./namespace.ts";
import { notFound } from "./not-found.ts";
import { everything, type Sight } from "./sight.ts";

/** What a catalogue is made with. */
export interface CatalogOptions {
  /** Refuse an unscoped name that several namespaces have. */
  readonly strictNames: boolean;
  emit(event: ToolkitEvent): void;
}

/** A namespace that must settle before the key can be answered. */
export interface Unsettled {
  readonly unsettled: Namespace;
}

/**
 * What exists: the namespaces in their order, and an index that answers from memory.
 *
 * The order is that of lookups: builtins, then the other namespaces in the order in which they were added.
 */
export class Catalog {
  readonly #options: CatalogOptions;
  readonly #byName = new Map<string, Namespace>();
  readonly #byItem = new WeakMap<Item, Entry>();
  /** Keys that were resolved to an item, by set of kinds; forgotten at every change. */
  readonly #resolved: Map<string, Entry>[] = [];
  readonly #reported = new Set<string>();
  readonly #lists = new Map<string, readonly Entry[]>();
  readonly builtin: Namespace;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.builtin = this.mount(builtinNamespace, {});
  }

  /** The namespaces in the order of lookups. */
  get namespaces(): readonly Namespace[] {
    return [...this.#byName.values()];
  }

  namespace(name: string): Namespace | undefined {
    return this.#byName.get(name);
  }

  /** @throws ToolkitError `CONFLICT` when the name is taken */
  mount(name: string, options: NamespaceOptions): Namespace {
    this.#assertFree(name);
    const namespace = new Namespace(name, options, (touched) => this.#forget(touched));
    this.#byName.set(name, namespace);
    this.#forget([]);
    return namespace;
  }

  /** Takes a namespace away, and tells that its items are gone. */
  unmount(namespace: Namespace): void {
    if (this.#byName.get(namespace.name) !== namespace) return;
    const differences = kinds.map((kind) => namespace.replace(kind, []));
    this.#byName.delete(namespace.name);
    this.#forget([]);
    this.#announce(namespace, differences);
  }

  /**
   * Gives a namespace another name; its place in the order stays.
   *
   * @throws ToolkitError `CONFLICT` when the name is taken
   */
  rename(namespace: Namespace, name: string): void {
    if (namespace.name === name) return;
    this.#assertFree(name);
    const all = [...this.#byName.values()];
    namespace.rename(name);
    this.#byName.clear();
    for (const each of all) this.#byName.set(each.name, each);
    this.#forget([]);
  }

  /** Changes a namespace and tells what became different, in one event a kind. */
  change(namespace: Namespace, change: NamespaceChange): void {
    const difference = namespace.change(change);
    this.#remember(namespace, change.put ?? []);
    this.#announce(namespace, [difference]);
  }

  /** Makes what a namespace has of some kinds exactly this, and tells what became different. */
  replace(namespace: Namespace, lists: ReadonlyMap<Kind, readonly Registration[]>): void {
    const differences: Difference[] = [];
    for (const [kind, registrations] of lists) {
      differences.push(namespace.replace(kind, registrations));
      this.#remember(namespace, registrations);
    }
    this.#announce(namespace, differences);
  }

  /** The entry of a registered item, by identity. */
  entryOf(item: Item, sight: Sight = everything): Entry | undefined {
    const last = this.#byItem.get(item);
    if (last === undefined) return undefined;
    const { key } = definitionOf(last);
    // Another item may be there now under the same key, and this one in another namespace as well.
    for (const namespace of [this.#byName.get(last.namespace), ...this.#byName.values()]) {
      const entry: Entry | undefined = namespace?.get(last.kind, key);
      if (entry?.item === item && sight.entry(entry)) return entry;
    }
    return undefined;
  }

  /** The entry that has the kind and ref of an earlier one now. */
  current<K extends Kind>(entry: Entry<K>): Entry<K> | undefined {
    const namespace = this.#byName.get(entry.namespace);
    const { key } = definitionOf(entry as Entry);
    const known = namespace?.get(entry.kind, key);
    if (known !== undefined) return known as Entry<K>;
    return entry.kind === "resource"
      ? (this.#fromTemplate(namespace, key, everything) as Entry<K> | undefined)
      : undefined;
  }

  /**
   * Finds what a key means.
   *
   * @throws ToolkitError `NOT_FOUND` or `AMBIGUOUS_NAME`
   */
  resolve<K extends Kind>(key: string, kinds: readonly K[], sight?: Sight): Entry<K> | Unsettled {
    return sight === undefined ? this.#resolveAll(key, kinds) : this.#resolveVisible(key, kinds, sight);
  }

  #resolveVisible<K extends Kind>(key: string, kinds: readonly K[], sight: Sight): Entry<K> | Unsettled {
    const found = this.#search(key, kinds, sight);
    if (found !== undefined) return found as Entry<K> | Unsettled;
    throw notFound(key, kinds, [...this.#byName.values()], sight);
  }

  #resolveAll<K extends Kind>(key: string, kinds: readonly K[]): Entry<K> | Unsettled {
    let set = 0;
    for (const kind of kinds) set |= bits[kind];
    const known = this.#resolved[set]?.get(key);
    if (known !== undefined) return known as Entry<K>;
    const found = this.#search(key, kinds, everything);
    if (found === undefined) throw notFound(key, kinds, [...this.#byName.values()], everything);
    if ("unsettled" in found) return found;
    // What a template makes is not kept: there is no end of its URIs.
    if (this.#byName.get(found.namespace)?.get(found.kind, definitionOf(found).key) === found) {
      const resolved = this.#resolved[set] ?? new Map<string, Entry>();
      this.#resolved[set] = resolved.set(key, found);
    }
    return found as Entry<K>;
  }

  /** What a key may mean. See `explainKey`. */
  explain(key: string): KeyExplanation {
    return explainKey(key, this.namespaces, this.#options.strictNames);
  }

  /** Every entry of some kinds, kind after kind, each by ref in code-unit order. A shared, frozen array. */
  entries(kinds: readonly Kind[], namespaces?: ReadonlySet<string>): readonly Entry[] {
    const all = [...this.#byName.values()].filter(({ name }) => namespaces?.has(name) ?? true);
    const [only, ...others] = all;
    if (only !== undefined && others.length === 0 && kinds.length === 1) return only.entries(kinds[0] as Kind);
    if (namespaces !== undefined) return Object.freeze(kinds.flatMap((kind) => mergedEntries(all, kind)));
    const cacheKey = kinds.join();
    let entries = this.#lists.get(cacheKey);
    if (entries === undefined) {
      entries = Object.freeze(kinds.flatMap((kind) => mergedEntries(all, kind)));
      this.#lists.set(cacheKey, entries);
    }
    return entries;
  }

  failures(namespaces?: ReadonlySet<string>): readonly ListFailure[] {
    const failures: ListFailure[] = [];
    for (const namespace of this.#byName.values()) {
      if (namespaces?.has(namespace.name) ?? true) failures.push(...namespace.failures);
    }
    return failures;
  }

  #search(key: string, kinds: readonly Kind[], sight: Sight): Entry | Unsettled | undefined {
    const parsed = parseKey(key, (name) => this.#byName.has(name));
    const named = kinds.filter((kind) => kind === "tool" || kind === "prompt");
    const addressed = kinds.filter((kind) => kind === "resource" || kind === "template");
    if (parsed.scopedName !== undefined && named.length > 0) {
      const found = this.#inNamespace(parsed.scopedName.namespace, parsed.scopedName.name, named, sight);
      if (found !== undefined) return found;
    }
    if (parsed.scopedUri !== undefined && addressed.length > 0) {
      const found = this.#inNamespace(parsed.scopedUri.namespace, parsed.scopedUri.uri, addressed, sight);
      if (found !== undefined) return found;
    }
    if (parsed.name !== undefined && named.length > 0) {
      const found = this.#everywhere(parsed.name, named, sight);
      if (found !== undefined) return found;
    }
    return parsed.uri === undefined || addressed.length === 0
      ? undefined
      : this.#everywhere(parsed.uri, addressed, sight);
  }

  #inNamespace(name: string, key: string, kinds: readonly Kind[], sight: Sight): Entry | Unsettled | undefined {
    const namespace = this.#byName.get(name);
    if (namespace === undefined) return undefined;
    const found = firstOf(namespace, key, kinds, sight);
    if (found !== undefined) return found;
    if (namespace.settling(false) !== undefined) return { unsettled: namespace };
    return kinds.includes("resource") ? this.#fromTemplate(namespace, key, sight) : undefined;
  }

  #everywhere(key: string, kinds: readonly Kind[], sight: Sight): Entry | Unsettled | undefined {
    const found: Entry[] = [];
    const strict = this.#options.strictNames && !kinds.includes("resource");
    for (const namespace of this.#byName.values()) {
      const entry = firstOf(namespace, key, kinds, sight);
      if (entry !== undefined) found.push(entry);
      // The answer must not depend on who was faster: an earlier namespace that may still come to have it goes first, and a later one
      // may make it ambiguous.
      else if ((found.length === 0 || strict) && namespace.settling(false) !== undefined)
        return { unsettled: namespace };
    }
    const [chosen] = found;
    if (chosen === undefined) return kinds.includes("resource") ? this.#fromAnyTemplate(key, sight) : undefined;
    if (found.length > 1 && (chosen.kind === "tool" || chosen.kind === "prompt")) this.#ambiguous(key, chosen, found);
    return chosen;
  }

  #ambiguous(name: string, chosen: Entry, found: readonly Entry[]): void {
    const candidates = found.map(({ ref }) => ref);
    if (this.#options.strictNames) {
      const message = `"${name}" is in several namespaces: write one of ${candidates.join(", ")}.`;
      throw new ToolkitError("AMBIGUOUS_NAME", message, { name, candidates }, { phase: "resolve" });
    }
    if (this.#reported.has(name)) return;
    this.#reported.add(name);
    this.#options.emit({ type: "ambiguousName", name, chosen: chosen.ref, candidates });
  }

  #fromAnyTemplate(uri: string, sight: Sight): Entry | undefined {
    for (const namespace of this.#byName.values()) {
      const entry = this.#fromTemplate(namespace, uri, sight);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  #fromTemplate(namespace: Namespace | undefined, uri: string, sight: Sight): Entry<"resource"> | undefined {
    const template = namespace?.template(uri);
    if (template === undefined) return undefined;
    const entry = entryFromTemplate(template, uri);
    return sight.entry(entry) ? entry : undefined;
  }

  #assertFree(name: string): void {
    if (!this.#byName.has(name)) return;
    throw new ToolkitError("CONFLICT", `The namespace "${name}" is taken. Give another one.`, {
      key: name,
      owners: [name],
    });
  }

  #remember(namespace: Namespace, registrations: readonly Registration[]): void {
    for (const { definition, item } of registrations) {
      const entry = namespace.get(definition.kind, definition.key);
      if (entry?.item === item) this.#byItem.set(item, entry);
    }
  }

  #forget(kinds: readonly Kind[]): void {
    this.#resolved.length = 0;
    for (const key of this.#lists.keys()) {
      if (kinds.length === 0 || kinds.some((kind) => key.split(",").includes(kind))) this.#lists.delete(key);
    }
  }

  #announce(namespace: Namespace, differences: readonly Difference[]): void {
    for (const [type, kinds] of announcements) {
      const lists = differences.flatMap((difference) => kinds.flatMap((kind) => difference[kind] ?? []));
      if (lists.length === 0) continue;
      this.#options.emit({
        type,
        namespace: namespace.name,
        ...(namespace.connection === undefined ? {} : { connection: namespace.connection }),
        added: lists.flatMap(({ added }) => added),
        removed: lists.flatMap(({ removed }) => removed),
        changed: lists.flatMap(({ changed }) => changed),
      });
    }
  }
}

/** A set of kinds as a number. */
const bits: Readonly<Record<Kind, number>> = { tool: 1, prompt: 2, resource: 4, template: 8 };

type ListEventType = Extract<ToolkitEventType, `${string}ListChanged`>;

const announcements: readonly (readonly [ListEventType, readonly Kind[]])[] = [
  ["toolListChanged", ["tool"]],
  ["promptListChanged", ["prompt"]],
  ["resourceListChanged", ["resource", "template"]],
];

function firstOf(namespace: Namespace, key: string, kinds: readonly Kind[], sight: Sight): Entry | undefined {
  for (const kind of kinds) {
    const entry: Entry | undefined = namespace.get(kind, key);
    if (entry !== undefined && sight.entry(entry)) return entry;
  }
  return undefined;
}

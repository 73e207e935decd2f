import { definitionOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import { type ListEventType, listChangedEvent, type ToolkitEvent } from "../core/event.ts";
import { builtinNamespace, userNamespace } from "../core/identifier.ts";
import { type Entry, type Item, type Kind, kinds } from "../core/item.ts";
import type { NameScope } from "../core/name-rules.ts";
import { present } from "../lib/value.ts";
import type { Registration } from "./deferred-items.ts";
import { explainKey, type KeyExplanation } from "./explain-key.ts";
import { fromTemplate } from "./from-template.ts";
import { type IndexChange, ListIndexes } from "./list-index.ts";
import { type ListFilter, type ListSelection, select, WholeLists } from "./list-selection.ts";
import { Namespace, type NamespaceOptions } from "./namespace.ts";
import { changedLists, type Difference, type NamespaceChange } from "./namespace-change.ts";
import { notFound } from "./not-found.ts";
import { RemovedNames, Scope } from "./scope.ts";
import { comingFor, type Patience, search, searchForAll, type Unsettled } from "./search.ts";
import { everything, type Visibility } from "./visibility.ts";

/** Options of a catalogue. */
export interface CatalogOptions {
  /** Refuse an unscoped name that several namespaces have. */
  readonly strictNames: boolean;
  emit(event: ToolkitEvent): void;
  /** True where a type of event has a listener: without one, the event is not made. */
  hasListeners(type: ListEventType): boolean;
}

type Seeker = { readonly visibility?: Visibility | undefined; readonly patience?: Patience };

/**
 * The namespaces in their order, and an index of their items that answers from memory.
 *
 * The order is that of lookups: builtins, then the other namespaces in the order in which they were added, then that of the owner who
 * asks, where owners have one.
 */
export class Catalog implements NameScope {
  readonly #options: CatalogOptions;
  readonly #byName = new Map<string, Namespace>();
  readonly #byItem = new WeakMap<Item, Entry>();
  /** Ambiguous names that were reported: under the builtins for all, or under the namespace of one owner. */
  readonly #reported = new WeakMap<Namespace, Set<string>>();
  readonly #gone = new RemovedNames();
  /** The lists of the namespaces that all have. */
  readonly #lists = new ListIndexes(() => this.#byName.values());
  readonly #wholes = new WholeLists();
  #common: Scope;
  #personal: ((owner: string) => Namespace) | undefined;
  /** By the namespace of the owner. */
  #scopes = new WeakMap<Namespace, Scope>();
  readonly builtin: Namespace;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#common = new Scope([], this.#gone);
    this.builtin = this.mount(builtinNamespace, {});
  }

  /** The namespaces an owner has, in the order of lookups; of those with some names, in the order of these. */
  namespaces(owner = "", names?: ReadonlySet<string>): readonly Namespace[] {
    const scope = this.#scope(owner);
    return names === undefined ? scope.namespaces : scope.named(names);
  }

  namespace(name: string, owner = ""): Namespace | undefined {
    return this.#scope(owner).namespace(name);
  }

  /** From now on each owner has a namespace of its own, behind all others. No owner is the empty text. */
  personalize(namespaces: (owner: string) => Namespace): void {
    this.#personal = namespaces;
  }

  /** Makes the namespace of an owner. It is in no list of namespaces until `personalize` gives it. */
  makePersonal(name: string, options: NamespaceOptions): Namespace {
    const namespace: Namespace = new Namespace(name, options, () => this.#scopes.delete(namespace));
    return namespace;
  }

  /** @throws ToolkitError `CONFLICT` when the name is taken */
  mount(name: string, options: NamespaceOptions): Namespace {
    this.#assertFree(name);
    const namespace = new Namespace(name, options, (changes) => this.#changed(changes));
    this.#byName.set(name, namespace);
    this.#rearranged();
    return namespace;
  }

  /** The namespace that only an owner has; undefined where owners have none. */
  personal(owner: string): Namespace | undefined {
    return this.#scope(owner).personal;
  }

  /** Removes a namespace, and emits that its items are gone. */
  unmount(namespace: Namespace): void {
    if (this.#byName.get(namespace.name) !== namespace) return;
    const differences = kinds.map((kind) => namespace.replace(kind, []));
    this.#byName.delete(namespace.name);
    this.#gone.add(namespace.name);
    this.#rearranged();
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
    this.#gone.add(namespace.name);
    namespace.rename(name);
    this.#byName.clear();
    for (const each of all) this.#byName.set(each.name, each);
    this.#lists.reset();
    this.#rearranged();
  }

  /** Changes a namespace and emits what became different, in one event a kind. */
  change(namespace: Namespace, change: NamespaceChange): void {
    this.#announce(namespace, [this.fill(namespace, change)]);
  }

  /** Changes a namespace without an event: its new items were there before. */
  fill(namespace: Namespace, change: NamespaceChange): Difference {
    const difference = namespace.change(change);
    this.#remember(namespace, change.put ?? []);
    return difference;
  }

  /** Gives a namespace exactly these items of some kinds, and emits what became different. @param first - of lists that were waited for */
  replace(namespace: Namespace, lists: ReadonlyMap<Kind, readonly Registration[]>, first?: true): void {
    const differences: Difference[] = [];
    for (const [kind, registrations] of lists) {
      differences.push(namespace.replace(kind, registrations));
      this.#remember(namespace, registrations);
    }
    this.#announce(namespace, differences, first);
  }

  /** The entry that an owner has of a registered item, by identity. */
  entryOf(item: Item, owner = "", visibility: Visibility = everything): Entry | undefined {
    const last = this.lastEntryOf(item);
    if (last === undefined) return undefined;
    const { key } = definitionOf(last);
    const scope = this.#scope(owner);
    // Another item may be there now under the same key, and this one in another namespace as well.
    for (const namespace of [scope.namespace(last.namespace), ...scope.namespaces]) {
      const entry: Entry | undefined = namespace?.get(last.kind, key);
      if (entry?.item === item && visibility.entry(entry)) return entry;
    }
    return undefined;
  }

  /** The last entry of an item, which may be gone; undefined for one that was never registered. */
  lastEntryOf(item: Item): Entry | undefined {
    return this.#byItem.get(item);
  }

  /** The entry that has the kind and ref of an earlier one now. */
  current<K extends Kind>(entry: Entry<K>, owner = ""): Entry<K> | undefined {
    const namespace = this.#scope(owner).namespace(entry.namespace);
    const { key } = definitionOf(entry as Entry);
    const known = namespace?.get(entry.kind, key);
    if (known !== undefined) return known as Entry<K>;
    if (entry.kind !== "resource" || namespace === undefined) return undefined;
    return fromTemplate(namespace, key) as Entry<K> | undefined;
  }

  /**
   * Finds what a key means to an owner.
   *
   * @throws ToolkitError `NOT_FOUND`, `UNAVAILABLE` or `AMBIGUOUS_NAME`
   */
  resolve<K extends Kind>(
    key: string,
    kinds: readonly K[],
    owner = "",
    visibility?: Visibility,
    patience: Patience = "call",
  ): Entry<K> | Unsettled {
    const scope = this.#scope(owner);
    // Most often it was found before: that costs no object.
    const known = visibility === undefined ? scope.resolved(key, kinds) : undefined;
    const found = known ?? this.#found(key, kinds, scope, { visibility, patience });
    if (found !== undefined) return found as Entry<K> | Unsettled;
    const coming = patience === "call" ? comingFor(key, kinds, scope, visibility ?? everything) : undefined;
    if (coming !== undefined) return coming;
    throw notFound(key, kinds, scope, visibility ?? everything, patience);
  }

  meaning(key: string): Entry | "undecided" | undefined {
    try {
      const found = searchForAll(key, this.#common, (kinds) => this.#found(key, kinds, this.#common));
      return found !== undefined && "unsettled" in found ? "undecided" : found;
    } catch {
      // Ambiguous under `strictNames`, or a template failed.
      return "undecided";
    }
  }

  #found(key: string, kinds: readonly Kind[], scope: Scope, given: Seeker = {}): Entry | Unsettled | undefined {
    const { visibility, patience = "call" } = given;
    const known = visibility === undefined ? scope.resolved(key, kinds) : undefined;
    if (known !== undefined) return known;
    const found = search(key, kinds, {
      scope,
      visibility: visibility ?? everything,
      patience,
      strict: this.#options.strictNames,
      ambiguous: (name, candidates) => this.#ambiguous(name, candidates, scope),
    });
    if (found === undefined || "unsettled" in found || visibility !== undefined) return found;
    // Resources that templates make are not kept, nor are other spellings of a URI: there is no end of either.
    const isListed = scope.namespace(found.namespace)?.get(found.kind, definitionOf(found).key) === found;
    if (isListed && (found.kind !== "resource" || key.startsWith(definitionOf(found).key)))
      scope.keepResolved(key, kinds, found);
    return found;
  }

  /** The meanings of a key to an owner. See `explainKey`. */
  explain(key: string, owner = ""): KeyExplanation {
    return explainKey(key, this.#scope(owner), this.#options.strictNames);
  }

  /** Every entry that all have of some kinds, kind after kind, each by ref in code-unit order. A shared, frozen array. */
  entries(kinds: readonly Kind[]): readonly Entry[] {
    return this.#lists.of(everything).whole(kinds) as readonly Entry[];
  }

  /** The entries an owner has that fit a filter. */
  select(filter: ListFilter, owner: string): ListSelection {
    return select(filter, this.#scope(owner), this.#lists, this.#wholes);
  }

  /** Those of `namespaces` that may have failures, or be waited for. */
  restless(owner: string, names?: ReadonlySet<string>): readonly Namespace[] {
    return names === undefined ? this.#scope(owner).restless : this.namespaces(owner, names);
  }

  #scope(owner: string): Scope {
    if (this.#personal === undefined) return this.#common;
    const personal = this.#personal(owner);
    let scope = this.#scopes.get(personal);
    if (scope === undefined) {
      scope = new Scope(this.#byName.values(), this.#gone, { common: this.#common, personal });
      this.#scopes.set(personal, scope);
    }
    return scope;
  }

  #ambiguous(name: string, found: readonly [Entry, ...Entry[]], scope: Scope): void {
    const candidates = found.map(({ ref }) => ref);
    if (this.#options.strictNames) {
      const message = `"${name}" is in several namespaces: write one of ${candidates.join(", ")}.`;
      throw new ToolkitError("AMBIGUOUS_NAME", message, { name, candidates }, { phase: "resolve" });
    }
    const isOwn = found.at(-1)?.namespace === userNamespace;
    const reporter = (isOwn ? scope.namespace(userNamespace) : undefined) ?? this.builtin;
    const reported = this.#reported.get(reporter) ?? new Set();
    if (reported.has(name)) return;
    this.#reported.set(reporter, reported.add(name));
    const { principal } = reporter;
    this.#options.emit({ type: "ambiguousName", name, chosen: found[0].ref, candidates, ...present({ principal }) });
  }

  #assertFree(name: string): void {
    if (!this.#byName.has(name)) return;
    const message = `The namespace "${name}" is taken. Give another one.`;
    throw new ToolkitError("CONFLICT", message, { key: name, owners: [name] });
  }

  #remember(namespace: Namespace, registrations: readonly Registration[]): void {
    for (const { definition, item } of registrations) {
      const entry = namespace.get(definition.kind, definition.key);
      if (entry?.item === item) this.#byItem.set(item, entry);
    }
  }

  /** Items changed that all have; without changes, a namespace was disturbed. */
  #changed(changes: readonly IndexChange[]): void {
    if (changes.length === 0) this.#common.disturbed();
    for (const change of changes) this.#lists.changed(change);
    this.#common.forget();
    this.#scopes = new WeakMap();
  }

  #rearranged(): void {
    this.#common = new Scope(this.#byName.values(), this.#gone);
    this.#scopes = new WeakMap();
  }

  #announce({ name, connection, principal }: Namespace, differences: readonly Difference[], first?: true): void {
    const of = { namespace: name, ...present({ connection, principal, first }) };
    for (const [type, entries] of changedLists(differences))
      if (this.#options.hasListeners(type)) this.#options.emit(listChangedEvent(type, of, entries));
  }
}

import type { Entry, Kind } from "../core/item.ts";
import type { Namespace } from "./namespace.ts";

/** The most names that are kept of removed namespaces. */
const maxRemoved = 10_000;

/** The names of namespaces that were removed, the latest of them: a rule on their items must not come to mean those of others. */
export class RemovedNames {
  readonly #names = new Set<string>();

  add(name: string): void {
    this.#names.delete(name);
    this.#names.add(name);
    const [first = name] = this.#names;
    if (this.#names.size > maxRemoved) this.#names.delete(first);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }
}

/** The namespace that only an owner has, behind those that all have. */
interface OwnerNamespaces {
  readonly common: Scope;
  readonly personal: Namespace;
}

/** The namespaces of an owner, in the order of lookups, and the results of lookups in them until one changes. */
export class Scope {
  readonly namespaces: readonly Namespace[];
  /** The one that only its owner has. */
  readonly personal: Namespace | undefined;
  readonly #byName: ReadonlyMap<string, Namespace>;
  readonly #gone: RemovedNames;
  readonly #owner: OwnerNamespaces | undefined;
  #restless: readonly Namespace[] | undefined;
  /** Keys that were resolved to an item, by set of kinds. */
  readonly #resolved: Map<string, Entry>[] = [];

  /** @param gone - names of namespaces that were removed */
  constructor(common: Iterable<Namespace>, gone: RemovedNames, owner?: OwnerNamespaces) {
    this.#gone = gone;
    this.#owner = owner;
    const personal = owner?.personal;
    this.namespaces = personal === undefined ? [...common] : [...common, personal];
    this.personal = personal;
    this.#byName = new Map(this.namespaces.map((namespace) => [namespace.name, namespace]));
  }

  namespace(name: string): Namespace | undefined {
    return this.#byName.get(name);
  }

  /** Those of its namespaces that have one of these names. */
  named(names: ReadonlySet<string>): readonly Namespace[] {
    return [...names].map((name) => this.namespace(name)).filter((namespace) => namespace !== undefined);
  }

  /** True for the name of a namespace that was removed: a key within it means no item of another namespace. */
  hasLost(name: string): boolean {
    return this.#gone.has(name);
  }

  /** The entry that a key was resolved to before. */
  resolved(key: string, kinds: readonly Kind[]): Entry | undefined {
    return this.#resolved[setOf(kinds)]?.get(key);
  }

  keepResolved(key: string, kinds: readonly Kind[], entry: Entry): void {
    const set = setOf(kinds);
    const resolved = this.#resolved[set] ?? new Map<string, Entry>();
    this.#resolved[set] = resolved.set(key, entry);
  }

  /** Those of its namespaces that were not quiet after one was disturbed last: only these may have failures, or be waited for. */
  get restless(): readonly Namespace[] {
    if (this.#owner !== undefined) return [...this.#owner.common.restless, this.#owner.personal];
    this.#restless ??= this.namespaces.filter((namespace) => !namespace.isQuiet());
    return this.#restless;
  }

  /** Forgets which namespaces were quiet. */
  disturbed(): void {
    this.#restless = undefined;
  }

  /** Forgets what was found before something changed. */
  forget(): void {
    this.#resolved.length = 0;
  }
}

/** A set of kinds as a number. */
const bits: Readonly<Record<Kind, number>> = { tool: 1, prompt: 2, resource: 4, template: 8 };

function setOf(kinds: readonly Kind[]): number {
  let set = 0;
  for (const kind of kinds) set |= bits[kind];
  return set;
}

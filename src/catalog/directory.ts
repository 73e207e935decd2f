import { ToolkitError } from "../core/error.ts";
import { userNamespace } from "../core/identifier.ts";
import {
  kinds as allKinds,
  defaultKinds,
  type Entry,
  type Item,
  type Kind,
  type ListPage,
  type ListQuery,
} from "../core/item.ts";
import { shown } from "../core/options.ts";
import type { Named } from "../core/rule-names.ts";
import { throwIfAborted } from "../core/signal.ts";
import { abortable, type MaybePromise } from "../lib/promise.ts";
import { byRef } from "../lib/sorted-list.ts";
import { Turns } from "../lib/turns.ts";
import type { Catalog } from "./catalog.ts";
import type { HeadRequest } from "./deferred-items.ts";
import type { ListFilter } from "./list-selection.ts";
import type { Namespace } from "./namespace.ts";
import { unreached } from "./not-found.ts";
import { begun, type Patience, settlingOf, type Unsettled } from "./search.ts";
import type { Visibility } from "./visibility.ts";

/** The toolkit of a directory, as far as it may be closed. */
export interface DirectoryHost {
  readonly isClosing: boolean;
  /** @throws ToolkitError `CLOSED` */
  assertOpen(): void;
}

/** Answers lookups and lists from the catalogue, and waits where a namespace is only just coming. */
export class Directory {
  readonly #catalog: Catalog;
  readonly #host: DirectoryHost;
  readonly #visibility: Visibility | undefined;

  /** @param visibility - decides what may be found. Default: everything */
  constructor(catalog: Catalog, host: DirectoryHost, visibility?: Visibility) {
    this.#catalog = catalog;
    this.#host = host;
    this.#visibility = visibility;
  }

  /**
   * Finds what a key means to an owner: at once from memory, or when the namespaces that come before have settled.
   *
   * @param patience - a `call` also waits for what is still connecting and may have the key. Default: `lookup`
   * @throws ToolkitError `NOT_FOUND`, `AMBIGUOUS_NAME` or `CLOSED`; to a `call` `UNAVAILABLE` where it waited for a namespace in vain, or names
   *   one that has never connected
   */
  find<K extends Kind>(
    key: string,
    kinds: readonly K[],
    owner: string,
    signal: AbortSignal | undefined,
    patience: Patience = "lookup",
  ): MaybePromise<Entry<K>> {
    if (this.#host.isClosing) this.#host.assertOpen();
    if (typeof key !== "string") throw invalid("key", `must be a string, and is ${typeof key}`);
    if (kinds.length === 1) assertKind(kinds[0]);
    if (signal !== undefined) throwIfAborted(signal);
    let found: Entry<K> | Unsettled;
    try {
      found = this.#catalog.resolve(key, kinds, owner, this.#visibility, patience);
    } catch (error) {
      if (this.#deciding(owner) === undefined) throw error;
      return this.#findLater({ key, kinds, owner }, signal, patience);
    }
    return "unsettled" in found ? this.#findLater({ key, kinds, owner }, signal, patience) : found;
  }

  /** The reason why a key that a call waits for is not there yet; undefined where it waits for nothing. */
  missing(key: string, kinds: readonly Kind[], owner: string): ToolkitError | undefined {
    const found = this.#catalog.resolve(key, kinds, owner, this.#visibility);
    return "unsettled" in found ? unreached(key, kinds, [found.unsettled, ...(found.coming ?? [])]) : undefined;
  }

  async #findLater<K extends Kind>(
    { key, kinds, owner }: { readonly key: string; readonly kinds: readonly K[]; readonly owner: string },
    signal: AbortSignal | undefined,
    patience: Patience,
  ): Promise<Entry<K>> {
    const awaited = new Set<Namespace>();
    const wanted = { kinds, key };
    for (;;) {
      let found: Entry<K> | Unsettled;
      try {
        found = this.#catalog.resolve(key, kinds, owner, this.#visibility, patience);
      } catch (error) {
        const deciding = this.#deciding(owner);
        if (deciding === undefined)
          throw (ToolkitError.is(error, "NOT_FOUND") && unreached(key, kinds, awaited)) || error;
        await abortable(deciding, signal);
        this.#host.assertOpen();
        continue;
      }
      if (!("unsettled" in found)) return found;
      const { unsettled, coming } = found;
      const part = found.wanted ?? wanted;
      if (patience === "call") for (const namespace of coming ?? [unsettled]) awaited.add(namespace);
      // One that has the key need not wait for the others that are coming.
      const next = coming?.map((each) => each.coming(wanted)) ?? [begun(unsettled, part)];
      await abortable(Promise.race(next), signal);
      this.#host.assertOpen();
    }
  }

  /** Undefined once it is known what shows; else resolves when the connected servers that may have the names in its rules have listed all. */
  #deciding(owner: string): Promise<unknown> | undefined {
    if (this.#visibility?.followsNames !== true) return undefined;
    const connected = this.#catalog.namespaces(owner).filter(({ connection }) => connection?.state === "connected");
    const waits = connected.flatMap((namespace) => namespace.settling(false) ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  get isConfined(): boolean {
    return this.#visibility !== undefined;
  }

  current<K extends Kind>(entry: Entry<K>, owner: string): Entry<K> | undefined {
    const current = this.#catalog.current(entry, owner);
    if (current === undefined || this.#visibility === undefined) return current;
    return this.#visibility.entry(current as Entry) ? current : undefined;
  }

  /**
   * The entry of a registered item.
   *
   * @throws ToolkitError `NOT_FOUND` for one that may not be seen, or is another owner's: it is not the service's own to call either
   */
  entryOf(item: Item, owner: string): Entry | undefined {
    const last = this.#catalog.lastEntryOf(item);
    if (last === undefined) return undefined;
    const entry = this.#catalog.entryOf(item, owner, this.#visibility);
    if (entry !== undefined) return entry;
    const isOutside = this.#visibility !== undefined && this.#catalog.entryOf(item) !== undefined;
    if (!(last.namespace === userNamespace || isOutside)) return undefined;
    const { kind, name } = item;
    throw new ToolkitError(
      "NOT_FOUND",
      `There is no ${kind} "${name}".`,
      { key: name, suggestions: [] },
      { phase: "resolve" },
    );
  }

  /**
   * Lists what there is for an owner, from memory. Only what begins because it is needed, such as a lazy connector, is waited for, and
   * kinds that a connected server is still listing for the first time.
   *
   * @throws ToolkitError `INVALID_INPUT` for a bad limit or offset, `CLOSED`
   */
  async list<K extends Kind>(query: ListQuery<K>, owner: string): Promise<ListPage<K>> {
    this.#host.assertOpen();
    const { limit, offset = 0, signal } = query;
    throwIfAborted(signal);
    assertCount("limit", limit);
    assertCount("offset", offset);
    const namespaces = query.namespace === undefined ? undefined : new Set([query.namespace].flat());
    const filter: ListFilter = {
      kinds: kindsOf(query.kind),
      namespaces,
      names: query.name === undefined ? undefined : new Set([query.name].flat()),
      visibility: this.#visibility,
    };
    const end = limit === undefined ? undefined : offset + limit;
    let page = end === undefined ? undefined : await this.#firstPage(filter, owner, { offset, end, signal });
    if (page === undefined) {
      await this.#settle(filter, owner, signal);
      page = await this.#page(filter, owner, { offset, end, signal });
    }
    const { count, entries } = page;
    const failures = this.#catalog.restless(owner, namespaces).flatMap((namespace) => namespace.failures(filter.kinds));
    return Object.freeze({
      entries,
      count,
      offset,
      limit,
      failures: Object.freeze(failures.filter(({ namespace }) => this.#visibility?.namespace(namespace) ?? true)),
    }) as ListPage<K>;
  }

  /** A page for which the items of the owner need not all be in memory; undefined where they must. */
  async #firstPage(
    filter: ListFilter,
    owner: string,
    { offset, end, signal }: PageBounds & { readonly end: number },
  ): Promise<Page | undefined> {
    const personal = this.#catalog.personal(owner);
    const { kinds, namespaces, names, visibility } = filter;
    const isPlain = names === undefined && visibility === undefined && namespaces?.has(userNamespace) !== false;
    if (!isPlain || personal?.head === undefined || personal.settling(false) === undefined) return undefined;
    await this.#settle(filter, owner, signal, personal);
    const items: Named[] = [];
    let count = 0;
    const choose: HeadRequest["choose"] = (heads) => {
      for (const kind of kinds) {
        const others = this.#catalog.select({ ...filter, kinds: [kind], isCommon: true }, owner);
        const own = heads[kind] ?? { count: 0, items: [] };
        const [from, to] = [Math.max(0, offset - count), end - count];
        if (to > 0) items.push(...[...others.slice(0, to), ...own.items].sort(byRef).slice(from, to));
        count += others.count + own.count;
      }
      return items;
    };
    if (!(await abortable(personal.head({ kinds, end, choose }), signal))) return undefined;
    this.#host.assertOpen();
    const entries = await this.#entriesOf(items, personal, signal);
    return entries.length === items.length ? { count, entries: Object.freeze(entries) } : undefined;
  }

  /** The entries of a page. Those that are deferred are made. */
  async #page(filter: ListFilter, owner: string, { offset, end, signal }: PageBounds): Promise<Page> {
    for (;;) {
      const selection = this.#catalog.select(filter, owner);
      const { count } = selection;
      const items = selection.slice(offset, end);
      const personal = this.#catalog.personal(owner);
      if (personal?.isComplete !== false) return { count, entries: items as readonly Entry[] };
      const entries = await this.#entriesOf(items, personal, signal);
      // One that cannot be made is in no list any more, and another takes its place.
      if (entries.length === items.length) return { count, entries: Object.freeze(entries) };
    }
  }

  /** The entries of items, in turns: those of the owner are made where they were deferred, and left out where that fails. */
  async #entriesOf(items: readonly Named[], personal: Namespace, signal: AbortSignal | undefined): Promise<Entry[]> {
    const turns = new Turns();
    const entries: Entry[] = [];
    for (const item of items) {
      if (turns.isOver) await turns.next();
      throwIfAborted(signal);
      const entry = item.namespace === personal.name ? personal.entryOf(item) : (item as Entry);
      if (entry !== undefined) entries.push(entry);
    }
    return entries;
  }

  async #settle(
    { kinds, namespaces }: ListFilter,
    owner: string,
    signal: AbortSignal | undefined,
    except?: Namespace,
  ): Promise<void> {
    const wanted = { kinds };
    const waits: Promise<void>[] = [];
    for (const namespace of this.#catalog.restless(owner, namespaces)) {
      const settling = namespace === except ? undefined : settlingOf(namespace, wanted);
      if (settling !== undefined) waits.push(settling);
    }
    if (waits.length > 0) await abortable(Promise.all(waits), signal);
    const deciding = this.#deciding(owner);
    if (deciding !== undefined) await abortable(deciding, signal);
    if (waits.length > 0 || deciding !== undefined) this.#host.assertOpen();
  }
}

interface PageBounds {
  readonly offset: number;
  readonly end: number | undefined;
  readonly signal: AbortSignal | undefined;
}

interface Page {
  readonly count: number;
  readonly entries: readonly Entry[];
}

function kindsOf(kind: Kind | readonly Kind[] | undefined): readonly Kind[] {
  if (kind === undefined) return defaultKinds;
  const wanted: readonly Kind[] = [kind].flat() as Kind[];
  for (const each of wanted) assertKind(each);
  return allKinds.filter((each) => wanted.includes(each));
}

function assertKind(kind: unknown): void {
  if (allKinds.includes(kind as Kind)) return;
  throw invalid("kind", `must be one of ${allKinds.join(", ")}, and is ${shown(kind)}`);
}

function assertCount(what: string, value: number | undefined): void {
  if (value === undefined || (Number.isInteger(value) && value >= 0)) return;
  throw invalid(what, `must be a whole number from 0, and is ${shown(value)}`);
}

function invalid(what: string, message: string): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError(
    "INVALID_INPUT",
    `The ${what} ${message}.`,
    { issues: [{ pointer: `/${what}`, message }] },
    { phase: "resolve" },
  );
}

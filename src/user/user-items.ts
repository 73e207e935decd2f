import type { Catalog } from "../catalog/catalog.ts";
import type { DeferredItem, Registration } from "../catalog/deferred-items.ts";
import type { Namespace } from "../catalog/namespace.ts";
import type { NamespaceChange } from "../catalog/namespace-change.ts";
import { readDefinition } from "../core/definition.ts";
import { ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { userNamespace } from "../core/identifier.ts";
import type { Item, ListFailure, Prompt } from "../core/item.ts";
import { setOwner } from "../core/outer-call.ts";
import type { ReadPromptLimits } from "../core/prompt-limits.ts";
import type { Content, ReadOptions, Resource } from "../core/resource.ts";
import type { RecordFailure, RecordList, StoredRecord } from "../core/store.ts";
import { Turns } from "../lib/turns.ts";
import { present } from "../lib/value.ts";
import { changeOf, type ItemChange, ItemVersions } from "./item-changes.ts";
import { type ItemKey, idOf, isPartialKey, type UserCollection } from "./item-key.ts";
import { PromptCache, type Revision, type TextChanges } from "./prompt-cache.ts";
import { promptText, resourceValue, storedResource } from "./stored-item.ts";

/** The parts that the items of an owner work with. */
export interface ItemsHost {
  readonly catalog: Catalog;
  readonly promptLimits: ReadPromptLimits;
  now(): number;
  emit(event: ToolkitEvent): void;
  /** Reads the content of a resource from the store. */
  read(uri: string, options: ReadOptions): Promise<Content>;
}

/** Readings of a list that are dropped because of changes meanwhile, before one blocks the event loop. */
const maxRepeats = 3;

/** The most prompts of an owner that are kept parsed; of the others the text. */
const maxParsed = 20_000;

/** The approximate size of an item in memory beside its text, and of a parsed prompt, in bytes. */
const [itemWeight, parsedWeight] = [1_000, 5_000];

interface CommitOptions {
  readonly emits: boolean;
  /** Items that are made later, and whether they are others than before. */
  readonly deferred?: ReadonlyMap<ItemChange, boolean> | undefined;
}

/** The items of one owner in memory, which its namespace shows. What is listed or looked up is parsed when it is first needed. */
export class UserItems {
  readonly prompts: PromptCache;
  readonly #versions = new ItemVersions();
  readonly #namespace: Namespace;
  readonly #host: ItemsHost;
  /** The records that cannot be read, by id. An item that was readable before stays as it was. */
  readonly #unreadable = new Map<string, ListFailure>();
  /** The prompts that are parsed, by key, the first of them first. */
  readonly #parsed = new Set<string>();
  #releasing: NodeJS.Immediate | undefined;

  constructor(namespace: Namespace, host: ItemsHost) {
    this.#namespace = namespace;
    this.#host = host;
    this.prompts = new PromptCache(host.promptLimits);
  }

  get failures(): readonly ListFailure[] {
    return [...this.#unreadable.values()];
  }

  /** Number of changes so far; read before a list begins, for `applyLists`. */
  get changes(): number {
    return this.#versions.noted;
  }

  /** True where nothing was read: not even that an item is not there. */
  get isEmpty(): boolean {
    return this.#versions.noted === 0;
  }

  /** The approximate size of what is in memory, in bytes. */
  get weight(): number {
    return this.prompts.length + itemWeight * this.#versions.size + parsedWeight * this.#parsed.size;
  }

  /** True for an item that is in memory, or of which it is known that it is not there. */
  knows(key: ItemKey): boolean {
    return this.#versions.knows(key);
  }

  /** True for a change that is newer than the item in memory. */
  isNewer(change: ItemChange): boolean {
    return this.#versions.isNewer(change);
  }

  /**
   * Applies changes, and emits what is different.
   *
   * @param revision - of the same changes, made before they were stored; made again where it is not current any more
   */
  apply(changes: readonly ItemChange[], revision?: Revision): void {
    const newer = changes.filter((change) => this.isNewer(change));
    if (newer.length === 0) return;
    const texts = this.#texts(newer);
    const isCurrent = revision !== undefined && this.prompts.isCurrent(revision);
    const prompts = texts.size === 0 ? {} : this.#commitPrompts(isCurrent ? revision : this.prompts.revise(texts));
    this.#commit(newer, prompts, { emits: true });
  }

  /**
   * Makes the items exactly those of a list, but for changes since it began.
   *
   * @param changesBefore - `changes` when the list began
   * @param emits - whether differences are emitted
   */
  async applyLists(lists: readonly RecordList[], changesBefore: number, emits: boolean): Promise<void> {
    const records = lists.flatMap((list) => list.records.map(changeOf));
    const failures = lists.flatMap((list) => list.failures);
    const listed = new Set([...records.map(idOf), ...failures.map(failureId)]);
    const found = [...records, ...this.#versions.missing(listed, changesBefore)];
    const unreadable = records.filter((change) => this.#unreadable.has(idOf(change)) && !this.isNewer(change));
    this.#unreadable.clear();
    void this.#texts(unreadable);
    for (const failure of failures) this.#fail(failureId(failure), failure.error);
    const deferred = await this.#deferAll(found);
    for (let repeats = 0; ; repeats++) {
      const newer = found.filter((change) => this.isNewer(change));
      const texts = this.#texts(newer.filter((change) => !deferred.has(change)));
      const revision = repeats < maxRepeats ? await this.prompts.reviseAll(texts, emits) : this.prompts.revise(texts);
      // A write of this process may have been faster: it must not be undone.
      if (!this.prompts.isCurrent(revision)) continue;
      const current = newer.filter((change) => this.isNewer(change));
      return this.#commit(current, this.#commitPrompts(revision), { emits, deferred });
    }
  }

  /** Adds items that were read one by one, before all are: they were there, so that is no change. */
  preview(changes: readonly ItemChange[]): void {
    const newer = changes.filter((change) => this.isNewer(change) || !this.knows(change));
    const deferred = new Map(newer.flatMap((change) => this.#deferrable(change)));
    const texts = this.#texts(newer.filter((change) => !deferred.has(change)));
    for (const [key, text] of texts) if (text !== undefined) this.prompts.defer(key, text);
    this.#commit(newer, {}, { emits: false, deferred });
  }

  /** Keeps the texts of items that were not in memory, or not parsed, and gives these items. They are not in the namespace yet. */
  async #deferAll(found: readonly ItemChange[]): Promise<ReadonlyMap<ItemChange, boolean>> {
    const deferred = new Map<ItemChange, boolean>();
    const turns = new Turns();
    for (const change of found) {
      if (turns.isOver) await turns.next();
      if (this.isNewer(change))
        for (const [each, isDifferent] of this.#deferrable(change)) deferred.set(each, isDifferent);
    }
    return deferred;
  }

  /** The change, and whether its item is another than before, where the item can be made later; else nothing. */
  #deferrable(change: ItemChange): readonly (readonly [ItemChange, boolean])[] {
    const { collection, key, record } = change;
    if (record === undefined) return [];
    if (collection === "resource") return this.#namespace.has("resource", key) ? [] : [[change, true]];
    if (isPartialKey(key) || (this.prompts.has(key) && !this.prompts.isUnparsed(key))) return [];
    const text = this.#attempt(idOf(change), () => promptText(record));
    return text === undefined ? [] : [[change, this.prompts.defer(key, text)]];
  }

  #deferred({ collection: kind, key, record }: ItemChange & { readonly record: StoredRecord }): DeferredItem {
    if (kind === "prompt") return { kind, key, name: key, make: () => this.#madePrompt(key) };
    // Its name is that of the resource, where it has one.
    const { name } = this.#attempt(idOf({ collection: kind, key }), () => resourceValue(record)) ?? { name: key };
    return { kind, key, name, make: () => registrationOf(this.#resource(record)) };
  }

  #madePrompt(key: string): Registration | undefined {
    const prompt = this.prompts.parse(key);
    const error = this.prompts.broken.get(key);
    if (error !== undefined) this.#fail(idOf({ collection: "prompt", key }), error);
    if (prompt !== undefined) this.#own([prompt]);
    return registrationOf(prompt);
  }

  /** Notes prompts that were parsed. The longest parsed are given up where there are too many. */
  #own(prompts: readonly Prompt[]): void {
    const { principal } = this.#namespace;
    for (const prompt of prompts) {
      if (principal !== undefined) setOwner(prompt, principal);
      this.#parsed.delete(prompt.name);
      this.#parsed.add(prompt.name);
    }
    if (this.#parsed.size > maxParsed && this.#releasing === undefined)
      this.#releasing = setImmediate(() => this.#release());
  }

  #release(): void {
    this.#releasing = undefined;
    const defer: DeferredItem[] = [];
    for (const key of this.#parsed) {
      if (this.#parsed.size <= maxParsed) break;
      this.#parsed.delete(key);
      this.prompts.release(key);
      if (this.prompts.isUnparsed(key))
        defer.push({ kind: "prompt", key, name: key, make: () => this.#madePrompt(key) });
    }
    this.#host.catalog.fill(this.#namespace, { defer });
  }

  #commitPrompts(revision: Revision): NamespaceChange {
    const { put, removed } = this.prompts.commit(revision);
    this.#noteBroken();
    this.#own(put);
    return {
      put: put.map((prompt) => registrationOf(prompt)),
      remove: removed.map((key) => ({ kind: "prompt", key })),
    };
  }

  #commit(changes: readonly ItemChange[], prompts: NamespaceChange, { emits, deferred }: CommitOptions): void {
    const defer: DeferredItem[] = [];
    const put = [...(prompts.put ?? [])];
    const remove = [...(prompts.remove ?? [])];
    const updated: string[] = [];
    for (const change of changes) {
      const { collection, key, record } = change;
      this.#versions.note(change);
      if (record !== undefined && deferred?.get(change)) defer.push(this.#deferred({ ...change, record }));
      if (collection !== "resource" || deferred?.has(change)) continue;
      const before = this.#namespace.get("resource", key);
      const item = record === undefined ? undefined : this.#resource(record);
      if (item !== undefined) put.push(registrationOf(item));
      else if (record === undefined) remove.push({ kind: "resource", key });
      if (item !== undefined && before !== undefined) updated.push(key);
    }
    const { catalog, emit } = this.#host;
    if (!emits) {
      catalog.fill(this.#namespace, { put, defer, remove });
      return;
    }
    catalog.change(this.#namespace, { put, defer, remove });
    const of = { namespace: userNamespace, ...present({ principal: this.#namespace.principal }) };
    for (const uri of updated) emit({ type: "resourceUpdated", uri, ...of });
  }

  #resource(record: StoredRecord): Resource | undefined {
    return this.#attempt(idOf(changeOf(record)), () => {
      const item = storedResource(record, (options) => this.#host.read(record.key, options));
      // Made now: what JSON cannot hold throws here, where it harms this item only.
      void readDefinition(item, "local").fingerprint;
      return item;
    });
  }

  /** The texts of the prompts and partials among the changes. One that cannot be read is left out and noted. */
  #texts(changes: readonly ItemChange[]): TextChanges {
    const texts = new Map<string, string | undefined>();
    for (const { collection, key, record } of changes) {
      const id = idOf({ collection, key });
      this.#unreadable.delete(id);
      if (collection !== "prompt") continue;
      this.#attempt(id, () => texts.set(key, record === undefined ? undefined : promptText(record)));
    }
    return texts;
  }

  /** Runs something for one item. An error is noted as a failure of that item. */
  #attempt<T>(id: string, run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
      this.#fail(id, error);
      return undefined;
    }
  }

  /** Notes the prompts whose text cannot be read, and forgets those that can be again. */
  #noteBroken(): void {
    const broken = new Map(
      [...this.prompts.broken].map(([key, error]) => [idOf({ collection: "prompt", key }), error]),
    );
    for (const [id, { error }] of this.#unreadable)
      if (id.startsWith("prompt ") && !broken.has(id) && !ToolkitError.is(error, "STORE_FAILED"))
        this.#unreadable.delete(id);
    for (const [id, error] of broken) this.#fail(id, error);
  }

  #fail(id: string, error: ToolkitError): void {
    if (this.#unreadable.get(id)?.error.message === error.message) return;
    this.#unreadable.set(id, { namespace: userNamespace, error, since: this.#host.now() });
  }
}

function failureId({ collection, key }: RecordFailure): string {
  return idOf({ collection: collection as UserCollection, key });
}

function registrationOf(item: Item): Registration;
function registrationOf(item: Item | undefined): Registration | undefined;
function registrationOf(item: Item | undefined): Registration | undefined {
  return item && { definition: readDefinition(item, "local"), item };
}

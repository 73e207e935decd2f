import type { Catalog } from "../catalog/catalog.ts";
import type { Namespace, NamespaceChange, Registration } from "../catalog/namespace.ts";
import { readDefinition } from "../core/definition.ts";
import { ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { userNamespace } from "../core/identifier.ts";
import type { Item, ListFailure } from "../core/item.ts";
import { setOwner } from "../core/outer-call.ts";
import type { ReadPromptLimits } from "../core/prompt-limits.ts";
import type { Content, ReadOptions, Resource } from "../core/resource.ts";
import type { RecordFailure, RecordList, StoredRecord } from "../core/store.ts";
import { present } from "../lib/value.ts";
import { changeOf, type ItemChange, ItemVersions } from "./item-changes.ts";
import { idOf, type UserCollection } from "./item-key.ts";
import { PromptCache, type Revision, type TextChanges } from "./prompt-cache.ts";
import { promptText, storedResource } from "./stored-item.ts";

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

/** The items of one owner in memory, which its namespace shows. */
export class UserItems {
  readonly prompts: PromptCache;
  readonly #versions = new ItemVersions();
  readonly #namespace: Namespace;
  readonly #host: ItemsHost;
  /** The records that cannot be read, by id. An item that was readable before stays as it was. */
  readonly #unreadable = new Map<string, ListFailure>();

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
    this.#commit(newer, prompts, true);
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
    this.#unreadable.clear();
    for (const failure of failures) this.#fail(failureId(failure), failure.error);
    for (let repeats = 0; ; repeats++) {
      const newer = found.filter((change) => this.isNewer(change));
      const texts = this.#texts(newer);
      const revision = repeats < maxRepeats ? await this.prompts.reviseAll(texts) : this.prompts.revise(texts);
      // A write of this process may have been faster: it must not be undone.
      if (!this.prompts.isCurrent(revision)) continue;
      const current = newer.filter((change) => this.isNewer(change));
      return this.#commit(current, this.#commitPrompts(revision), emits);
    }
  }

  #commitPrompts(revision: Revision): NamespaceChange {
    const { put, removed } = this.prompts.commit(revision);
    this.#noteBroken();
    const { principal } = this.#namespace;
    if (principal !== undefined) for (const prompt of put) setOwner(prompt, principal);
    return { put: put.map(registrationOf), remove: removed.map((key) => ({ kind: "prompt", key })) };
  }

  #commit(changes: readonly ItemChange[], prompts: NamespaceChange, emits: boolean): void {
    const put = [...(prompts.put ?? [])];
    const remove = [...(prompts.remove ?? [])];
    const updated: string[] = [];
    for (const change of changes) {
      const { collection, key, record } = change;
      this.#versions.note(change);
      if (collection !== "resource") continue;
      const before = this.#namespace.get("resource", key);
      const item = record === undefined ? undefined : this.#resource(record);
      if (item !== undefined) put.push(registrationOf(item));
      else if (record === undefined) remove.push({ kind: "resource", key });
      if (item !== undefined && before !== undefined) updated.push(key);
    }
    const { catalog, emit } = this.#host;
    if (!emits) {
      catalog.fill(this.#namespace, { put, remove });
      return;
    }
    catalog.change(this.#namespace, { put, remove });
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

function registrationOf(item: Item): Registration {
  return { definition: readDefinition(item, "local"), item };
}

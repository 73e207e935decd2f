import { refOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import { userNamespace } from "../core/identifier.ts";
import { shown } from "../core/options.ts";
import { isResource, type Resource } from "../core/resource.ts";
import type { Quota, RecordDraft, Store, StoredRecord } from "../core/store.ts";
import type {
  PutPromptOptions,
  UserExportReport,
  UserGetOptions,
  UserImportOptions,
  UserImportReport,
  UserLimits,
  UserNamespace,
  UserOptions,
  UserPrompt,
  UserResource,
  UserVersion,
  UserWriteOptions,
} from "../core/user.ts";
import { nearest } from "../lib/similar.ts";
import { loadResource } from "../resource/handle.ts";
import { exportFolder } from "./folder/export-folder.ts";
import { importFolder } from "./folder/import-folder.ts";
import { changeOf, type ItemKey, type UserCollection } from "./item-change.ts";
import { noUser } from "./no-store.ts";
import { isPartialKey } from "./prompt-cache.ts";
import { promptText } from "./prompt-text.ts";
import { storedContent, storedForm } from "./stored-resource.ts";
import { assertPromptKey, assertStorableUri, itemKey } from "./user-key.ts";
import type { UserStore } from "./user-store.ts";
import type { UserStores } from "./user-stores.ts";

/** What the namespace is made with. */
export interface UserNamespaceOptions {
  readonly limits: UserLimits;
  assertOpen(): void;
}

interface StoredUserOptions extends UserNamespaceOptions {
  readonly spaces: UserStores;
}

/** The namespace `user`, as it is changed; without spaces nothing keeps it. */
export function openUserNamespace(spaces: UserStores | undefined, options: UserNamespaceOptions): UserNamespace {
  return spaces === undefined ? noUser(options.assertOpen) : new StoredUser({ ...options, spaces });
}

/** The namespace `user` of a store, as it is changed. */
class StoredUser implements UserNamespace {
  readonly #options: StoredUserOptions;
  readonly #store: Store;
  readonly #quota: Quota;

  constructor(options: StoredUserOptions) {
    this.#options = options;
    this.#store = options.spaces.store;
    const { maxItems: items, maxItemBytes: itemBytes, maxBytes: bytes } = options.limits;
    this.#quota = { collections: ["prompt", "resource"], items, itemBytes, bytes };
  }

  async putPrompt(markdown: string, options: PutPromptOptions = {}): Promise<UserVersion> {
    return this.#within(options, async (space) => {
      if (typeof markdown !== "string") throw invalid("markdown", `must be a text, and is ${shown(markdown)}`);
      assertSize(Buffer.byteLength(markdown), this.#options.limits);
      const key = this.#nameOf(space, markdown, options.name);
      assertWhole(space, key, markdown);
      return this.#put(space, { collection: "prompt", owner: space.owner, key, value: { text: markdown } }, options);
    });
  }

  async putResource(resource: Resource, options: UserWriteOptions = {}): Promise<UserVersion> {
    return this.#within(options, async (space) => {
      if (!isResource(resource))
        throw invalid("resource", "must be a Resource, made with resource.* or defineResource");
      const { uri: key } = resource;
      assertStorableUri(key);
      const content = await loadResource(resource, options);
      return this.#put(
        space,
        { collection: "resource", owner: space.owner, key, ...(await storedForm(content)) },
        options,
      );
    });
  }

  async get(key: string, options: UserGetOptions = {}): Promise<UserPrompt | UserResource> {
    return this.#within(options, async (space) => itemOf(await this.#stored(space, itemKey(key), options)));
  }

  async history(key: string, options: UserOptions = {}): Promise<readonly UserVersion[]> {
    return this.#within(options, async (space) => {
      const named = itemKey(key);
      const { signal } = options;
      const { records } = await this.#store.history({ ...named, owner: space.owner }, { signal });
      if (records.length === 0) throw notFound(space, named);
      return Object.freeze(records.map(versionOf));
    });
  }

  async restore(key: string, version: number, options: UserWriteOptions = {}): Promise<UserVersion> {
    return this.#within(options, async (space) => {
      if (!Number.isSafeInteger(version) || version < 1)
        throw invalid("version", `must be a whole number from 1, and is ${shown(version)}`);
      const record = await this.#stored(space, itemKey(key), { ...options, version });
      const { collection, owner, value, bytes } = record;
      if (collection === "prompt") assertWhole(space, record.key, promptText(record));
      return this.#put(space, { collection, owner, key: record.key, value, bytes }, options);
    });
  }

  async remove(key: string, options: UserWriteOptions = {}): Promise<void> {
    return this.#within(options, async (space) => {
      const named = itemKey(key);
      if (named.collection === "prompt") assertUnused(space, named.key);
      const { expectedVersion, signal } = options;
      const version = await this.#store.delete({ ...named, owner: space.owner }, { expectedVersion, signal });
      if (version === undefined) throw notFound(space, named);
      space.items.take([{ ...named, version }]);
    });
  }

  async export(folder: string | URL, options: UserOptions = {}): Promise<UserExportReport> {
    return this.#within(options, (space) =>
      exportFolder(folder, { store: this.#store, owner: space.owner, signal: options.signal }),
    );
  }

  async import(folder: string | URL, options: UserImportOptions = {}): Promise<UserImportReport> {
    return this.#within(options, (space) => {
      const { signal, prune = false } = options;
      const { owner, items } = space;
      return importFolder(folder, { store: this.#store, owner, items, quota: this.#quota, signal, prune });
    });
  }

  /** Runs something for an owner whose items are in memory, and stay there until it has. */
  async #within<T>(options: UserOptions, run: (space: UserStore) => Promise<T>): Promise<T> {
    const { assertOpen, spaces } = this.#options;
    assertOpen();
    const { principal = "" } = options.session ?? {};
    const release = spaces.keep(principal);
    try {
      const space = spaces.of(principal);
      await space.ready(options.signal);
      return await run(space);
    } finally {
      release();
    }
  }

  async #put(space: UserStore, draft: RecordDraft, options: UserWriteOptions): Promise<UserVersion> {
    const { expectedVersion, signal } = options;
    const record = await this.#store.put(draft, { expectedVersion, signal, quota: this.#quota });
    space.items.take([changeOf(record)]);
    return versionOf(record);
  }

  async #stored(space: UserStore, named: ItemKey, { version, signal }: UserGetOptions): Promise<StoredRecord> {
    const record = await this.#store.get({ ...named, owner: space.owner }, { version, signal });
    if (record === undefined) throw notFound(space, named, version);
    return record;
  }

  #nameOf(space: UserStore, markdown: string, name: string | undefined): string {
    if (name !== undefined) assertPromptKey(name);
    if (name !== undefined && isPartialKey(name)) return name;
    const { name: own } = space.items.shelf.parse(markdown, name);
    if (name === undefined || name === own) return own;
    throw invalid("name", `is ${shown(name)}, and the front matter says ${shown(own)}: leave one of them out`);
  }
}

/** Refuses what is wrong, or would break what uses it. @throws ToolkitError */
function assertWhole({ items }: UserStore, key: string, text: string): void {
  const [broken] = items.shelf.problems(items.shelf.revise(new Map([[key, text]])));
  if (broken === undefined) return;
  if (broken.key === key) throw broken.error;
  const { message, details } = broken.error;
  const why = `${key}.md: The prompt "${broken.key}" uses it as a partial and would break: ${message}`;
  throw new ToolkitError("INVALID_PROMPT", why, { ...details, file: `${key}.md` }, { cause: broken.error });
}

function assertUnused({ items }: UserStore, key: string): void {
  const [broken] = items.shelf.problems(items.shelf.revise(new Map([[key, undefined]])));
  if (broken === undefined) return;
  const owner = refOf("prompt", userNamespace, broken.key);
  const message = `${refOf("prompt", userNamespace, key)} cannot be removed: ${owner} uses it as a partial. Change or remove that first.`;
  throw new ToolkitError("CONFLICT", message, { key, owners: [owner] }, { cause: broken.error });
}

function assertSize(actual: number, { maxItemBytes: max }: UserLimits): void {
  if (actual <= max) return;
  const message = `The prompt has ${actual} bytes, and ${max} are allowed. Shorten it, or raise user.maxItemBytes.`;
  throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "itemBytes", max, actual });
}

function versionOf({ collection, key, version, updatedAt }: StoredRecord): UserVersion {
  const kind = collection as UserCollection;
  return Object.freeze({ kind, ref: refOf(kind, userNamespace, key), version, updatedAt });
}

function itemOf(record: StoredRecord): UserPrompt | UserResource {
  const about = versionOf(record);
  return about.kind === "prompt"
    ? Object.freeze({ ...about, kind: "prompt", markdown: promptText(record) })
    : Object.freeze({ ...about, kind: "resource", content: storedContent(record) });
}

function notFound({ namespace }: UserStore, { collection, key }: ItemKey, version?: number): ToolkitError<"NOT_FOUND"> {
  const suggestions = nearest(
    key,
    namespace.entries(collection).map(({ ref }) => ref),
    3,
  );
  const what = version === undefined ? "" : `version ${version} of a `;
  const near = version === undefined && suggestions.length > 0 ? ` Did you mean ${suggestions.join(", ")}?` : "";
  const message = `There is no ${what}${collection} ${JSON.stringify(key)} in user.${near}`;
  return new ToolkitError("NOT_FOUND", message, { key, suggestions });
}

function invalid(what: string, message: string): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", `The ${what} ${message}.`, { issues: [{ pointer: `/${what}`, message }] });
}

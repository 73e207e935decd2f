import { refOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import type { ErrorDetails } from "../core/error-catalog.ts";
import { userNamespace } from "../core/identifier.ts";
import { assertOptionNames, type OptionNames, shown } from "../core/options.ts";
import type { ReadPromptLimits } from "../core/prompt-limits.ts";
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
import { nearest, orDidYouMean } from "../lib/similar.ts";
import { loadResource } from "../resource/handle.ts";
import { exportFolder } from "./folder/export-folder.ts";
import { importFolder } from "./folder/import-folder.ts";
import { changeOf } from "./item-changes.ts";
import { assertPromptKey, assertStorableUri, type ItemKey, isPartialKey, parseItemKey } from "./item-key.ts";
import { type PromptCache, promptNameOf, type Revision } from "./prompt-cache.ts";
import { itemOf, promptDraft, promptText, resourceDraft, versionOf } from "./stored-item.ts";
import type { UserStore } from "./user-store.ts";
import type { UserStores } from "./user-stores.ts";

/** Options of the namespace `user`. */
export interface UserNamespaceOptions {
  readonly limits: UserLimits;
  readonly promptLimits: ReadPromptLimits;
  /** @throws ToolkitError `CLOSED` */
  assertOpen(): void;
}

const userNames: OptionNames<UserOptions> = { session: true, signal: true };
const writeNames: OptionNames<UserWriteOptions> = { ...userNames, expectedVersion: true };
const optionNames = {
  putPrompt: { ...writeNames, name: true } satisfies OptionNames<PutPromptOptions>,
  putResource: writeNames,
  get: { ...userNames, version: true } satisfies OptionNames<UserGetOptions>,
  history: userNames,
  restore: writeNames,
  remove: writeNames,
  export: userNames,
  import: { ...userNames, prune: true } satisfies OptionNames<UserImportOptions>,
};

/** The methods of the namespace `user`; without stores each of them rejects with `NO_STORE`. */
export function openUserNamespace(stores: UserStores | undefined, options: UserNamespaceOptions): UserNamespace {
  return stores === undefined ? noStore(options.assertOpen) : new StoredUserNamespace(stores, options);
}

function noStore(assertOpen: () => void): UserNamespace {
  const reject = (operation: string) => async (): Promise<never> => {
    assertOpen();
    const message = `The toolkit has no store, so user.${operation} does nothing. Give it one, such as new Toolkit({ store: memoryStore() }).`;
    throw new ToolkitError("NO_STORE", message, { operation });
  };
  return {
    putPrompt: reject("putPrompt"),
    putResource: reject("putResource"),
    get: reject("get"),
    history: reject("history"),
    restore: reject("restore"),
    remove: reject("remove"),
    export: reject("export"),
    import: reject("import"),
  };
}

/** The methods of the namespace `user`: each checks, writes to the store, and applies the change to the items in memory. */
class StoredUserNamespace implements UserNamespace {
  readonly #options: UserNamespaceOptions;
  readonly #stores: UserStores;
  readonly #store: Store;
  readonly #quota: Quota;

  constructor(stores: UserStores, options: UserNamespaceOptions) {
    this.#options = options;
    this.#stores = stores;
    this.#store = stores.store;
    const { maxItems: items, maxItemBytes: itemBytes, maxBytes: bytes } = options.limits;
    this.#quota = { collections: ["prompt", "resource"], items, itemBytes, bytes };
  }

  async putPrompt(markdown: string, options: PutPromptOptions = {}): Promise<UserVersion> {
    return this.#within(options, "putPrompt", async ({ owner, items }) => {
      if (typeof markdown !== "string") throw invalid("markdown", `must be a text, and is ${shown(markdown)}`);
      assertSize(Buffer.byteLength(markdown), this.#options.limits);
      const key = keyOf(markdown, options.name, this.#options.promptLimits);
      const revision = revisionOf(items.prompts, key, markdown);
      const record = await this.#put(promptDraft(owner, key, markdown), options);
      items.apply([changeOf(record)], revision);
      return versionOf(record);
    });
  }

  async putResource(resource: Resource, options: UserWriteOptions = {}): Promise<UserVersion> {
    return this.#within(options, "putResource", async ({ owner, items }) => {
      if (!isResource(resource))
        throw invalid("resource", "must be a Resource, made with resource.* or defineResource");
      const { uri } = resource;
      assertStorableUri(uri);
      const record = await this.#put(await resourceDraft(owner, uri, await loadResource(resource, options)), options);
      items.apply([changeOf(record)]);
      return versionOf(record);
    });
  }

  async get(key: string, options: UserGetOptions = {}): Promise<UserPrompt | UserResource> {
    return this.#alone(options, "get", async (user) => itemOf(await this.#get(user, parseItemKey(key), options)));
  }

  async history(key: string, options: UserOptions = {}): Promise<readonly UserVersion[]> {
    return this.#alone(options, "history", async (user) => {
      const item = parseItemKey(key);
      const { signal } = options;
      const { records } = await this.#store.history({ ...item, owner: user.owner }, { signal });
      if (records.length === 0) throw await notFound(user, item, options);
      return Object.freeze(records.map(versionOf));
    });
  }

  async restore(key: string, version: number, options: UserWriteOptions = {}): Promise<UserVersion> {
    return this.#within(options, "restore", async (user) => {
      if (!Number.isSafeInteger(version) || version < 1)
        throw invalid("version", `must be a whole number from 1, and is ${shown(version)}`);
      const item = parseItemKey(key);
      const past = await this.#get(user, item, { ...options, version });
      const { prompts } = user.items;
      const revision = item.collection === "prompt" ? revisionOf(prompts, item.key, promptText(past)) : undefined;
      const { collection, owner, value, bytes } = past;
      const record = await this.#put({ collection, owner, key: past.key, value, bytes }, options);
      user.items.apply([changeOf(record)], revision);
      return versionOf(record);
    });
  }

  async remove(key: string, options: UserWriteOptions = {}): Promise<void> {
    return this.#within(options, "remove", async (user) => {
      const item = parseItemKey(key);
      const revision = item.collection === "prompt" ? removalOf(user.items.prompts, item.key) : undefined;
      const { expectedVersion, signal } = options;
      const version = await this.#store.delete({ ...item, owner: user.owner }, { expectedVersion, signal });
      if (version === undefined) throw await notFound(user, item, options);
      user.items.apply([{ ...item, version }], revision);
    });
  }

  async export(folder: string | URL, options: UserOptions = {}): Promise<UserExportReport> {
    return this.#alone(options, "export", ({ owner }) =>
      exportFolder(folder, { store: this.#store, owner, signal: options.signal }),
    );
  }

  async import(folder: string | URL, options: UserImportOptions = {}): Promise<UserImportReport> {
    return this.#within(options, "import", ({ owner, items }) => {
      const { signal, prune = false } = options;
      const { promptLimits, limits } = this.#options;
      const { maxItemBytes } = limits;
      const parts = { store: this.#store, owner, items, promptLimits, maxItemBytes, quota: this.#quota };
      return importFolder(folder, { ...parts, signal, prune });
    });
  }

  /** Runs an operation for the principal of the session, whose items are in memory meanwhile. */
  #within<T>(options: UserOptions, method: keyof typeof optionNames, run: (user: UserStore) => Promise<T>): Promise<T> {
    return this.#alone(options, method, async (user) => {
      await user.ready(options.signal);
      return run(user);
    });
  }

  /** Runs an operation for the principal of the session that needs no other of its items. */
  async #alone<T>(
    options: UserOptions,
    method: keyof typeof optionNames,
    run: (user: UserStore) => Promise<T>,
  ): Promise<T> {
    this.#options.assertOpen();
    assertOptionNames(options, optionNames[method], `of user.${method}`);
    const { principal = "" } = options.session ?? {};
    const unpin = this.#stores.pin(principal);
    try {
      return await run(this.#stores.of(principal));
    } finally {
      unpin();
    }
  }

  #put(draft: RecordDraft, { expectedVersion, signal }: UserWriteOptions): Promise<StoredRecord> {
    return this.#store.put(draft, { expectedVersion, signal, quota: this.#quota });
  }

  async #get(user: UserStore, item: ItemKey, { version, signal }: UserGetOptions): Promise<StoredRecord> {
    const record = await this.#store.get({ ...item, owner: user.owner }, { version, signal });
    if (record === undefined) throw await notFound(user, item, { version, signal });
    return record;
  }
}

/** The key of a prompt: its name, which is given or in its front matter. */
function keyOf(markdown: string, name: string | undefined, limits: ReadPromptLimits): string {
  if (name !== undefined) assertPromptKey(name);
  if (name !== undefined && isPartialKey(name)) return name;
  const own = promptNameOf(markdown, name === undefined ? undefined : `${name}.md`, limits);
  if (name === undefined || name === own) return own;
  throw invalid("name", `is ${shown(name)}, and the front matter says ${shown(own)}: leave one of them out`);
}

/** The revision of a text that is put. @throws ToolkitError where it is wrong, or breaks a prompt that uses it */
function revisionOf(prompts: PromptCache, key: string, text: string): Revision {
  const revision = prompts.revise(new Map([[key, text]]));
  const [broken] = prompts.problems(revision);
  if (broken === undefined) return revision;
  if (broken.key === key) throw broken.error;
  const { message, details } = broken.error;
  const why = `${key}.md: The prompt "${broken.key}" uses it as a partial and would break: ${message}`;
  throw new ToolkitError(
    "INVALID_PROMPT",
    why,
    { ...(details as ErrorDetails["INVALID_PROMPT"]), file: `${key}.md` },
    { cause: broken.error },
  );
}

/** The revision of a text that is removed. @throws ToolkitError `CONFLICT` where a prompt uses it */
function removalOf(prompts: PromptCache, key: string): Revision {
  const revision = prompts.revise(new Map([[key, undefined]]));
  const [broken] = prompts.problems(revision);
  if (broken === undefined) return revision;
  const owner = refOf("prompt", userNamespace, broken.key);
  const message = `${refOf("prompt", userNamespace, key)} cannot be removed: ${owner} uses it as a partial. Change or remove that first.`;
  throw new ToolkitError("CONFLICT", message, { key, owners: [owner] }, { cause: broken.error });
}

function assertSize(actual: number, { maxItemBytes: max }: UserLimits): void {
  if (actual <= max) return;
  const message = `The prompt has ${actual} bytes, and ${max} are allowed. Shorten it, or raise user.maxItemBytes.`;
  throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "itemBytes", max, actual });
}

/** The error for an item that is not there. It names near matches, as far as the store gives them. */
async function notFound(
  user: UserStore,
  { collection, key }: ItemKey,
  { version, signal }: Pick<UserGetOptions, "version" | "signal">,
): Promise<ToolkitError<"NOT_FOUND">> {
  await user.ready(signal).catch(() => signal?.throwIfAborted());
  const refs = user.namespace.sorted(collection).map(({ ref }) => ref);
  const suggestions = nearest(key, refs);
  const what = version === undefined ? "" : `version ${version} of a `;
  const near = version === undefined ? orDidYouMean(suggestions) : "";
  const message = `There is no ${what}${collection} ${JSON.stringify(key)} in user.${near}`;
  return new ToolkitError("NOT_FOUND", message, { key, suggestions });
}

function invalid(what: string, message: string): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", `The ${what} ${message}.`, { issues: [{ pointer: `/${what}`, message }] });
}

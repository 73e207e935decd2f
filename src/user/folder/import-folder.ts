import { refOf } from "../../core/entry.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { userNamespace } from "../../core/identifier.ts";
import type { Quota, RecordDraft, Store, StoredRecord } from "../../core/store.ts";
import type { UserImportReport } from "../../core/user.ts";
import { changeOf, type ItemChange } from "../item-changes.ts";
import { isPartialKey, type UserCollection } from "../item-key.ts";
import { promptDraft, resourceDraft } from "../stored-item.ts";
import type { UserItems } from "../user-items.ts";
import { FolderFiles } from "./folder-files.ts";
import { type FolderLimits, type ReadFolder, readFolder } from "./read-folder.ts";

/** Target and options of an import. */
export interface ImportOptions extends FolderLimits {
  readonly store: Store;
  readonly owner: string;
  readonly items: UserItems;
  readonly quota: Quota;
  readonly prune: boolean;
  readonly signal: AbortSignal | undefined;
}

/** One change of an import: a draft that is put, or removed, and the record that it replaces. */
interface Step {
  readonly draft: RecordDraft;
  readonly remove: boolean;
  readonly before: StoredRecord | undefined;
}

/** Puts the items of a folder. See `UserNamespace.import`. */
export async function importFolder(folder: string | URL, options: ImportOptions): Promise<UserImportReport> {
  const found = await readFolder(new FolderFiles(folder), options);
  const drafts = await draftsOf(found, options);
  const gone = options.prune ? await missing(drafts, options) : [];
  if (drafts.length === 0 && gone.length > 0) throw wouldEmpty(String(folder), gone.length);
  assertWhole(String(folder), found, gone, options);
  const steps: Step[] = [];
  const unchanged: string[] = [];
  // Removals first: they make room in the quota.
  for (const draft of gone) steps.push({ draft, remove: true, before: await current(draft, options) });
  for (const draft of drafts) {
    const before = await current(draft, options);
    if (before !== undefined && isSame(before, draft)) unchanged.push(refOfDraft(draft));
    else steps.push({ draft, remove: false, before });
  }
  const changes = await performAll(steps, options);
  options.items.apply(changes);
  const refs = (fits: (step: Step) => boolean) =>
    Object.freeze(steps.filter(fits).map(({ draft }) => refOfDraft(draft)));
  return Object.freeze({
    added: refs(({ remove, before }) => !remove && before === undefined),
    changed: refs(({ remove, before }) => !remove && before !== undefined),
    unchanged: Object.freeze(unchanged),
    removed: refs(({ remove }) => remove),
    ignored: Object.freeze([...found.ignored]),
  });
}

/** An empty folder is more likely a wrong path than a wish to remove everything. */
function wouldEmpty(folder: string, count: number): ToolkitError<"INVALID_INPUT"> {
  const message = `${folder} has nothing to import, and with prune all ${count} items would be removed`;
  const advice = "Is it the right folder? Items can also be removed one by one.";
  return new ToolkitError("INVALID_INPUT", `${message}. ${advice}`, { issues: [{ pointer: "/prune", message }] });
}

/** The records to be put. Partials first, so that no process reads a prompt without them. */
async function draftsOf({ texts, contents }: ReadFolder, { owner }: ImportOptions): Promise<readonly RecordDraft[]> {
  const prompts = [...texts].map(([key, text]) => promptDraft(owner, key, text));
  const resources: RecordDraft[] = [];
  for (const [uri, content] of contents) resources.push(await resourceDraft(owner, uri, content));
  const isPartial = ({ key }: RecordDraft) => isPartialKey(key);
  return [...prompts.filter(isPartial), ...prompts.filter((draft) => !isPartial(draft)), ...resources];
}

async function missing(
  drafts: readonly RecordDraft[],
  { store, owner, signal }: ImportOptions,
): Promise<readonly RecordDraft[]> {
  const wanted = new Set(drafts.map(({ collection, key }) => `${collection} ${key}`));
  const lists = await Promise.all(
    (["prompt", "resource"] as const).map((collection) => store.list({ collection, owner }, { signal })),
  );
  return lists.flatMap(({ records }) => records).filter(({ collection, key }) => !wanted.has(`${collection} ${key}`));
}

/** @throws ToolkitError with all that is wrong */
function assertWhole(folder: string, found: ReadFolder, gone: readonly RecordDraft[], { items }: ImportOptions): void {
  const removed = gone.flatMap(({ collection, key }) => (collection === "prompt" ? [[key, undefined] as const] : []));
  const { prompts } = items;
  const broken = prompts.problems(prompts.revise(new Map([...found.texts, ...removed])));
  const problems = [...found.problems, ...broken.map(({ error }) => error)];
  const [first] = problems;
  if (first === undefined) return;
  if (problems.length === 1) throw first;
  const lines = problems.map(({ message }) => `\n- ${message}`).join("");
  const message = `${problems.length} things are wrong in ${folder}; nothing was stored:${lines}`;
  throw new ToolkitError("INVALID_PROMPT", message, { file: folder }, { cause: new AggregateError(problems, message) });
}

function current({ collection, owner, key }: RecordDraft, { store, signal }: ImportOptions) {
  return store.get({ collection, owner, key }, { signal });
}

function isSame(before: StoredRecord, { value, bytes }: RecordDraft): boolean {
  // After a round trip through JSON, as the value in the store.
  if (!process.getBuiltinModule("node:util").isDeepStrictEqual(before.value, JSON.parse(JSON.stringify(value))))
    return false;
  return Buffer.compare(before.bytes ?? new Uint8Array(), bytes ?? new Uint8Array()) === 0;
}

/** Makes all changes, or rolls back those made. */
async function performAll(steps: readonly Step[], options: ImportOptions): Promise<readonly ItemChange[]> {
  const done: { readonly step: Step; readonly change: ItemChange }[] = [];
  try {
    for (const step of steps) done.push({ step, change: await perform(step, options) });
  } catch (error) {
    const left = await rollBack(done.reverse(), options);
    if (left.length === 0 || !ToolkitError.is(error)) throw error;
    const message = `${error.message} Some changes could not be rolled back: ${left.join("; ")}.`;
    throw new ToolkitError(error.code, message, error.details, { cause: error });
  }
  return done.map(({ change }) => change);
}

async function perform({ draft, remove, before }: Step, { store, quota, signal }: ImportOptions): Promise<ItemChange> {
  const expectedVersion = before?.version ?? 0;
  if (!remove) return changeOf(await store.put(draft, { expectedVersion, quota, signal }));
  const version = await store.delete(draft, { expectedVersion, signal });
  return { collection: draft.collection as UserCollection, key: draft.key, version: version ?? expectedVersion + 1 };
}

/** Puts back the records that were replaced. Returns those that could not be. */
async function rollBack(
  done: readonly { readonly step: Step; readonly change: ItemChange }[],
  { store, items }: ImportOptions,
): Promise<readonly string[]> {
  const left: string[] = [];
  const changes: ItemChange[] = [];
  for (const { step, change } of done) {
    const { draft, before, remove } = step;
    try {
      const expectedVersion = remove ? 0 : change.version;
      if (before !== undefined)
        changes.push(changeOf(await store.put({ ...draft, ...kept(before) }, { expectedVersion })));
      else {
        const version = await store.delete(draft, { expectedVersion });
        if (version !== undefined) changes.push({ ...change, version, record: undefined });
      }
    } catch (error) {
      left.push(`${refOfDraft(draft)} (${messageOf(error)})`);
    }
  }
  items.apply(changes);
  return left;
}

function kept({ value, bytes }: StoredRecord): Pick<RecordDraft, "value" | "bytes"> {
  return { value, bytes };
}

function refOfDraft({ collection, key }: RecordDraft): string {
  return refOf(collection as UserCollection, userNamespace, key);
}

import { ToolkitError } from "../core/error.ts";
import { invalidOption, shown } from "../core/options.ts";
import type { Collection, Quota, RecordKey } from "../core/store.ts";
import { assertCollection, nameOf, type ReadDraft } from "./record.ts";

/** The default number of past versions kept of a record. */
const defaultKeepVersions = 20;

/** @throws ToolkitError `INVALID_CONFIG` */
export function readKeepVersions(keepVersions: number = defaultKeepVersions): number {
  if (Number.isSafeInteger(keepVersions) && keepVersions >= 0) return keepVersions;
  throw invalidOption("keepVersions", "a whole number from 0", keepVersions, "of a store");
}

/**
 * The past versions of removed records that an owner keeps in a collection: of so many records, the last removed ones, and of no more once
 * those have so many bytes. They count for no quota, and each removed name may be another.
 */
export const keptOfRemoved = { records: 100, bytes: 32 * 2 ** 20 } as const;

/** The usage of an owner, without the record that is written. */
export interface Usage {
  readonly items: number;
  readonly bytes: number;
}

/** True where what is used already matters. */
export function needsUsage(quota: Quota | undefined): quota is Quota {
  return quota?.items !== undefined || quota?.bytes !== undefined;
}

/** The collections that count together. @throws ToolkitError `INVALID_INPUT` */
export function countedCollections(draft: RecordKey, { collections }: Quota): readonly Collection[] {
  if (collections === undefined) return [draft.collection];
  collections.forEach(assertCollection);
  return collections;
}

/**
 * Holds a write against a quota.
 *
 * @param usage - what the owner has besides; it matters only where `needsUsage`
 * @throws ToolkitError `LIMIT_EXCEEDED`, naming the field of the quota
 */
export function assertQuota(draft: ReadDraft, { items, itemBytes, bytes }: Quota, usage: Usage): void {
  const wanted = [
    ["itemBytes", draft.totalBytes, itemBytes],
    ["items", usage.items + 1, items],
    ["bytes", usage.bytes + draft.totalBytes, bytes],
  ] as const;
  for (const [limit, actual, max] of wanted) {
    if (max === undefined || actual <= max) continue;
    const whose = draft.owner === "" ? "" : ` of ${JSON.stringify(draft.owner)}`;
    const message = `The ${nameOf(draft)} was not stored: the quota ${limit}${whose} is ${max}, and it would be ${actual}. Delete something, or raise it.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit, max, actual });
  }
}

/**
 * Holds a write against the version it expects.
 *
 * @param found - the version that is there; 0 for none
 * @throws ToolkitError `CONFLICT`, `INVALID_INPUT` for what is no version
 */
export function assertVersion(named: RecordKey, expected: number | undefined, found: number): void {
  if (expected === undefined || expected === found) return;
  assertExpectedVersion(named, expected);
  const is = found === 0 ? "is not there" : `has version ${found}`;
  const wanted = expected === 0 ? "none was expected" : `version ${expected} was expected`;
  const message = `The ${nameOf(named)} ${is}, and ${wanted}. Read it again, and change what is there now.`;
  throw new ToolkitError("CONFLICT", message, { key: named.key, owners: [], version: found });
}

/** @throws ToolkitError `INVALID_INPUT` for what is no version */
export function assertExpectedVersion(named: RecordKey, expected: number | undefined): void {
  if (expected === undefined || (Number.isSafeInteger(expected) && expected >= 0)) return;
  const message = `must be a whole number from 0, and is ${shown(expected)}`;
  const issues = [{ pointer: "/expectedVersion", message }];
  throw new ToolkitError("INVALID_INPUT", `The expected version of the ${nameOf(named)} ${message}.`, { issues });
}

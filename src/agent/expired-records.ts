import { ToolkitError } from "../core/error.ts";
import type { Collection, Store, StoredRecord } from "../core/store.ts";
import type { Clock } from "../lib/clock.ts";
import { isRecord } from "../lib/value.ts";

/** The time of the last sweep, by collection. */
const sweeps = new WeakMap<Store, Map<Collection, number>>();

/** True for a record whose time is over, by `expiresAt` of its value in milliseconds since the epoch. Without one it does not expire. */
export function isExpired({ value }: StoredRecord, clock: Clock): boolean {
  return isRecord(value) && typeof value.expiresAt === "number" && value.expiresAt <= clock.now();
}

/**
 * Deletes the records of a collection that have expired, of all owners, at most ten times in `keepMs`. One that was changed meanwhile stays.
 *
 * @param isHeld - true for a record that is needed though its time is over
 */
export async function sweepExpired(
  store: Store,
  collection: Collection,
  { clock, keepMs }: { readonly clock: Clock; readonly keepMs: number },
  isHeld: (record: StoredRecord) => Promise<boolean> = async () => false,
): Promise<void> {
  const times = sweeps.get(store) ?? new Map<Collection, number>();
  sweeps.set(store, times);
  const before = times.get(collection);
  if (before !== undefined && clock.now() - before < keepMs / 10) return;
  times.set(collection, clock.now());
  const { records } = await store.list({ collection });
  for (const record of records) {
    if (!isExpired(record, clock) || (await isHeld(record))) continue;
    await store.delete(record, { expectedVersion: record.version }).catch((error: unknown) => {
      if (!ToolkitError.is(error, "CONFLICT")) throw error;
    });
  }
}

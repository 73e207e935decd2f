import type { Collection, RecordKey } from "../../core/store.ts";

/** The notification of a change to other processes: names alone, as PostgreSQL carries less than 8,000 bytes. */
export interface Notice extends RecordKey {
  readonly version: number;
  readonly deleted: boolean;
  /** Which store it was, and its how manieth write. */
  readonly writer: string;
  readonly write: number;
}

/** The notice but for its version, which PostgreSQL puts in front. Nothing is escaped, so that it is never much longer than the names. */
export function noticeText({ collection, owner, key, deleted, writer, write }: Omit<Notice, "version">): string {
  return `${deleted ? "deleted" : "put"} ${writer} ${write} ${collection} ${owner.length} ${owner}${key}`;
}

const form = /^(\d+) (put|deleted) (\S+) (\d+) (prompt|resource|approval|run) (\d+) (.+)$/s;

/** Undefined for a payload that is none, such as that of another program on the channel. */
export function parseNotice(text: string | undefined): Notice | undefined {
  const [found, version, what, writer = "", write, collection, ownerLength, names = ""] = form.exec(text ?? "") ?? [];
  if (found === undefined) return undefined;
  const owner = names.slice(0, Number(ownerLength));
  const key = names.slice(owner.length);
  const named = { collection: collection as Collection, owner, key };
  return { ...named, version: Number(version), deleted: what === "deleted", writer, write: Number(write) };
}

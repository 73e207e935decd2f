import { messageOf, ToolkitError } from "../core/error.ts";
import type { Logger } from "../core/session.ts";
import type { RecordKey, Store, StoredRecord } from "../core/store.ts";
import { present } from "../lib/value.ts";
import { fromJson, type StoredApproval, toJson } from "./stored-approval.ts";

/** How approvals are kept. */
export interface ApprovalRecordsOptions {
  readonly store: Store;
  readonly logger: Logger;
  /** How many. */
  readonly limit: number;
}

/** Where in a store approvals are: whoever's they are, they belong to the toolkit. */
const keyOf = (id: string): RecordKey => ({ collection: "approval", owner: "", key: id });

/** The approvals in a store. */
export class ApprovalRecords {
  readonly #options: ApprovalRecordsOptions;
  /** What things came to in this process, as it was: its errors know their causes. */
  readonly #outcomes = new Map<string, Pick<StoredApproval, "content" | "error">>();

  constructor(options: ApprovalRecordsOptions) {
    this.#options = options;
  }

  async get(id: string): Promise<StoredApproval | undefined> {
    const record = await this.#options.store.get(keyOf(id));
    return record === undefined ? undefined : this.#read(record);
  }

  /** All that can be read, the oldest first. What cannot be is logged. */
  async list(): Promise<readonly StoredApproval[]> {
    const { store, logger } = this.#options;
    const { records, failures } = await store.list({ collection: "approval", owner: "" });
    for (const { error } of failures) logger.error(error.message, { error });
    const approvals: StoredApproval[] = [];
    for (const record of records) {
      try {
        approvals.push(this.#read(record));
      } catch (error) {
        logger.error(messageOf(error), { error });
      }
    }
    return approvals.sort((one, other) => one.requestedAt - other.requestedAt || one.sequence - other.sequence);
  }

  /**
   * Keeps it, if what is kept is the version before: none for version 1. Resolves to whether it did.
   *
   * @throws ToolkitError `LIMIT_EXCEEDED` when it is full
   */
  async put(approval: StoredApproval): Promise<boolean> {
    const { id, version, settledAt, content, error } = approval;
    const draft = { ...keyOf(id), value: toJson(approval) };
    const options = { expectedVersion: version - 1 };
    try {
      if (version > 1) await this.#options.store.put(draft, options);
      else await this.#add(() => this.#options.store.put(draft, { ...options, quota: { items: this.#options.limit } }));
    } catch (thrown) {
      if (ToolkitError.is(thrown, "CONFLICT")) return false;
      throw thrown;
    }
    if (settledAt !== undefined) this.#outcomes.set(id, present({ content, error }));
    return true;
  }

  async delete(id: string): Promise<void> {
    this.#outcomes.delete(id);
    await this.#options.store.delete(keyOf(id));
  }

  /** Calls back with the id of whatever is changed or deleted, and whether another process did it; without one where any may have been. */
  watch(listener: (id?: string, isElsewhere?: boolean) => void): () => void {
    return this.#options.store.watch((event) => {
      if (event.type === "gap") listener();
      else if (event.type === "changed" && event.collection === "approval") {
        if (event.deleted) this.#outcomes.delete(event.key);
        listener(event.key, event.origin === "elsewhere");
      }
    });
  }

  /** Forgets one nobody waits for where there is no place. */
  async #add(put: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await put();
        return;
      } catch (error) {
        if (!ToolkitError.is(error, "LIMIT_EXCEEDED")) throw error;
        await this.#makeRoom();
      }
    }
  }

  async #makeRoom(): Promise<void> {
    const settled = (await this.list()).find(({ settledAt }) => settledAt !== undefined);
    if (settled !== undefined) return this.delete(settled.id);
    const { limit } = this.#options;
    const message = `${limit} calls wait for approval or completion, and no more are kept. Resolve some, or wait until they expire.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "approvals", max: limit });
  }

  #read({ key, version, value }: StoredRecord): StoredApproval {
    try {
      const approval = fromJson(key, version, value);
      return approval.settledAt === undefined ? approval : Object.freeze({ ...approval, ...this.#outcomes.get(key) });
    } catch (cause) {
      const message = `The store has an approval "${key}" that cannot be read: ${messageOf(cause)}. Delete it.`;
      throw new ToolkitError("STORE_FAILED", message, { operation: "get" }, { cause });
    }
  }
}

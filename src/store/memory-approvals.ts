import type { ApprovalStore, StoredApproval } from "../core/approval-store.ts";
import { ToolkitError } from "../core/error.ts";

/** Where in memory at most so many are kept. */
export interface MemoryApprovalsOptions {
  /** Default 10,000. Where it is reached those go first that nobody waits for; where all wait, no more are taken. */
  readonly limit?: number | undefined;
}

/** Keeps approvals for as long as the process lives. */
export function memoryApprovals({ limit = 10_000 }: MemoryApprovalsOptions = {}): ApprovalStore {
  const kept = new Map<string, StoredApproval>();
  const listeners = new Set<(id: string) => void>();
  const tell = (id: string) => {
    for (const listener of [...listeners]) listener(id);
  };
  const forget = (id: string) => {
    if (kept.delete(id)) tell(id);
  };
  const makeRoom = () => {
    if (kept.size < limit) return;
    const settled = [...kept.values()].find(({ settledAt }) => settledAt !== undefined);
    if (settled === undefined) {
      const message = `${limit} calls wait for approval or completion, and no more are kept. Resolve some, or wait until they expire.`;
      throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "approvals", max: limit });
    }
    forget(settled.id);
  };
  return {
    get: async (id) => kept.get(id),
    list: async () => [...kept.values()],
    async put(approval) {
      const { id, version } = approval;
      if ((kept.get(id)?.version ?? 0) !== version - 1) return false;
      if (version === 1) makeRoom();
      kept.set(id, Object.freeze({ ...approval }));
      tell(id);
      return true;
    },
    delete: async (id) => forget(id),
    watch(listener) {
      // One of its own, so that a function that listens twice is two listeners.
      const own = (id: string) => listener(id);
      listeners.add(own);
      return () => listeners.delete(own);
    },
  };
}

import { messageOf, ToolkitError } from "../core/error.ts";
import type { Store, StoreOptions } from "../core/store.ts";
import { type Contract, contractToJson, noContract, parseContract } from "./contract.ts";

/** A contract as it is kept. */
export interface KeptContract {
  readonly contract: Contract;
  /** The version that `save` expects: equal for equal contracts, and another after each change. */
  readonly version: string;
}

/** A place that keeps the contracts of connectors, by namespace. */
export interface PinPlace {
  /** @throws ToolkitError `STORE_FAILED` for one that cannot be read */
  load(namespace: string, options?: StoreOptions): Promise<KeptContract>;
  /**
   * Keeps a contract in place of the one that was loaded.
   *
   * @throws ToolkitError `CONFLICT` where another is there than expected, `STORE_FAILED` where it cannot be kept
   */
  save(namespace: string, contract: Contract, expected: string): Promise<KeptContract>;
  /** Listens for changes of others: of one namespace, or of any. */
  watch(listener: (namespace: string | undefined) => void): () => void;
}

const none = "0";

/** Keeps contracts in a store, a record for each namespace: a first contract is written whole or not at all. */
export function pinsInStore(store: Store): PinPlace {
  const keyOf = (namespace: string) => ({ collection: "pin", owner: "", key: namespace }) as const;
  // Contracts are often compared by identity: a record that is the same is the same contract.
  const latest = new Map<string, KeptContract>();
  const remember = (namespace: string, kept: KeptContract) => {
    latest.set(namespace, kept);
    return kept;
  };
  return {
    async load(namespace, options) {
      const record = await store.get(keyOf(namespace), options);
      if (record === undefined) return { contract: noContract, version: none };
      const known = latest.get(namespace);
      const version = String(record.version);
      if (known?.version === version) return known;
      try {
        return remember(namespace, { contract: parseContract(record.value, ""), version });
      } catch (cause) {
        const message = `The store has a pin of "${namespace}" that cannot be read: ${messageOf(cause)}. Correct it, or delete it.`;
        throw new ToolkitError("STORE_FAILED", message, { operation: "get" }, { cause });
      }
    },
    async save(namespace, contract, expected) {
      const draft = { ...keyOf(namespace), value: contractToJson(contract) };
      const { version } = await store.put(draft, { expectedVersion: Number(expected) });
      return remember(namespace, { contract, version: String(version) });
    },
    watch: (listener) =>
      store.watch((event) => {
        if (event.type === "gap" || event.type === "recovered") listener(undefined);
        else if (event.type === "changed" && event.collection === "pin") {
          if (latest.get(event.key)?.version !== String(event.version)) listener(event.key);
        }
      }),
  };
}

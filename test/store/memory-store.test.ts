import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import { storeContract } from "../contract/store.ts";
import { busContract } from "../contract/store-bus.ts";
import { holdAgainstModel } from "../contract/store-model.ts";
import { verifies } from "../support/verifies.ts";

const setUp = async (options = {}) => ({ store: memoryStore(options), dispose: async () => undefined });
storeContract("memoryStore", setUp, { isShared: false, spoils: false });
busContract("memoryStore", setUp);

describe("memoryStore", () => {
  verifies("S1", "does what the plainest model does, whatever is asked of it", () =>
    holdAgainstModel(async (keepVersions) => memoryStore({ keepVersions }), 200),
  );

  test("refuses an option out of its range", () => {
    for (const keepVersions of [-1, 1.5, Number.NaN]) {
      expect(() => memoryStore({ keepVersions })).toThrow(/keepVersions/);
    }
  });
});

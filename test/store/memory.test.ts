import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory.ts";
import { storeContract } from "../contract/store.ts";

const setUp = async (options = {}) => ({ store: memoryStore(options), dispose: async () => undefined });
storeContract("memoryStore", setUp, { isShared: false, spoils: false });

describe("memoryStore", () => {
  test("refuses an option out of its range", () => {
    for (const keepVersions of [-1, 1.5, Number.NaN]) {
      expect(() => memoryStore({ keepVersions })).toThrow(/keepVersions/);
    }
  });
});

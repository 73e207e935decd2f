import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RecordDraft, RecordKey, Store, StoreEvent } from "../../src/core/store.ts";
import { failure, rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

/** A store to test. */
export interface StoreSetup {
  readonly store: Store;
  /** Another on the same memory, as another process has one. Undefined where only one process has it. */
  readonly another?: (() => Promise<Store>) | undefined;
  /** Writes a value as a careless hand would. Undefined where no hand reaches it. */
  readonly spoil?: ((key: RecordKey, json: string) => Promise<void>) | undefined;
  /** Ends what the setup started, after the stores were closed. */
  dispose(): Promise<void>;
}

/** The options of a setup. */
export interface StoreSetupOptions {
  readonly keepVersions?: number | undefined;
}

/** The properties that a store cannot be tested for. */
export interface StoreTraits {
  /** Whether setups have `another`. Default true. */
  readonly isShared?: boolean | undefined;
  /** Whether they have `spoil`. Default true. */
  readonly spoils?: boolean | undefined;
}

const greet: RecordKey = { collection: "prompt", owner: "ada", key: "greet" };
const bytesOf = (...bytes: number[]) => new Uint8Array(bytes);

/** Texts that are trouble where they are pasted into something. */
export const hostileTexts = [
  "'; DROP TABLE record; --",
  '" OR "1"="1',
  "%_\\%",
  "$1 ?1 :key @owner",
  "naïve – 日本語 – 🧶 – e\u0301",
  "\u{ffff}\u{1f9f6}",
  " leading and trailing ",
  "a\nb\tc\r\u0001",
  "__proto__",
  "../../etc/passwd",
  "null",
];

/** The promises of every store, wherever it keeps records. Each test has a store of its own. */
export function storeContract(
  name: string,
  setUp: (options?: StoreSetupOptions) => Promise<StoreSetup>,
  { isShared = true, spoils = true }: StoreTraits = {},
): void {
  describe(`${name} keeps the store contract`, () => {
    let side: StoreSetup;
    let store: Store;
    let others: Store[];

    const put = (key: string, value: unknown = key, more: Partial<RecordDraft> = {}) =>
      store.put({ ...greet, key, value, ...more });
    const keys = async (owner?: string) =>
      (await store.list({ collection: "prompt", owner })).records.map(({ key }) => key);
    const another = async () => {
      const other = await side.another?.();
      if (other !== undefined) others.push(other);
      return other;
    };

    beforeEach(async () => {
      others = [];
      side = await setUp();
      store = side.store;
    });
    afterEach(async () => {
      await Promise.all([store, ...others].map((each) => each.close()));
      await side.dispose();
    });

    verifies("S1", "gives back what was put, with its version and its time", async () => {
      const before = Math.floor(Date.now());
      const value = { title: "Hi", list: [1, null, { deep: true }], text: "\u0000 and half: \ud800" };
      const stored = await store.put({ ...greet, value, bytes: bytesOf(0, 255, 10) });
      expect(stored).toEqual({ ...greet, value, version: 1, size: 3, updatedAt: expect.any(Number) });
      expect(stored.updatedAt).toBeGreaterThanOrEqual(before - 1_000);
      expect(Number.isInteger(stored.updatedAt)).toBe(true);
      const got = await store.get(greet);
      expect(got).toEqual({ ...stored, bytes: bytesOf(0, 255, 10) });
      expect(await store.get(greet, { bytes: false })).toEqual(stored);
      expect(Object.getPrototypeOf(got?.bytes)).toBe(Uint8Array.prototype);
      expect(await store.get({ ...greet, key: "other" })).toBeUndefined();
    });

    verifies("S1", "what is got belongs to its reader, and what was put is what it was then", async () => {
      const value = { list: [1] };
      const bytes = bytesOf(1, 2);
      await store.put({ ...greet, value, bytes });
      value.list.push(2);
      bytes.fill(9);
      const got = await store.get(greet);
      (got as unknown as { readonly value: typeof value }).value.list.push(3);
      got?.bytes?.fill(8);
      expect(await store.get(greet)).toMatchObject({ value: { list: [1] }, bytes: bytesOf(1, 2) });
    });

    verifies("S1", "counts versions, past a deletion too", async () => {
      expect((await put("greet", 1)).version).toBe(1);
      expect((await put("greet", 2)).version).toBe(2);
      expect(await store.delete(greet)).toBe(3);
      expect(await store.get(greet)).toBeUndefined();
      expect(await store.delete(greet)).toBeUndefined();
      expect((await put("greet", 3)).version).toBe(4);
    });

    verifies("S1", "refuses what expects another version, and says which is there", async () => {
      expect((await store.put({ ...greet, value: 1 }, { expectedVersion: 0 })).version).toBe(1);
      for (const expectedVersion of [0, 2, 7]) {
        const error = await failure(store.put({ ...greet, value: 2 }, { expectedVersion }));
        expect(error).toMatchObject({ code: "CONFLICT", details: { key: "greet", version: 1 } });
        expect(await failure(store.delete(greet, { expectedVersion }))).toMatchObject({ code: "CONFLICT" });
      }
      expect((await store.put({ ...greet, value: 2 }, { expectedVersion: 1 })).version).toBe(2);
      expect(await store.delete(greet, { expectedVersion: 2 })).toBe(3);
      expect(await failure(store.put({ ...greet, value: 3 }, { expectedVersion: 2 }))).toMatchObject({
        code: "CONFLICT",
        details: { version: 0 },
      });
      expect(await store.delete(greet, { expectedVersion: 0 })).toBeUndefined();
      expect((await store.put({ ...greet, value: 3 }, { expectedVersion: 0 })).version).toBe(4);
      expect((await store.get(greet))?.value).toBe(3);
    });

    verifies("S1", "of many that put one key at once, exactly one wins", async () => {
      const other = (await another()) ?? store;
      for (const expectedVersion of [0, 1, 2]) {
        const tries = Array.from({ length: 20 }, (_, number) =>
          (number % 2 === 0 ? store : other).put({ ...greet, value: number }, { expectedVersion }).then(
            () => number,
            (error) => error.code,
          ),
        );
        const winners = (await Promise.all(tries)).filter((each) => each !== "CONFLICT");
        expect(winners).toHaveLength(1);
        expect(await store.get(greet)).toMatchObject({ value: winners[0], version: expectedVersion + 1 });
      }
    });

    verifies("S1", "many that put one key at once and expect nothing all count", async () => {
      const other = (await another()) ?? store;
      const puts = Array.from({ length: 40 }, (_, number) =>
        (number % 2 === 0 ? store : other).put({ ...greet, value: number }),
      );
      const versions = (await Promise.all(puts)).map(({ version }) => version).sort((one, two) => one - two);
      expect(versions).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    });

    verifies(["S1", "S3"], "keeps owners and collections apart", async () => {
      await store.put({ ...greet, value: "ada's" });
      await store.put({ ...greet, owner: "bo", value: "bo's" });
      await store.put({ ...greet, owner: "", value: "nobody's" });
      await store.put({ ...greet, collection: "resource", value: "another kind" });
      expect((await store.get({ ...greet, owner: "bo" }))?.value).toBe("bo's");
      const list = async (owner?: string) =>
        (await store.list({ collection: "prompt", owner })).records.map(({ value }) => value);
      expect(await list("ada")).toEqual(["ada's"]);
      expect(await list("")).toEqual(["nobody's"]);
      expect(await list("eve")).toEqual([]);
      expect(await list()).toEqual(["nobody's", "ada's", "bo's"]);
      await store.delete({ ...greet, owner: "bo" });
      expect(await list()).toEqual(["nobody's", "ada's"]);
      expect((await store.history({ ...greet, owner: "ada" })).records).toHaveLength(1);
    });

    verifies(
      "S1",
      "lists by owner and key in the order of code units, with bytes where they are asked for",
      async () => {
        const unordered = ["b", "a", "B", "é", "\u{1f9f6}", "\uffee", "a b", "10", "9"];
        for (const key of unordered) await put(key, key, { bytes: bytesOf(1) });
        await put("z", "z", { owner: "Ada" });
        expect(await keys()).toEqual(["z", ...[...unordered].sort()]);
        const [listed] = (await store.list({ collection: "prompt", owner: "ada" })).records;
        expect(listed).toMatchObject({ key: "10", size: 1 });
        expect(listed).not.toHaveProperty("bytes");
        const [whole] = (await store.list({ collection: "prompt", owner: "ada" }, { bytes: true })).records;
        expect(whole?.bytes).toEqual(bytesOf(1));
      },
    );

    verifies("S1", "keeps past versions of prompts and resources, also of what was deleted", async () => {
      await put("greet", "one", { bytes: bytesOf(1) });
      await put("greet", "two");
      await store.delete(greet);
      await put("greet", "four");
      await store.delete(greet);
      const { records } = await store.history(greet);
      expect(records.map(({ version, value }) => [version, value])).toEqual([
        [4, "four"],
        [2, "two"],
        [1, "one"],
      ]);
      expect(records[2]).toMatchObject({ size: 1, updatedAt: expect.any(Number) });
      expect(records[2]).not.toHaveProperty("bytes");
      expect((await store.history(greet, { bytes: true })).records[2]?.bytes).toEqual(bytesOf(1));
      expect(await store.get(greet, { version: 1 })).toMatchObject({ value: "one", bytes: bytesOf(1) });
      const withoutBytes = await store.get(greet, { version: 1, bytes: false });
      expect(withoutBytes).toMatchObject({ value: "one", size: 1 });
      expect(withoutBytes).not.toHaveProperty("bytes");
      expect(await store.get(greet, { version: 3 })).toBeUndefined();
      expect(await store.get(greet)).toBeUndefined();
      for (const collection of ["run", "pin"] as const) {
        const run: RecordKey = { collection, owner: "", key: "r1" };
        await store.put({ ...run, value: 1 });
        await store.put({ ...run, value: 2 });
        expect((await store.history(run)).records.map(({ version }) => version)).toEqual([2]);
        await store.delete(run);
        expect((await store.history(run)).records).toEqual([]);
      }
    });

    verifies("S1", "keeps so many past versions and no more", async () => {
      for (let number = 1; number <= 25; number++) await put("greet", number);
      const { records } = await store.history(greet);
      expect(records.map(({ version }) => version)).toEqual(Array.from({ length: 21 }, (_, index) => 25 - index));
      await store.close();
      await side.dispose();
      side = await setUp({ keepVersions: 0 });
      store = side.store;
      await put("greet", 1);
      await put("greet", 2);
      expect((await store.history(greet)).records.map(({ value }) => value)).toEqual([2]);
    });

    verifies(
      "S1",
      "keeps the past versions of the last hundred removed records of an owner, and not of those before",
      async () => {
        const keys = Array.from({ length: 103 }, (_, index) => `removed ${String(index).padStart(3, "0")}`);
        const bob = { ...greet, owner: "bob" };
        await put("stays");
        await put("stays", "changed");
        await store.put({ ...bob, value: 1 });
        await store.delete(bob);
        const lengthOf = async (key: RecordKey) => (await store.history(key)).records.length;
        for (const key of keys) {
          await put(key);
          await store.delete({ ...greet, key });
        }
        const lengths = await Promise.all(keys.map((key) => lengthOf({ ...greet, key })));
        expect(lengths).toEqual(keys.map((_, index) => (index < 3 ? 0 : 1)));
        expect(await Promise.all([lengthOf({ ...greet, key: "stays" }), lengthOf(bob)])).toEqual([2, 1]);
        // Its version goes on counting.
        expect(await put("removed 000")).toMatchObject({ version: 3 });
        // One that is there again is no removed one.
        await put("removed 003");
        await put("removed 103");
        await store.delete({ ...greet, key: "removed 103" });
        expect(await lengthOf({ ...greet, key: "removed 003" })).toBe(2);
      },
    );

    verifies("S1", "keeps the past versions of removed records until those after have 32 MiB", async () => {
      const bytes = new Uint8Array(17 * 2 ** 20);
      for (const key of ["one", "two", "three"]) {
        await put(key, key, { bytes });
        await store.delete({ ...greet, key });
        // The oldest goes first, by the clock of the store: the three must not be removed in one millisecond.
        await new Promise((done) => setTimeout(done, 2));
      }
      const kept = async (key: string) => (await store.history({ ...greet, key })).records.length;
      expect([await kept("one"), await kept("two"), await kept("three")]).toEqual([0, 1, 1]);
    });

    verifies("S1", "gives the first records of an owner, those of a part of its keys, and their number", async () => {
      const named = ["a", "a b", "A", "_x", "_y", "z", "\u{ffff}", "\u{1f9f6}", "é", "gone"];
      const sorted = ["A", "_x", "_y", "a", "a b", "z", "é", "\u{ffff}", "\u{1f9f6}"];
      for (const key of named) await put(key, key, { bytes: bytesOf(1) });
      await store.delete({ ...greet, key: "gone" });
      await put("another", 1, { owner: "bo" });
      await put("another", 1, { collection: "resource" });
      const query = { collection: "prompt", owner: "ada" } as const;
      const found = async (more: object, limit?: number) => {
        const { records } = await store.list({ ...query, ...more }, { limit });
        // A list is in the order of code units, whichever records are in it.
        return records.map(({ key }) => key).sort((one, other) => sorted.indexOf(one) - sorted.indexOf(other));
      };
      for (let limit = 0; limit <= sorted.length + 1; limit += 1)
        expect(await found({}, limit)).toEqual(sorted.slice(0, limit));
      expect(await found({ after: "_x" }, 2)).toEqual(["_y", "a"]);
      expect(await found({ after: "\u{ffff}" })).toEqual(["\u{1f9f6}"]);
      expect(await found({ before: "a" })).toEqual(["A", "_x", "_y"]);
      expect(await found({ after: "A", before: "`" }, 1)).toEqual(["_x"]);
      expect(await found({ after: "z", before: "a" })).toEqual([]);
      const { records } = await store.list({ ...query, after: "z" }, { limit: 1, bytes: true });
      expect(records.map(({ bytes }) => bytes)).toEqual([bytesOf(1)]);
      expect(await store.count?.(query)).toBe(sorted.length);
      expect(await store.count?.({ ...query, after: "_", before: "`" })).toBe(2);
      expect(await store.count?.({ ...query, after: "a" })).toBe(5);
      expect(await store.count?.({ collection: "prompt" })).toBe(sorted.length + 1);
      expect(await store.count?.({ collection: "resource", owner: "ada" })).toBe(1);
      expect(await store.count?.({ collection: "run", owner: "nobody" })).toBe(0);
    });

    verifies("S1", "refuses a part of the keys of all owners, and a limit that is none", async () => {
      for (const [query, options] of [
        [{ after: "a" }, {}],
        [{ before: "a" }, {}],
        [{}, { limit: 1 }],
        [{ owner: "ada" }, { limit: -1 }],
        [{ owner: "ada" }, { limit: 0.5 }],
        [{ owner: "ada", after: "\0" }, {}],
      ] as const)
        expect((await failure(store.list({ collection: "prompt", ...query }, options))).code).toBe("INVALID_INPUT");
    });

    verifies("S1", "finds the first records of each owner among those of many", async () => {
      const many = Array.from({ length: 1_100 }, (_, at) => `key-${String(at).padStart(4, "0")}`);
      for (const owner of ["ada", "bo"]) await Promise.all(many.map((key) => put(key, key, { owner })));
      const query = { collection: "prompt", owner: "bo", after: "key-0001" } as const;
      const { records } = await store.list(query, { limit: 700 });
      expect(records.map(({ key, owner }) => `${owner} ${key}`)).toEqual(many.slice(2, 702).map((key) => `bo ${key}`));
    });

    describe("a quota", () => {
      const refused = async (draft: Partial<RecordDraft>, quota: object) =>
        (await failure(store.put({ ...greet, value: "12345678", ...draft }, { quota }))).details;

      verifies("S1", "limits how many an owner has", async () => {
        const quota = { items: 2 };
        await store.put({ ...greet, key: "one", value: 1 }, { quota });
        await store.put({ ...greet, key: "two", value: 1 }, { quota });
        expect(await refused({ key: "three" }, quota)).toEqual({ limit: "items", max: 2, actual: 3 });
        await store.put({ ...greet, key: "two", value: 2 }, { quota });
        await store.put({ ...greet, key: "three", owner: "bo", value: 1 }, { quota });
        await store.put({ ...greet, collection: "resource", value: 1 }, { quota });
        const collections = ["prompt", "resource"] as const;
        expect(await refused({ key: "two" }, { items: 2, collections })).toMatchObject({ limit: "items", actual: 3 });
        await store.delete({ ...greet, key: "one" });
        await store.put({ ...greet, key: "three", value: 1 }, { quota });
        expect(await keys("ada")).toEqual(["three", "two"]);
      });

      verifies("S1", "limits the bytes of one and of all, as they are now", async () => {
        const draft = { bytes: new Uint8Array(90) };
        expect(await refused(draft, { itemBytes: 99 })).toEqual({ limit: "itemBytes", max: 99, actual: 100 });
        await store.put({ ...greet, value: "12345678", ...draft }, { quota: { itemBytes: 100, bytes: 100 } });
        await store.put({ ...greet, value: "ééé", ...draft }, { quota: { itemBytes: 100, bytes: 100 } });
        expect(await refused({ key: "other" }, { bytes: 107 })).toEqual({ limit: "bytes", max: 107, actual: 108 });
        await store.put({ ...greet, key: "other", value: "12345678" }, { quota: { bytes: 108 } });
      });

      verifies("S1", "counts what is there, whatever came before", async () => {
        const texts = ["", "ééé", "12345678", "1"];
        for (const collection of ["prompt", "resource", "result"] as const) {
          for (const text of texts) await put(text || "none", text, { collection });
          await put("1", "another text", { collection, bytes: bytesOf(1, 2, 3) });
          await store.delete({ ...greet, collection, key: "none" });
          await store.delete({ ...greet, collection, key: "ééé" });
          await store.delete({ ...greet, collection, key: "ééé" });
          await put("none", "back", { collection });
          await put("12345678", "12345679", { collection });
          await put("of another", "1", { collection, owner: "bo" });
        }
        for (const collections of [
          ["prompt"],
          ["prompt", "resource"],
          ["result"],
          ["result", "prompt", "approval"],
        ] as const) {
          const lists = await Promise.all(collections.map((collection) => store.list({ collection, owner: "ada" })));
          const sizes = lists
            .flatMap(({ records }) => records)
            .map(({ value, size = 0 }) => Buffer.byteLength(JSON.stringify(value)) + size);
          const draft = { collection: collections[0], key: "new", value: 1 };
          const bytes = sizes.reduce((sum, size) => sum + size, 1);
          expect(await refused(draft, { collections, items: 0 })).toMatchObject({ actual: sizes.length + 1 });
          expect(await refused(draft, { collections, bytes: 0 })).toMatchObject({ limit: "bytes", actual: bytes });
        }
      });

      verifies("S1", "is held by many that put at once", async () => {
        const other = (await another()) ?? store;
        const tries = Array.from({ length: 12 }, (_, number) =>
          (number % 2 === 0 ? store : other)
            .put({ ...greet, key: `${number}`, value: 1 }, { quota: { items: 5 } })
            .then(
              () => "put",
              (error) => error.code,
            ),
        );
        expect((await Promise.all(tries)).filter((each) => each === "put")).toHaveLength(5);
        expect(await keys()).toHaveLength(5);
      });
    });

    verifies("S1", "takes any text as owner, key and value", async () => {
      for (const text of hostileTexts) {
        const named: RecordKey = { collection: "resource", owner: text, key: text };
        await store.put({ ...named, value: { [text]: text } });
        expect(await store.get(named)).toMatchObject({ ...named, value: { [text]: text } });
        expect((await store.list({ collection: "resource", owner: text })).records).toHaveLength(1);
        await store.put({ ...named, value: text });
        expect((await store.history(named)).records).toHaveLength(2);
        expect(await store.delete(named)).toBe(3);
      }
      expect((await store.list({ collection: "resource" })).records).toEqual([]);
      const long: RecordKey = { collection: "run", owner: "o".repeat(512), key: "é".repeat(1_024) };
      await store.put({ ...long, value: 1 });
      expect((await store.get(long))?.key).toBe(long.key);
    });

    const misfits: readonly (readonly [what: string, draft: Record<string, unknown>])[] = [
      ["an empty key", { key: "" }],
      ["NUL in a key", { key: "a\0b" }],
      ["half a surrogate pair", { owner: "\ud83e" }],
      ["a key that is too long", { key: "é".repeat(1_025) }],
      ["an owner that is too long", { owner: "o".repeat(513) }],
      ["a collection there is not", { collection: "toString" }],
      ["a value that is no JSON", { value: undefined }],
      ["a value that bites its tail", { value: tail() }],
      ["bytes that are none", { bytes: [1, 2] }],
    ];
    for (const [what, draft] of misfits) {
      verifies("S1", `refuses ${what}`, async () => {
        const error = await failure(store.put({ ...greet, value: 1, ...draft } as RecordDraft));
        expect(error.code).toBe("INVALID_INPUT");
        expect(await keys()).toEqual([]);
      });
    }

    verifies("S1", "keeps ten megabytes, byte by byte", async () => {
      const bytes = new Uint8Array(10_000_000);
      for (let index = 0; index < bytes.length; index++) bytes[index] = (index * 31 + (index >> 8)) & 255;
      const stored = await store.put({ ...greet, value: "x".repeat(1_000_000), bytes });
      expect(stored.size).toBe(10_000_000);
      const got = await store.get(greet);
      expect(Buffer.compare(got?.bytes ?? bytesOf(), bytes)).toBe(0);
      await store.put({ ...greet, value: 2, bytes: bytesOf() });
      expect(await store.get(greet)).toMatchObject({ size: 0, bytes: bytesOf() });
    });

    verifies("S1", "tells what is done here before it is said to be done, in order", async () => {
      const told: string[] = [];
      const stop = store.watch((event) => {
        if (event.type === "changed")
          told.push(`${event.key} ${event.version} ${event.origin}${event.deleted ? " gone" : ""}`);
      });
      store.watch(() => {
        throw new Error("a listener that fails");
      });
      await put("one");
      expect(told).toEqual(["one 1 here"]);
      await put("one");
      await put("two");
      await store.delete({ ...greet, key: "one" });
      await store.delete({ ...greet, key: "one" });
      await rejection(store.put({ ...greet, value: 1 }, { expectedVersion: 7 }));
      expect(told).toEqual(["one 1 here", "one 2 here", "two 1 here", "one 3 here gone"]);
      stop();
      stop();
      await put("three");
      expect(told).toHaveLength(4);
    });

    verifiesWhere(isShared)(["S1", "K2"], "tells what another does, and nothing twice", async () => {
      const other = (await another()) ?? store;
      await put("before");
      const told: string[] = [];
      const last = Promise.withResolvers<void>();
      store.watch((event: StoreEvent) => {
        told.push(event.type === "changed" ? `${event.key} ${event.version} ${event.origin}` : event.type);
        if (event.type === "changed" && event.key === "last") last.resolve();
      });
      await store.list({ collection: "prompt" });
      await other.put({ ...greet, key: "theirs", value: 1 });
      await put("ours");
      await other.put({ ...greet, key: "gone", value: 1 });
      await other.delete({ ...greet, key: "gone" });
      await other.put({ ...greet, key: "last", value: 1 });
      await last.promise;
      expect(told.filter((each) => !each.startsWith("gone 1"))).toEqual(
        expect.arrayContaining(["theirs 1 elsewhere", "ours 1 here", "gone 2 elsewhere", "last 1 elsewhere"]),
      );
      expect(new Set(told).size).toBe(told.length);
      expect(told).not.toContain("before 1 elsewhere");
      expect(await keys()).toEqual(["before", "last", "ours", "theirs"]);
    });

    verifiesWhere(spoils)(["S1", "S3"], "one record that cannot be read hides no other, and is named", async () => {
      for (const key of ["good", "spoilt", "too"]) await put(key);
      const spoilt = { ...greet, key: "spoilt" };
      await side.spoil?.(spoilt, "{ no JSON");
      const { records, failures } = await store.list({ collection: "prompt" });
      expect(records.map(({ key }) => key)).toEqual(["good", "too"]);
      expect(failures).toEqual([{ ...spoilt, version: 1, error: expect.objectContaining({ code: "STORE_FAILED" }) }]);
      expect(failures[0]?.error.message).toContain('prompt "spoilt" of "ada"');
      expect(await failure(store.get(spoilt))).toMatchObject({ code: "STORE_FAILED", details: { operation: "get" } });
      await put("spoilt", "mended");
      expect((await store.get(spoilt))?.value).toBe("mended");
    });

    verifies("S1", "an abort rejects with its reason, and nothing is done where nothing was begun", async () => {
      const signal = AbortSignal.abort("enough");
      const asked = [
        () => store.open({ signal }),
        () => store.get(greet, { signal }),
        () => store.list({ collection: "prompt" }, { signal }),
        () => store.put({ ...greet, value: 1 }, { signal }),
        () => store.delete(greet, { signal }),
        () => store.history(greet, { signal }),
      ];
      for (const ask of asked) expect(await rejection(ask())).toBe("enough");
      expect(await keys()).toEqual([]);
    });

    verifies("S1", "closing ends what was begun, and nothing begins afterwards", async () => {
      await Promise.all([store.open(), store.open()]);
      await store.open();
      const begun = Array.from({ length: 30 }, (_, number) => put(`${number}`));
      const closed = store.close();
      expect(store.close()).toBeInstanceOf(Promise);
      expect((await Promise.all(begun)).every(({ version }) => version === 1)).toBe(true);
      await closed;
      const asked = [
        () => store.open(),
        () => store.get(greet),
        () => store.list({ collection: "prompt" }),
        () => put("late"),
        () => store.delete(greet),
        () => store.history(greet),
        async () => store.watch(() => undefined),
      ];
      for (const ask of asked) expect((await failure(ask())).code).toBe("CLOSED");
      await store[Symbol.asyncDispose]();
    });

    test("lists ten thousand", async () => {
      for (let start = 0; start < 10_000; start += 500) {
        await Promise.all(Array.from({ length: 500 }, (_, index) => put(`item-${start + index}`, { index })));
      }
      const { records, failures } = await store.list({ collection: "prompt" });
      expect([records.length, failures.length]).toEqual([10_000, 0]);
      expect(records.map(({ key }) => key)).toEqual(records.map(({ key }) => key).sort());
    }, 120_000);
  });
}

const verifiesWhere = (holds: boolean): typeof verifies => (holds ? verifies : () => undefined);

function tail(): unknown {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}

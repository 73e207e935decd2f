import { expect, test } from "vitest";
import { LruCache } from "../../src/lib/lru-cache.ts";

test("of too many entries the one used longest ago goes", () => {
  const cache = new LruCache<number>({ maxEntries: 2 });
  cache.set("a", 1);
  cache.set("b", 2);
  expect(cache.get("a")).toBe(1);
  cache.set("c", 3);
  expect([cache.get("a"), cache.get("b"), cache.get("c"), cache.size]).toEqual([1, undefined, 3, 2]);
});

test("entries that are too large together give way, those used longest ago first", () => {
  const cache = new LruCache<string>({ maxSize: 10 });
  for (const key of ["a", "b", "c"]) cache.set(key, key, 3);
  cache.set("d", "d", 5);
  expect(["a", "b", "c", "d"].map((key) => cache.get(key))).toEqual([undefined, undefined, "c", "d"]);
});

test("one that is larger than the bound is not kept, and drives out only what it replaces", () => {
  const cache = new LruCache<string>({ maxSize: 10 });
  cache.set("a", "a", 6);
  cache.set("b", "b", 4);
  cache.set("a", "large", 11);
  expect([cache.get("a"), cache.get("b"), cache.size]).toEqual([undefined, "b", 1]);
  cache.set("c", "c", 6);
  expect(cache.size).toBe(2);
});

test("an entry that is set again counts once, and an absent one is deleted without an effect", () => {
  const cache = new LruCache<number>({ maxEntries: 3, maxSize: 4 });
  for (let at = 0; at < 10; at += 1) cache.set("a", at, 2);
  cache.set("b", 1, 2);
  cache.delete("none");
  expect([cache.get("a"), cache.get("b")]).toEqual([9, 1]);
  cache.delete("a");
  cache.set("c", 1, 2);
  expect([cache.get("b"), cache.get("c"), cache.size]).toEqual([1, 1, 2]);
  expect(new LruCache<number>({ maxEntries: 0 }).size).toBe(0);
});

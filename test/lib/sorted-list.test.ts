import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byRef, mergedSlice, SortedList } from "../../src/lib/sorted-list.ts";

const refs = fc.uniqueArray(fc.string({ maxLength: 4 }), { maxLength: 60 });
const itemsOf = (texts: readonly string[]) => texts.map((ref) => ({ ref }));

describe("a sorted list", () => {
  test("has what was put and not removed, in order, at every position", () => {
    const step = fc.record({ ref: fc.nat(3_000).map((number) => number.toString(36)), isRemoved: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1_500, maxLength: 4_000 }), (steps) => {
        const list = new SortedList<{ readonly ref: string }>();
        const model = new Map<string, { readonly ref: string }>();
        for (const { ref, isRemoved } of steps) {
          const item = { ref };
          if (isRemoved) list.delete(ref);
          else list.put(item);
          if (isRemoved) model.delete(ref);
          else model.set(ref, item);
        }
        const wanted = [...model.values()].sort(byRef);
        expect(list.size).toBe(wanted.length);
        expect(list.slice(0, list.size)).toEqual(wanted);
        expect(list.slice(500, 620)).toEqual(wanted.slice(500, 620));
        for (const [at, item] of wanted.entries()) {
          if (at % 37 !== 0) continue;
          expect(list.at(at)).toBe(item);
          expect([list.rank(item.ref), list.rank(`${item.ref}\0`)]).toEqual([at, at + 1]);
        }
      }),
      { numRuns: 10 },
    );
  });

  test("a part of several is that of all of them sorted, whether they interleave or not", () => {
    const lists = fc.array(refs, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(lists, fc.boolean(), fc.nat(200), fc.nat(60), (texts, areApart, start, length) => {
        const named = texts.map((list, at) => list.map((text) => (areApart ? `${at}.${text}` : `${text}#${at}`)));
        const all = itemsOf(named.flat()).sort(byRef);
        const sorted = named.map((list) => new SortedList(itemsOf(list).sort(byRef)));
        expect(mergedSlice(sorted, start, start + length)).toEqual(all.slice(start, start + length));
      }),
    );
  });
});

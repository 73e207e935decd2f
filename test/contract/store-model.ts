import fc from "fast-check";
import { expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { Collection, RecordKey, Store } from "../../src/core/store.ts";
import { compareKeys } from "../../src/store/record.ts";

/** The expected content of a store with so many past versions, in the plainest way. */
class Model {
  readonly #keepVersions: number;
  readonly #versions = new Map<string, { key: RecordKey; all: ({ version: number; value: unknown } | undefined)[] }>();

  constructor(keepVersions: number) {
    this.#keepVersions = keepVersions;
  }

  #of(key: RecordKey) {
    const id = JSON.stringify([key.collection, key.owner, key.key]);
    const found = this.#versions.get(id) ?? { key, all: [] };
    this.#versions.set(id, found);
    return found.all;
  }

  current(key: RecordKey) {
    return this.#of(key).at(-1);
  }

  put(key: RecordKey, value: unknown): number {
    const all = this.#of(key);
    return all.push({ version: all.length + 1, value });
  }

  delete(key: RecordKey): number | undefined {
    return this.current(key) === undefined ? undefined : this.#of(key).push(undefined);
  }

  history(key: RecordKey) {
    const there = this.#of(key).filter((each) => each !== undefined);
    const kept = this.#keepVersions + (this.current(key) === undefined ? 0 : 1);
    return kept === 0 ? [] : there.slice(-kept).reverse();
  }

  list(collection: Collection, owner: string | undefined) {
    return [...this.#versions.values()]
      .filter(({ key, all }) => key.collection === collection && (owner ?? key.owner) === key.owner && all.at(-1))
      .map(({ key }) => key)
      .sort(compareKeys);
  }
}

const text = fc.oneof(
  fc.constantFrom("a", "b", "A", "%", "'", "\u{1f9f6}", "\uffee"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 3 }),
);
const wellFormed = text.filter((each) => each.isWellFormed() && !each.includes("\0"));
const key = fc.record({
  collection: fc.constantFrom<Collection>("prompt", "resource"),
  owner: fc.oneof(fc.constant(""), fc.constantFrom("ada", "bo")),
  key: fc.oneof(fc.constantFrom("a", "b"), wellFormed),
});
const expectation = fc.oneof(fc.constant(undefined), fc.constant("right" as const), fc.nat({ max: 4 }));
const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("put" as const), key, value: fc.jsonValue(), expectation }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("delete" as const), key, expectation }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("look" as const), key }) },
);

/** Does to a store whatever chance says, and holds it against the model all along. */
export async function holdAgainstModel(make: (keepVersions: number) => Promise<Store>, runs: number): Promise<void> {
  const actions = fc.array(action, { minLength: 1, maxLength: 30 });
  const property = fc.asyncProperty(fc.nat({ max: 3 }), actions, async (keepVersions, list) => {
    const store = await make(keepVersions);
    const model = new Model(keepVersions);
    try {
      for (const each of list) {
        const current = model.current(each.key)?.version ?? 0;
        if (each.type === "look") {
          const { collection, owner } = each.key;
          const found = (await store.list({ collection, owner })).records.map(({ key }) => key);
          expect(found).toEqual(model.list(collection, owner).map(({ key }) => key));
          const whole = (await store.list({ collection })).records.map(({ owner, key }) => [owner, key]);
          expect(whole).toEqual(model.list(collection, undefined).map(({ owner, key }) => [owner, key]));
          continue;
        }
        const expectedVersion = each.expectation === "right" ? current : each.expectation;
        const isRefused = expectedVersion !== undefined && expectedVersion !== current;
        const doing =
          each.type === "put"
            ? store.put({ ...each.key, value: each.value }, { expectedVersion }).then(({ version }) => version)
            : store.delete(each.key, { expectedVersion });
        const outcome = await doing.catch((error) => (ToolkitError.is(error) ? error.code : error));
        if (isRefused) expect(outcome).toBe("CONFLICT");
        else expect(outcome).toBe(each.type === "put" ? model.put(each.key, each.value) : model.delete(each.key));
        expect((await store.get(each.key))?.version).toBe(model.current(each.key)?.version);
        const history = (await store.history(each.key)).records.map(({ version, value }) => ({ version, value }));
        expect(history).toEqual(JSON.parse(JSON.stringify(model.history(each.key))));
      }
    } finally {
      await store.close();
    }
  });
  await fc.assert(property, { numRuns: runs });
}

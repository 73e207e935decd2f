import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readDefinition } from "../../src/core/definition.ts";
import { makeEntry } from "../../src/core/entry.ts";
import type { Entry, Kind } from "../../src/core/item.ts";
import type { JsonSchema } from "../../src/core/schema/types.ts";
import { aliasesOf, shortened } from "../../src/toolset/model-definition.ts";
import { verifies } from "../support/verifies.ts";

const allowed = /^[A-Za-z_][A-Za-z0-9_-]{0,62}$/;

function entry(namespace: string, name: string, kind: Kind = "tool"): Entry<"tool"> {
  const tool = { kind: "tool", name, run: () => undefined } as const;
  const prompt = { kind: "prompt", name, render: async () => ({ messages: [] }) } as const;
  const item = kind === "tool" ? tool : prompt;
  return makeEntry(readDefinition(item, "remote"), item, namespace, false) as unknown as Entry<"tool">;
}
const aliases = (...entries: Entry[]) =>
  Object.fromEntries(
    [...aliasesOf(entries)].map(([alias, { kind, ref }]) => [alias, kind === "tool" ? ref : `${kind} ${ref}`]),
  );

describe("aliases", () => {
  verifies("N8", "a builtin keeps its name, another is namespace__name, what models do not accept becomes _", () => {
    expect(aliases(entry("builtin", "greet"), entry("weather", "forecast"), entry("web", "get/page.v2"))).toEqual({
      greet: "builtin.greet",
      weather__forecast: "weather.forecast",
      web__get_page_v2: "web.get/page.v2",
    });
    expect(aliases(entry("inline", "x"), entry("a", "日本"))).toEqual({ x: "inline.x", a____: "a.日本" });
  });

  verifies("N8", "what is too long, or the same as another, gets a hash, whatever came first", () => {
    const long = "n".repeat(80);
    const [cut = ""] = Object.keys(aliases(entry("weather", long)));
    expect(cut).toMatch(/^weather__n+_[A-Za-z0-9]{8}$/);
    expect(cut).toHaveLength(63);
    const clashing = [entry("a", "x.y"), entry("a", "x_y"), entry("a", "x y")];
    const given = aliases(...clashing);
    expect(given.a__x_y).toBe("a.x_y");
    const changed = Object.keys(given).filter((alias) => alias !== "a__x_y");
    expect(changed).toHaveLength(2);
    expect(changed.every((alias) => /^a__x_y_[A-Za-z0-9]{8}$/.test(alias))).toBe(true);
    expect(aliases(...clashing.reverse())).toEqual(given);
  });

  verifies("N8", "the one whose name needed no change keeps its alias when a like one comes, and no other", () => {
    const kept = aliases(entry("a", "x_y"));
    expect(aliases(entry("a", "x_y"), entry("a", "x.y"))).toMatchObject(kept);
    expect(aliases(entry("a", "x.y"), entry("a", "x_y"))).toMatchObject(kept);
    const both = aliases(entry("a", "b__c"), entry("a__b", "c"));
    expect(Object.keys(both).every((alias) => /^a__b__c_[A-Za-z0-9]{8}$/.test(alias))).toBe(true);
  });

  verifies(
    "N8",
    "a builtin tool keeps its name beside a prompt of the same name, and beside another that looks the same",
    () => {
      const given = aliases(entry("builtin", "a__b"), entry("builtin", "a__b", "prompt"), entry("a", "b"));
      expect(given.a__b).toBe("builtin.a__b");
      expect(Object.keys(given)).toHaveLength(3);
      expect(Object.values(given).sort()).toEqual(["a.b", "builtin.a__b", "prompt builtin.a__b"]);
    },
  );

  verifies("N8", "a name that is made to look like the hash of another stays apart", () => {
    const clashing = [entry("a", "x.y"), entry("a", "x_y")];
    const taken = Object.keys(aliases(...clashing))[0] ?? "";
    const copy = entry("a", taken.slice("a__".length));
    const given = aliases(...clashing, copy);
    expect(Object.keys(given)).toHaveLength(3);
    expect(aliases(copy, ...clashing.reverse())).toEqual(given);
  });

  verifies("N8", "10,000 random names: unique, stable, reversible, acceptable", () => {
    const namespace = fc.constantFrom("builtin", "weather", "a", "a_", "n".repeat(64));
    const name = fc.oneof(
      fc.string({ minLength: 1, maxLength: 130, unit: "grapheme" }),
      fc.stringMatching(/^[a-c._-]{1,4}$/),
      fc.stringMatching(/^[A-Za-z0-9_.-]{1,128}$/),
    );
    const one = fc.tuple(namespace, name, fc.constantFrom<Kind>("tool", "prompt"));
    const [drawn = []] = fc.sample(fc.array(one, { minLength: 10_000, maxLength: 10_000 }), { numRuns: 1, seed: 1 });
    const unique = [...new Map(drawn.map((each) => [each.join(" "), each])).values()];
    const entries = unique.map(([space, text, kind]) => entry(space, text, kind));
    expect(entries.length).toBeGreaterThan(5_000);
    const given = aliasesOf(entries);
    expect(given.size).toBe(entries.length);
    expect([...given.keys()].filter((alias) => !allowed.test(alias))).toEqual([]);
    expect(new Set(given.values()).size).toBe(entries.length);
    const again = aliasesOf([...entries].reverse());
    expect([...given].every(([alias, each]) => again.get(alias) === each)).toBe(true);
  });
});

test("a schema is shortened as far as 100 levels, however deep it is", () => {
  const texts = { title: "A title.", description: "First. Second." };
  let inputSchema: JsonSchema = {};
  for (let level = 0; level < 50_000; level++) inputSchema = { ...texts, not: inputSchema };
  let schema: unknown = shortened({ name: "deep", description: undefined, inputSchema }).inputSchema;
  const inner: unknown[] = [];
  for (let level = 0; level < 110; level++) {
    const { not, ...rest } = schema as JsonSchema;
    inner.push(rest);
    schema = not;
  }
  expect(inner[0]).toEqual({});
  expect(inner.slice(1, 101)).toEqual(Array.from({ length: 100 }, () => ({ description: "First." })));
  expect(inner[101]).toEqual(texts);
});

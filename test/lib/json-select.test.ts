import { search } from "@jmespath-community/jmespath";
import { describe, expect, test } from "vitest";
import { parseSelection, selectJson } from "../../src/lib/json-select/select-json.ts";
import { writeJson } from "../../src/lib/json-select/select-value.ts";
import { StepBudget } from "../../src/lib/step-budget.ts";

const data = {
  items: [
    { id: 1, name: "b", price: 5, tags: ["x", "y"], stock: { here: 2, there: 0 } },
    { id: 2, name: "a", price: 12.5, tags: [], stock: null },
    { id: 3, name: "c", price: 1, tags: ["y"], nested: [[1, 2], [3], 4] },
  ],
  text: "naïve 👍 text",
  empty: {},
  none: null,
  flag: false,
  "odd key": [3, 1, 2],
  constructor: "own",
};

async function selected(expression: string, value: unknown = data, steps = 100_000): Promise<unknown> {
  const budget = new StepBudget(steps);
  return JSON.parse(writeJson(selectJson(await parseSelection(expression), value, budget), budget));
}

const expressions = [
  ..."items[0] items[-1].id items[9] items[*].name items[].tags items[].tags[] items[*].tags[0]".split(" "),
  "items[?price > `4`].id",
  "items[?tags[0] == 'x' || id == `3`].{id: id, n: name, more: [price, none]}",
  "items[?!tags].id",
  "items[?price >= `5` && price <= `12.5`] | [0].name",
  "items[?stock != `null`].stock.*",
  "items[1:].id | [::-1]",
  "items[:2].id",
  "items[5:0:-2].id",
  "text[0:6]",
  "items[2].nested[]",
  "items[2].nested[][]",
  "stock.here || flag || 'other'",
  "flag && text",
  "*.id",
  '"odd key"[1]',
  "@.empty",
  "$.text",
  "none.x",
  '`{"a": [1, {"b": null}]}`.a[1]',
  "items[0] == items[0] && items[0] != items[1]",
  "text < `3`",
  "missing[0].x[*]",
  "abs(`-3`)",
  "avg(items[].price)",
  "avg(`[]`)",
  "ceil(`1.2`)",
  "floor(`-1.2`)",
  "contains(text, 'text')",
  "contains(items[].id, `2`)",
  "contains(items, items[0])",
  "ends_with(text, 'text')",
  "starts_with(text, 'na')",
  "join(', ', items[].name)",
  "keys(items[0].stock)",
  "values(items[0].stock)",
  "length(text)",
  "length(items)",
  "length(items[0])",
  "map(&id, items)",
  "max(items[].price)",
  "min(items[].name)",
  "max(`[]`)",
  "max_by(items, &price).id",
  "min_by(items, &price).id",
  "merge(empty, {a: `1`}, {a: `2`, b: `3`})",
  "not_null(none, missing, text)",
  "reverse(items[].id)",
  "reverse('abc')",
  "sort(items[].name)",
  'sort("odd key")',
  "sort_by(items, &price)[].id",
  "sum(items[].price)",
  "to_array(text)",
  "to_array(items[].id)",
  "to_number('12.5')",
  "to_number('x')",
  "to_string(items[0].stock)",
  "to_string('x')",
  "type(none)",
  "[type(items), type(empty), type(text), type(flag), type(items[0].id)]",
  "items[].tags[].length(@)",
  "items[*].[id, stock.here]",
];

describe("a selection from JSON", () => {
  for (const expression of expressions)
    test(`is what the library makes of it: ${expression}`, async () => {
      expect(await selected(expression)).toEqual(JSON.parse(JSON.stringify(search(data, expression) ?? null)));
    });

  // The library finds nothing here, against the specification.
  test("takes texts for the order of min_by too", async () => {
    expect(await selected("min_by(items, &name).id")).toBe(2);
  });

  test("never sees what is inherited", async () => {
    const inherited = ["constructor", "toString", "__proto__", "__proto__.constructor", "items[0].constructor.name"];
    expect(await Promise.all(inherited.map((expression) => selected(expression)))).toEqual([
      "own",
      null,
      null,
      null,
      null,
    ]);
    expect(JSON.stringify(await selected('{"__proto__": text}'))).toBe('{"__proto__":"naïve 👍 text"}');
  });

  const wrong: readonly (readonly [expression: string, says: RegExp])[] = [
    ["items[", /token|Expected/i],
    ["nosuch(items)", /nosuch, which is no function.*abs, avg/],
    ["constructor(items)", /no function/],
    ["length()", /0 arguments/],
    ["length(none)", /null as argument 1: it takes string or list or object/],
    ["sort_by(items, &tags)", /neither always a number/],
    ["sort(items[].tags)", /list as argument 1/],
    ["items[::0]", /step/],
    ["let $x = text in $x", /not supported/],
    ["a".repeat(1_001), /1001 characters/],
  ];
  for (const [expression, says] of wrong)
    test(`is refused: ${expression.slice(0, 40)}`, async () => {
      await expect(selected(expression)).rejects.toThrow(says);
      await expect(selected(expression)).rejects.toMatchObject({ name: "InvalidSelection" });
    });
});

import { expect, test } from "vitest";
import { didYouMean, nearest, orDidYouMean } from "../../src/lib/similar.ts";

const names = ["weather.forecast", "weather.history", "files.read", "files.write", "builtin.forecast", "search"];

const cases: readonly (readonly [word: string, expected: readonly string[]])[] = [
  ["forecats", ["builtin.forecast", "weather.forecast"]],
  ["weather.forcast", ["weather.forecast"]],
  ["FILES.READ", ["files.read"]],
  ["files", ["files.read", "files.write"]],
  ["saerch", ["search"]],
  ["serach", ["search"]],
  ["nothing like it", []],
  ["", []],
  ["x".repeat(300), []],
];

for (const [word, expected] of cases) {
  test(`near ${JSON.stringify(word.slice(0, 20))} is ${expected.join(", ") || "nothing"}`, () => {
    expect(nearest(word, names, 3)).toEqual(expected);
    expect(nearest(word, [...names].reverse(), 3)).toEqual(expected);
    expect(nearest(word, names, 1)).toEqual(expected.slice(0, 1));
  });
}

test("the nearest of many are those of any order, ties by name", () => {
  const many = Array.from({ length: 2_000 }, (_, index) => `server.tool_${index}`);
  const expected = ["server.tool_1234", "server.tool_1034", "server.tool_1134"];
  expect(nearest("server.tool_1234", many, 3)).toEqual(expected);
  expect(nearest("server.tool_1234", many.reverse(), 3)).toEqual(expected);
});

test("a name of more than 256 characters is not suggested", () => {
  const name = (length: number) => `search_${"x".repeat(length - 7)}`;
  expect(nearest("search", [name(257), name(256)])).toEqual([name(256)]);
});

test("a question has three names at most, each in quotes; without any, what else is to be said", () => {
  expect(didYouMean(["a"])).toBe('Did you mean "a"?');
  expect(didYouMean(["a", "b"], "There are a, b.")).toBe('Did you mean "a" or "b"?');
  expect(didYouMean(["a", "b\n", "c", "d"])).toBe('Did you mean "a", "b\\n" or "c"?');
  expect([didYouMean([]), didYouMean([], "There are a, b.")]).toEqual(["", "There are a, b."]);
  expect([orDidYouMean([]), orDidYouMean(["a"])]).toEqual(["", ' Did you mean "a"?']);
});

import { expect, test } from "vitest";
import { wordsOf } from "../../src/lib/words.ts";

const cases: readonly (readonly [text: string, words: readonly string[]])[] = [
  ["getUserNames get_user_names get-user-name", ["get", "user", "name", "get", "user", "name", "get", "user", "name"]],
  ["HTTPServer parseJSON2Csv", ["http", "server", "pars", "json2", "csv"]],
  ["cities, boxes, statuses and classes", ["citi", "box", "status", "class"]],
  ["stopping stopped stops to stop", ["stop", "stop", "stop", "stop"]],
  ["Could you please give me the 2 of them?", ["2"]],
  ["查询天气 by city", ["查询", "询天", "天气", "citi"]],
  ["Über-Größe", ["über", "größ"]],
  ["", []],
];

for (const [text, words] of cases) {
  test(`the words of ${JSON.stringify(text)}`, () => expect(wordsOf(text, 1_000)).toEqual(words));
}

test("a text is read as far as its bound, and a word compared as far as it is sensible", () => {
  expect(wordsOf("alpha beta gamma", 10)).toEqual(["alpha", "beta"]);
  expect(wordsOf("x".repeat(1_000), 1_000)).toEqual(["x".repeat(40)]);
});

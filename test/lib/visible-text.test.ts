import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stripInvisible, visible, visibleLines, withoutInvisible } from "../../src/lib/visible-text.ts";

// The same as regular expressions: short, and slow where much does not show.
const shown = "(?!\\p{DI})[\\p{L}\\p{M}\\p{Extended_Pictographic}\\p{Emoji_Modifier}]";
const joinable = `(?![\\0-\\u036f\\u1e00-\\u1eff])${shown}`;
const hidden = [
  "(?![\\t\\n\\ufe0e\\ufe0f\\u200c\\u200d])[\\p{Cc}\\p{DI}\\u2028\\u2029\\ufff9-\\ufffb]",
  "(?<!\\p{Emoji})[\\ufe0e\\ufe0f]",
  `(?<!${joinable}\\ufe0f?)[\\u200c\\u200d]`,
  `[\\u200c\\u200d](?!${shown})`,
].join("|");
const ansi = "(?:\\u001b\\[|\\u009b)[0-?]*[ -\\/]*[@-~]|\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)";
const hiddenPattern = new RegExp(hidden, "gu");

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\r") return "\\r";
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
const unit = (at: string) => `\\u${at.charCodeAt(0).toString(16).padStart(4, "0")}`;

const byExpression = (text: string) => ({
  stripped: text.replace(new RegExp(`${ansi}|${hidden}`, "gu"), (found) => (/[\u2028\u2029]/.test(found) ? "\n" : "")),
  visible: text.replace(new RegExp(`\\n|${hidden}`, "gu"), escaped),
  lines: text.replace(hiddenPattern, escaped),
  pattern: text.replace(hiddenPattern, (found) => found.split("").map(unit).join("")),
});
const byScan = (text: string) => ({
  stripped: stripInvisible(text),
  visible: visible(text),
  lines: visibleLines(text),
  pattern: (withoutInvisible({ pattern: text }) as { readonly pattern: string }).pattern,
});

/** Characters that matter to one another, and parts of sequences for terminals and of pairs. */
const pieces = [
  ..."\u0000\u0007\u001b\u0085\u009b\r\n\t\u00ad\u034f\u115f\u180e\u200b\u200c\u200d\u200e\u2028\u202e\u2060\u2066\u3164\ufe0e\ufe0f\ufeff\ufff9\uffa0",
  ..."\u{e0001}\u{e0041}\u{e007f}\u{e0101}\u{1d173}\u{1f468}\u{1f3fd}\u2764\u0915\u094d\u0627é\u1e00\u{20000}",
  ..."a1#[]\\;m ",
  "\ud800",
  "\udc00",
  "\ud83d",
  "\u001b[",
  "\u001b]",
  "\u001b[31m",
  "\u001b]8;;x\u0007",
  "\u001b]x\u001b\\",
];

describe("text that does not show", () => {
  test("is found by a scan as by regular expressions", () => {
    const texts = fc.oneof(
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join("")),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(byScan(text)).toEqual(byExpression(text));
      }),
      { numRuns: 5_000 },
    );
  });

  test("is the same for every character, alone and between others", () => {
    // The other planes have ideographs and nothing else.
    const planes = [0, 0x10000, 0xe0000].flatMap((plane) => Array.from({ length: 0x1000 }, (_, at) => plane + at * 16));
    for (const first of planes) {
      const text = Array.from({ length: 16 }, (_, at) => `${String.fromCodePoint(first + at)}\u200d\u0915\ufe0f`).join(
        "",
      );
      if (visible(text) !== byExpression(text).visible)
        expect(byScan(text), first.toString(16)).toEqual(byExpression(text));
    }
  });
});

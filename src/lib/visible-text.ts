import { isRecord } from "./value.ts";

/** A letter, mark or emoji that takes up room. */
const shown = "(?!\\p{DI})[\\p{L}\\p{M}\\p{Extended_Pictographic}\\p{Emoji_Modifier}]";
/** One that a joiner may follow: Latin letters and those near them are never joined. */
const joinable = `(?![\\0-\\u036f\\u1e00-\\u1eff])${shown}`;

/**
 * A character that does not show, or that changes how others show: controls (all but newline and tab), bidi controls, zero-width
 * characters, tags, fillers, and separators of lines. Joiners within emoji and within words of scripts that need them are kept, and so is
 * the variation selector of an emoji.
 */
const hidden = [
  "(?![\\t\\n\\ufe0e\\ufe0f\\u200c\\u200d])[\\p{Cc}\\p{DI}\\u2028\\u2029\\ufff9-\\ufffb]",
  "(?<!\\p{Emoji})[\\ufe0e\\ufe0f]",
  `(?<!${joinable}\\ufe0f?)[\\u200c\\u200d]`,
  `[\\u200c\\u200d](?!${shown})`,
].join("|");

/** A sequence for terminals: such as a colour, a title or a link. One without an end is its first character only. */
const ansi = "(?:\\u001b\\[|\\u009b)[0-?]*[ -\\/]*[@-~]|\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)";

const hiddenPattern = new RegExp(hidden, "gu");
const hiddenOrLine = new RegExp(`\\n|${hidden}`, "gu");
const strippedPattern = new RegExp(`${ansi}|${hidden}`, "gu");

/** The text without what does not show, sequences for terminals included. Newlines and tabs stay. */
export function stripInvisible(text: string): string {
  return text.replace(strippedPattern, (found) => (found === "\u2028" || found === "\u2029" ? "\n" : ""));
}

/** The text on one line, with an escape such as `\u{200b}` for each character that does not show: it can forge no line of a log. */
export function visible(text: string): string {
  return text.replace(hiddenOrLine, escaped);
}

/** As {@link visible}; newlines stay. */
export function visibleLines(text: string): string {
  return text.replace(hiddenPattern, escaped);
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\r") return "\\r";
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** Changes a text of a JSON value. `at` is the name of the member whose value it is, or whose members it names one of. */
type MapText = (text: string, at: string | undefined) => string;

/** The JSON value with each of its texts changed, names of members included; the same value where none is. */
export function mapTexts(value: unknown, map: MapText, at?: string): unknown {
  if (typeof value === "string") return map(value, at);
  if (Array.isArray(value)) {
    const list = value.map((each) => mapTexts(each, map));
    return list.every((each, index) => each === value[index]) ? value : list;
  }
  if (!isRecord(value)) return value;
  const before = Object.entries(value);
  const after = before.map(([name, each]) => [map(name, at), mapTexts(each, map, name)] as const);
  const isSame = after.every(([name, each], index) => name === before[index]?.[0] && each === before[index]?.[1]);
  return isSame ? value : Object.fromEntries(after);
}

/**
 * The JSON value, such as a schema, with {@link stripInvisible} on each of its texts; the same value where nothing is stripped. Patterns mean
 * what they meant: they have escapes instead.
 */
export function withoutInvisible(value: unknown): unknown {
  return mapTexts(value, (text, at) =>
    at === "pattern" || at === "patternProperties" ? unicodeEscaped(text) : stripInvisible(text),
  );
}

/** The text with an escape such as `\\u200b` for each character that does not show: for JSON and patterns, where it means the same. */
export function unicodeEscaped(text: string): string {
  const unit = (at: string) => `\\u${at.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(hiddenPattern, (found) => found.split("").map(unit).join(""));
}

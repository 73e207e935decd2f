import { isRecord } from "./value.ts";

/*
 * Text that does not show, or that changes how other text shows: controls (all but newline and tab), bidi controls, zero-width characters,
 * tags, fillers, and separators of lines. Joiners within emoji and within words of scripts that need them show, and so does the variation
 * selector of an emoji. Each text is scanned once, with a table of what each character is: hostile texts have a million of them.
 */

// The traits of a character, as bits.
const isKnown = 1;
const isHidden = 2;
const isEmoji = 4;
/** A letter, mark or emoji that takes up room. */
const isShown = 8;
/** One of these that a joiner may follow: Latin letters and those near them are never joined. */
const isJoinable = 16;
const isSelector = 32;
const isJoiner = 64;
/** Those that do not show, and those of which their neighbours decide. */
const mayHide = isHidden | isSelector | isJoiner;

// As texts: in a literal the linter takes what does not show for a mistake.
const shown = "[\\p{L}\\p{M}\\p{Extended_Pictographic}\\p{Emoji_Modifier}]";
const patterns = (
  [
    [isHidden, "(?![\\t\\n\\ufe0e\\ufe0f\\u200c\\u200d])[\\p{Cc}\\p{DI}\\u2028\\u2029\\ufff9-\\ufffb]"],
    [isEmoji, "\\p{Emoji}"],
    [isShown, `(?!\\p{DI})${shown}`],
    [isJoinable, `(?![\\0-\\u036f\\u1e00-\\u1eff]|\\p{DI})${shown}`],
    [isSelector, "[\\ufe0e\\ufe0f]"],
    [isJoiner, "[\\u200c\\u200d]"],
  ] as const
).map(([trait, pattern]) => [trait, new RegExp(`^${pattern}$`, "u")] as const);

/** The traits of each character that was met. What was not takes no memory. */
const known = new Uint8Array(0x110000);

function traitsOf(character: number): number {
  return known[character] || traitsMet(character);
}

function traitsMet(character: number): number {
  const text = String.fromCodePoint(character);
  const traits = patterns.reduce((all, [trait, pattern]) => (pattern.test(text) ? all | trait : all), isKnown);
  known[character] = traits;
  return traits;
}

function isLead(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

/** The traits of the character that ends there. */
function traitsBefore(text: string, end: number): number {
  if (end <= 0) return 0;
  const last = text.charCodeAt(end - 1);
  const isPair = (last & 0xfc00) === 0xdc00 && end > 1 && isLead(text.charCodeAt(end - 2));
  return traitsOf(isPair ? (text.codePointAt(end - 2) ?? last) : last);
}

/** Whether a character with these traits does not show where it is. */
function hides(text: string, at: number, traits: number): boolean {
  if ((traits & isHidden) !== 0) return true;
  if ((traits & isSelector) !== 0) return (traitsBefore(text, at) & isEmoji) === 0;
  const end = at > 0 && text.charCodeAt(at - 1) === 0xfe0f ? at - 1 : at;
  if ((traitsBefore(text, end) & isJoinable) === 0) return true;
  return (traitsOf(text.codePointAt(at + 1) ?? 0) & isShown) === 0;
}

/** The first character from there on that does not show, or newline if these count; the length of the text where there is none. */
function nextHidden(text: string, from: number, isOneLine: boolean): number {
  const { length } = text;
  for (let at = from; at < length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x20 && unit < 0x7f) continue;
    if (unit === 0x0a && isOneLine) return at;
    if (!isLead(unit)) {
      const traits = traitsOf(unit);
      if ((traits & mayHide) !== 0 && hides(text, at, traits)) return at;
      continue;
    }
    const character = text.codePointAt(at) ?? unit;
    if ((traitsOf(character) & isHidden) !== 0) return at;
    if (character > 0xffff) at += 1;
  }
  return length;
}

/** A sequence for terminals, such as a colour, a title or a link. One without an end is its first character only. */
const esc = "\\u001b";
const sequence = new RegExp(
  `(?:${esc}\\[|\\u009b)[0-?]*[ -\\/]*[@-~]|${esc}\\][^\\u0007${esc}]*(?:\\u0007|${esc}\\\\)`,
  "uy",
);

/** The end of the sequence for terminals that begins there; undefined where none does. */
function sequenceEnd(text: string, at: number): number | undefined {
  const unit = text.charCodeAt(at);
  if (unit !== 0x9b && !(unit === 0x1b && /[[\]]/.test(text[at + 1] ?? ""))) return undefined;
  sequence.lastIndex = at;
  return sequence.test(text) ? sequence.lastIndex : undefined;
}

interface Rewriting {
  /** The text in place of a character. */
  readonly instead: (character: number) => string;
  /** Whether newlines are replaced too. */
  readonly isOneLine?: boolean;
  /** Whether sequences for terminals are left out whole. */
  readonly isStripped?: boolean;
}

/** The text with what does not show replaced; itself where nothing is. */
function rewritten(text: string, { instead, isOneLine = false, isStripped = false }: Rewriting): string {
  let found = nextHidden(text, 0, isOneLine);
  if (found === text.length) return text;
  const written = new Writer(text.length);
  let at = 0;
  let last = -1;
  let replacement = "";
  while (at < text.length) {
    written.copy(text, at, found);
    if (found === text.length) break;
    const end = isStripped ? sequenceEnd(text, found) : undefined;
    const character = text.codePointAt(found) ?? 0;
    at = end ?? found + (character > 0xffff ? 2 : 1);
    if (end === undefined) {
      if (character !== last) replacement = instead(character);
      last = character;
      written.copy(replacement, 0, replacement.length);
    }
    found = nextHidden(text, at, isOneLine);
  }
  return written.toString();
}

/** Joins parts of texts in UTF-16: hostile texts have a million, and as many strings would take ten times as long. */
class Writer {
  units: Uint16Array;
  length = 0;

  constructor(capacity: number) {
    this.units = new Uint16Array(capacity);
  }

  copy(text: string, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.units.length) this.grow(length * 2);
    const { units } = this;
    for (let from = start, to = this.length; from < end; from++, to++) units[to] = text.charCodeAt(from);
    this.length = length;
  }

  grow(capacity: number): void {
    const units = new Uint16Array(capacity);
    units.set(this.units);
    this.units = units;
  }

  toString(): string {
    return Buffer.from(this.units.buffer).toString("utf16le", 0, this.length * 2);
  }
}

/** The text without what does not show, sequences for terminals included. Newlines and tabs stay. */
export function stripInvisible(text: string): string {
  return rewritten(text, { instead: stripped, isStripped: true });
}

/** The text on one line, with an escape such as `\u{200b}` for each character that does not show: it can forge no line of a log. */
export function visible(text: string): string {
  return rewritten(text, { instead: escaped, isOneLine: true });
}

/** As {@link visible}; newlines stay. */
export function visibleLines(text: string): string {
  return rewritten(text, { instead: escaped });
}

function stripped(character: number): string {
  return character === 0x2028 || character === 0x2029 ? "\n" : "";
}

function escaped(character: number): string {
  if (character === 0x0a) return "\\n";
  if (character === 0x0d) return "\\r";
  return `\\u{${character.toString(16)}}`;
}

/** Changes a text of a JSON value. `at` is the name of the member whose value it is, or whose members it names one of. */
type MapText = (text: string, at: string | undefined) => string;

/** The JSON value with each of its texts changed, names of members included; the same value where none is. */
export function mapTexts(value: unknown, map: MapText, at?: string): unknown {
  if (typeof value === "string") return map(value, at);
  if (Array.isArray(value)) {
    let list: unknown[] | undefined;
    for (let index = 0; index < value.length; index += 1) {
      const mapped = mapTexts(value[index], map);
      if (mapped === value[index]) continue;
      list ??= [...value];
      list[index] = mapped;
    }
    return list ?? value;
  }
  if (!isRecord(value)) return value;
  const names = Object.keys(value);
  // Made only where something changes, which is rare: each list of each server comes by here.
  let members: (readonly [string, unknown])[] | undefined;
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] ?? "";
    const before = value[name];
    const shown = map(name, at);
    const mapped = mapTexts(before, map, name);
    if (shown !== name || mapped !== before)
      members ??= names.slice(0, index).map((same) => [same, value[same]] as const);
    members?.push([shown, mapped]);
  }
  return members === undefined ? value : Object.fromEntries(members);
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
  return rewritten(text, { instead: (found) => String.fromCodePoint(found).split("").map(unit).join("") });
}

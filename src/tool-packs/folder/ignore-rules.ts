import { anyNumber, fitsInOrder, type Piece } from "../../lib/glob.ts";

/** More rules of one file, and longer ones, are left out: those of a stranger must not take long for each file. */
const maxRules = 1_000;
const maxRuleLength = 500;

interface Rule {
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  readonly segments: readonly Piece<string>[];
}

/**
 * The rules of a `.gitignore` file, or one pattern in its syntax. Time for a path is in proportion to rule times path, whatever they are.
 *
 * @see https://git-scm.com/docs/gitignore#_pattern_format
 */
export class IgnoreRules {
  readonly #rules: readonly Rule[];

  constructor(text: string) {
    const lines = text.split(/\r?\n/, maxRules);
    this.#rules = lines.flatMap((line) => (line.length <= maxRuleLength ? (parseRule(line) ?? []) : []));
  }

  /**
   * The verdict on a path: `true` to ignore it, `false` to take it in again, undefined where no rule speaks of it. The last rule that fits wins.
   *
   * @param path - its segments, relative to the folder of the rules
   */
  verdict(path: readonly string[], isFolder: boolean): boolean | undefined {
    for (const { negated, foldersOnly, segments } of this.#rules.toReversed())
      if ((isFolder || !foldersOnly) && fitsInOrder(segments, path)) return !negated;
    return undefined;
  }

  /** True where a rule, or one for a folder above it, fits the file. */
  fits(path: readonly string[]): boolean {
    for (let length = 1; length <= path.length; length += 1)
      if (this.verdict(path.slice(0, length), length < path.length) === true) return true;
    return false;
  }
}

function parseRule(line: string): Rule | undefined {
  let text = line.replace(/(?<!\\)\s+$/, "");
  if (text === "" || text.startsWith("#")) return undefined;
  const negated = text.startsWith("!");
  if (negated) text = text.slice(1);
  const foldersOnly = text.endsWith("/");
  if (foldersOnly) text = text.slice(0, -1);
  // A slash that is not at the end ties the rule to its folder.
  const parts = text.split("/");
  const anchored = parts.length > 1;
  if (parts[0] === "") parts.shift();
  if (parts.length === 0 || parts.includes("")) return undefined;
  const segments = parts.map((part) => (part === "**" ? anyNumber : segmentOf(part)));
  // `a/**` is all that is in `a`, not `a` itself.
  if (segments.at(-1) === anyNumber) segments.push(anything);
  return { negated, foldersOnly, segments: anchored ? segments : [anyNumber, ...segments] };
}

function anything(): boolean {
  return true;
}

/** The condition that a rule has for one segment of a path. */
function segmentOf(pattern: string): (segment: string) => boolean {
  if (!/[*?[\\]/.test(pattern)) return (segment) => segment === pattern;
  const pieces = piecesOf([...pattern]);
  return (segment) => fitsInOrder(pieces, [...segment]);
}

function piecesOf(characters: readonly string[]): Piece<string>[] {
  const pieces: Piece<string>[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at];
    const end = character === "[" ? classEnd(characters, at) : -1;
    if (character === "*") pieces.push(anyNumber);
    else if (character === "?") pieces.push(anything);
    else if (end > 0) {
      pieces.push(classOf(characters.slice(at + 1, end)));
      at = end;
    } else {
      if (character === "\\" && at + 1 < characters.length) at += 1;
      const wanted = characters[at];
      pieces.push((other) => other === wanted);
    }
  }
  return pieces;
}

/** Where a class ends; a `]` that comes first belongs to it. */
function classEnd(characters: readonly string[], begin: number): number {
  const first = begin + (characters[begin + 1] === "!" || characters[begin + 1] === "^" ? 2 : 1);
  return characters.indexOf("]", first + 1);
}

/** One character of a class such as `[a-z_]` or `[!0-9]`. */
function classOf(members: readonly string[]): (character: string) => boolean {
  const negated = members[0] === "!" || members[0] === "^";
  const rest = negated ? members.slice(1) : members;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < rest.length; at += 1) {
    const from = rest[at] ?? "";
    const isRange = rest[at + 1] === "-" && at + 2 < rest.length;
    ranges.push([from, isRange ? (rest[at + 2] ?? from) : from]);
    if (isRange) at += 2;
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== negated;
}

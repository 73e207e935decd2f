import type { RE2JS } from "re2js";
import { loadRe2js } from "../../lib/lazy-libraries.ts";
import { toPattern } from "./check.ts";
import { toLinearSyntax, UnsupportedPattern } from "./linear-syntax.ts";

/** A regular expression whose time grows with the length of the text, and no faster. */
export interface LinearPattern {
  /** The number of steps one character may take at most. */
  readonly size: number;
  test(text: string): boolean;
}

/** A longer one is compiled for longer than anybody should wait, and so is one that makes a larger program. */
const maxLength = 1_000;
const maxSize = 10_000;

/**
 * Compiles a pattern of ECMA-262 for an engine that never goes back.
 *
 * Lookaheads are understood where they are usual: as conditions on the whole text, at its very beginning (`^(?!\.)(?=.*\d)...`).
 *
 * @throws Error for what is no pattern, what looks around elsewhere or refers back, and for what is too large
 */
export function toLinearPattern(source: string): LinearPattern {
  if (source.length > maxLength) throw new UnsupportedPattern(`${source.slice(0, 50)}...`, "it is too long");
  // RE2 may read a pattern that ECMA-262 refuses in its own way.
  if (toPattern(source) === undefined) throw new UnsupportedPattern(source, "it is no regular expression (ECMA-262)");
  const { conditions, rest } = withoutConditions(source);
  const guards = conditions.map(({ wanted, body }) => ({ wanted, pattern: compiled(`^(?:${body})`, source) }));
  const main = compiled(rest, source);
  const size = guards.reduce((sum, { pattern }) => sum + pattern.programSize(), main.programSize());
  if (size > maxSize) throw new UnsupportedPattern(source, "it repeats too much");
  return {
    size,
    test: (text) => guards.every(({ wanted, pattern }) => pattern.test(text) === wanted) && main.test(text),
  };
}

/** A match of a pattern in a text: where it begins, and where it ends. */
export interface TextMatch {
  readonly start: number;
  readonly end: number;
}

/** A pattern that is searched for, in lines. */
export interface LinearSearch {
  /** The number of steps one character may take at most, for each match. */
  readonly size: number;
  /** The matches in a text, one after the other; empty ones as well. */
  matches(text: string): Iterable<TextMatch>;
}

/**
 * Compiles a pattern of ECMA-262 to search with: `^` and `$` stand for the ends of lines.
 *
 * @throws UnsupportedPattern for what is no pattern, what looks around or refers back, and for what is too large
 */
export function toLinearSearch(source: string, ignoreCase: boolean): LinearSearch {
  if (source.length > maxLength) throw new UnsupportedPattern(`${source.slice(0, 50)}...`, "it is too long");
  if (toPattern(source) === undefined) throw new UnsupportedPattern(source, "it is no regular expression (ECMA-262)");
  const pattern = compiled(source, source, ignoreCase ? "(?im)" : "(?m)");
  return {
    size: pattern.programSize(),
    *matches(text) {
      const matcher = pattern.matcher(text);
      while (matcher.find()) yield { start: matcher.start(), end: matcher.end() };
    },
  };
}

function compiled(part: string, source: string, flags = ""): RE2JS {
  const syntax = `${flags}${toLinearSyntax(part)}`;
  try {
    return loadRe2js().compile(syntax);
  } catch (error) {
    throw new UnsupportedPattern(source, error instanceof Error ? error.message : String(error));
  }
}

interface Condition {
  readonly wanted: boolean;
  readonly body: string;
}

/** Takes the lookaheads off that follow `^`: each holds for the whole text, whatever comes after them. */
function withoutConditions(source: string): { readonly conditions: readonly Condition[]; readonly rest: string } {
  const conditions: Condition[] = [];
  let at = 1;
  while (source.startsWith("^") && /^\(\?[=!]/.test(source.slice(at, at + 3))) {
    const end = closing(source, at);
    conditions.push({ wanted: source[at + 2] === "=", body: source.slice(at + 3, end) });
    at = end + 1;
  }
  const rest = `^${source.slice(at)}`;
  // A condition may be repeated, and of alternatives it belongs to the first alone.
  const isPlain = !/^\^[*+?{]/.test(rest) && closing(`${rest}|`, 0, "|") === rest.length;
  return conditions.length > 0 && isPlain ? { conditions, rest } : { conditions: [], rest: source };
}

/** Where the group that begins at a place ends; or where, outside of groups, something else stands. */
function closing(source: string, from: number, sought = ")"): number {
  let depth = 0;
  for (const { 0: one, index } of source.slice(from).matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|[()|]/gs)) {
    if (one === "(") depth += 1;
    if (one === ")") depth -= 1;
    if (one === sought && depth === 0) return from + index;
  }
  return source.length;
}

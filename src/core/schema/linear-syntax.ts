/** A pattern that RE2 cannot match in linear time, or would read differently from ECMA-262. */
export class UnsupportedPattern extends Error {
  override readonly name = "UnsupportedPattern";
  readonly why: string;

  constructor(source: string, why: string) {
    super(
      `The pattern ${JSON.stringify(source)} is not supported in the schema of a remote tool or a prompt file: ${why}.`,
    );
    this.why = why;
  }
}

/** One thing of a pattern: a class, an escape, a group, or a character. */
const token =
  /\[(?<negated>\^?)(?<members>(?:\\.|[^\]\\])*)\]|\\u\{[\da-f]+\}|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\c[a-z]|\\p\{[^}]*\}|\\.|\(\?<(?![=!])|./gisu;
/** As `token`, inside a class. */
const member =
  /\\u\{[\da-f]+\}|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\c[a-z]|\\p\{[^}]*\}|\\.|./gisu;

// The blanks of ECMA-262, and all that is none, in ascending order.
const blanks = "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const others =
  "\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const everything = "\\x00-\\x{10ffff}";

/** An ECMA-262 pattern in the words of RE2, meaning the same. What RE2 has no words for is left for it to refuse. */
export function toLinearSyntax(source: string): string {
  return source.replace(token, (whole: string, ...rest: unknown[]) => {
    const { negated = "", members } = rest.at(-1) as { readonly negated?: string; readonly members?: string };
    if (members === "") return negated === "" ? `[^${everything}]` : `[${everything}]`;
    if (members !== undefined) return `[${negated}${members.replace(member, (one) => memberOf(one, source))}]`;
    return outside(whole, source);
  });
}

function outside(one: string, source: string): string {
  switch (one) {
    case ".":
      return "[^\\n\\r\\x{2028}\\x{2029}]";
    case "(?<":
      return "(?P<";
    case "\\s":
      return `[${blanks}]`;
    case "\\S":
      return `[${others}]`;
    case "\\b":
    case "\\B":
      return one;
    default:
      return one.startsWith("\\") ? escaped(one, source) : one;
  }
}

function memberOf(one: string, source: string): string {
  switch (one) {
    // In RE2 it may begin the name of a class.
    case "[":
      return "\\[";
    case "\\s":
      return blanks;
    case "\\S":
      return others;
    case "\\b":
      return "\\x08";
    default:
      return one.startsWith("\\") ? escaped(one, source) : one;
  }
}

function escaped(given: string, source: string): string {
  const [, letter = "", ...more] = given;
  if (more.length > 0) return longEscape(given, letter);
  if (/[dDwWnrtvf]/.test(letter)) return given;
  if (letter === "0") return "\\x00";
  if (/[1-9k]/.test(letter)) throw new UnsupportedPattern(source, "it refers back to what a group matched");
  if (/[a-z]/i.test(letter)) throw new UnsupportedPattern(source, `${given} means nothing in ECMA-262`);
  return code(letter.codePointAt(0) ?? 0);
}

function longEscape(given: string, letter: string): string {
  switch (letter) {
    case "p":
    case "P":
      return given.replace(/\{(?:Script|sc|General_Category|gc)=/, "{");
    case "c":
      return code((given.codePointAt(2) ?? 0) % 32);
    default: {
      const units = given.match(/[\da-f]+/gi) ?? [];
      const numbers = units.map((unit) => Number.parseInt(unit, 16));
      return code(numbers.length > 1 ? (String.fromCharCode(...numbers).codePointAt(0) ?? 0) : (numbers[0] ?? 0));
    }
  }
}

function code(point: number): string {
  return `\\x{${point.toString(16)}}`;
}

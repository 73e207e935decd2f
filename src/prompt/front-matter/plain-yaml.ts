/**
 * Parses the YAML that most prompts are written in: fields, lists and texts of one line each, `[a, b]`, `{ a: b }` and `|` blocks. The
 * result is that of the library, or undefined for everything that is not certain here, correct or not: then the library is needed,
 * which takes many times as long.
 */
export function parsePlainYaml(yaml: string): Readonly<Record<string, unknown>> | undefined {
  if (unusual.test(yaml)) return undefined;
  try {
    return new PlainParser(yaml).document();
  } catch (error) {
    if (error === givenUp) return undefined;
    throw error;
  }
}

/** Tabs, control characters, other line ends, and blanks that are not the usual one. */
const unusual = /[^\n -~\u00a1-\u167f\u1681-\u1fff\u2030-\u205e\u2060-\u2fff\u3001-\ufefe]/;
const field = /^([A-Za-z_][A-Za-z0-9_-]{0,99}):(?: +(.*))?$/;
const number = /^-?(?:0|[1-9][0-9]{0,13})(?:\.[0-9]{1,10})?$/;
const words = new Map<string, unknown>([
  ...["null", "Null", "NULL"].map((word) => [word, null] as const),
  ...["true", "True", "TRUE"].map((word) => [word, true] as const),
  ...["false", "False", "FALSE"].map((word) => [word, false] as const),
]);
const maxDepth = 30;

const givenUp = Symbol("given up");

function giveUp(): never {
  throw givenUp;
}

type Fields = Record<string, unknown>;

function setField(fields: Fields, name: string, value: unknown): void {
  if (Object.hasOwn(fields, name) || name === "__proto__") giveUp();
  fields[name] = value;
}

/** Text without quotes, on one line; inside brackets the caller ends it before a character with a meaning. */
function plainValue(text: string): unknown {
  if (number.test(text)) return Number(text);
  if (words.has(text)) return words.get(text);
  if (!/^[A-Za-z_\u00a1-\uffff]/.test(text) || /:(?: |$)| #/.test(text)) giveUp();
  return text;
}

function indentOf(line: string): number {
  let indent = 0;
  while (line[indent] === " ") indent += 1;
  return indent;
}

class PlainParser {
  readonly #lines: string[];
  #at = 0;

  constructor(yaml: string) {
    this.#lines = yaml.split("\n");
  }

  document(): Fields {
    const first = this.#line();
    if (first === undefined) return {};
    const fields = this.#fields(0, 0);
    return this.#line() === undefined ? fields : giveUp();
  }

  /** The next line that is neither blank nor a comment. */
  #line(): string | undefined {
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] ?? "";
      const first = line[indentOf(line)];
      if (first !== undefined && first !== "#") return line;
    }
    return undefined;
  }

  #fields(indent: number, depth: number): Fields {
    if (depth > maxDepth) giveUp();
    const fields: Fields = {};
    for (let line = this.#line(); line !== undefined; line = this.#line()) {
      const own = indentOf(line);
      if (own < indent) break;
      const match = own > indent ? null : field.exec(line.slice(indent));
      if (match === null) return giveUp();
      this.#at += 1;
      const value = match[2]?.trimEnd() ?? "";
      setField(fields, match[1] ?? "", this.#value(value, indent, depth));
    }
    return fields;
  }

  #value(text: string, indent: number, depth: number): unknown {
    if (text === "") return this.#below(indent, depth);
    return text === "|" ? this.#literal(indent) : inlineValue(text);
  }

  /** The value below a field that has none on its line. */
  #below(indent: number, depth: number): unknown {
    const line = this.#line();
    const own = line === undefined ? -1 : indentOf(line);
    if (line === undefined || own < indent) return null;
    if (line.startsWith("- ", own)) return this.#list(own, depth + 1);
    return own === indent ? null : this.#fields(own, depth + 1);
  }

  #list(indent: number, depth: number): readonly unknown[] {
    const list: unknown[] = [];
    for (let line = this.#line(); line !== undefined; line = this.#line()) {
      const own = indentOf(line);
      if (own > indent) giveUp();
      if (own < indent || !line.startsWith("- ", own)) break;
      const start = own + 1 + indentOf(line.slice(own + 1));
      const text = line.slice(start).trimEnd();
      if (field.test(text)) {
        // The fields of an entry begin on its line.
        this.#lines[this.#at] = " ".repeat(start) + text;
        list.push(this.#fields(start, depth + 1));
      } else {
        this.#at += 1;
        list.push(inlineValue(text));
      }
    }
    return list;
  }

  /** A `|` block: its lines as they are, one line end after the last. */
  #literal(parent: number): string {
    const indent = indentOf(this.#lines[this.#at] ?? "");
    const lines: string[] = [];
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] ?? "";
      const own = indentOf(line);
      if (own === line.length) {
        if (own > 0 || lines.length === 0) giveUp();
      } else if (own <= parent) break;
      else if (own < indent) giveUp();
      lines.push(line.slice(indent));
    }
    return lines.length === 0 ? giveUp() : `${lines.join("\n").replace(/\n+$/, "")}\n`;
  }
}

/** A value on one line. */
function inlineValue(text: string): unknown {
  const first = text[0];
  if (first !== '"' && first !== "'" && first !== "[" && first !== "{") return plainValue(text);
  return new FlowParser(text).whole();
}

const listStart = /\[ */y;
const listEnd = / *\]/y;
const fieldsStart = /\{ */y;
const fieldsEnd = / *\}/y;
const fieldName = /([A-Za-z_][A-Za-z0-9_-]{0,99}): +/y;
const comma = / *, +/y;
const doubleQuoted = /"([^"\\]*)"/y;
const singleQuoted = /'([^']*)'/y;
const plainText = /[^[\]{},:#"'&*!|>%@`?]+/y;

/** Parses quoted text, `[a, b]` and `{ a: b }`. */
class FlowParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): unknown {
    const value = this.#value(0);
    return this.#at === this.#text.length ? value : giveUp();
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at = pattern.lastIndex;
    return match[1] ?? match[0];
  }

  #value(depth: number): unknown {
    if (depth > maxDepth) giveUp();
    const first = this.#text[this.#at];
    if (first === "[") return this.#list(depth);
    if (first === "{") return this.#fields(depth);
    if (first === '"') return this.#take(doubleQuoted) ?? giveUp();
    if (first === "'") return this.#take(singleQuoted) ?? giveUp();
    const text = this.#take(plainText)?.trimEnd();
    return text === undefined ? giveUp() : plainValue(text);
  }

  #list(depth: number): readonly unknown[] {
    const list: unknown[] = [];
    this.#take(listStart);
    if (this.#take(listEnd) !== undefined) return list;
    do {
      list.push(this.#value(depth + 1));
    } while (this.#continues(listEnd));
    return list;
  }

  #fields(depth: number): Fields {
    const fields: Fields = {};
    this.#take(fieldsStart);
    if (this.#take(fieldsEnd) !== undefined) return fields;
    do {
      const name = this.#take(fieldName);
      if (name === undefined) return giveUp();
      setField(fields, name, this.#value(depth + 1));
    } while (this.#continues(fieldsEnd));
    return fields;
  }

  /** True after a comma, false after the end. */
  #continues(end: RegExp): boolean {
    if (this.#take(comma) !== undefined) return true;
    return this.#take(end) === undefined ? giveUp() : false;
  }
}

/** The offset in a JSON text of the member or entry that a way leads to, or of the last part of the way that there is. */
export function offsetInJson(text: string, steps: readonly string[]): number {
  const scan = new JsonScan(text);
  scan.blanks();
  let offset = scan.at;
  for (const step of steps) {
    const found =
      text[scan.at] === "{" ? scan.member(step) : text[scan.at] === "[" ? scan.entry(Number(step)) : undefined;
    if (found === undefined) break;
    offset = found;
  }
  return offset;
}

/** Walks through a text that is JSON, each character once. */
class JsonScan {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  blanks(): void {
    while (/\s/.test(this.#text[this.at] ?? "")) this.at += 1;
  }

  /** Goes from the beginning of an object to the value of a member. The last of one name counts. */
  member(name: string): number | undefined {
    let found: { readonly key: number; readonly value: number } | undefined;
    this.#next();
    while (this.#text[this.at] === '"') {
      const key = this.at;
      this.#value();
      const isIt = JSON.parse(this.#text.slice(key, this.at)) === name;
      this.blanks();
      this.#next();
      if (isIt) found = { key, value: this.at };
      this.#value();
      this.#comma();
    }
    if (found !== undefined) this.at = found.value;
    return found?.key;
  }

  /** Goes from the beginning of a list to one of its entries. */
  entry(index: number): number | undefined {
    this.#next();
    for (let count = 0; this.at < this.#text.length && this.#text[this.at] !== "]"; count += 1) {
      if (count === index) return this.at;
      this.#value();
      this.#comma();
    }
    return undefined;
  }

  #next(): void {
    this.at += 1;
    this.blanks();
  }

  #comma(): void {
    this.blanks();
    if (this.#text[this.at] === ",") this.#next();
  }

  /** Goes behind a value. */
  #value(): void {
    const marks = /["{}[\],\s]/g;
    let depth = 0;
    do {
      marks.lastIndex = this.at;
      const mark = depth === 0 && !/["{[]/.test(this.#text[this.at] ?? "") ? undefined : marks.exec(this.#text)?.[0];
      if (mark === undefined) {
        // A number or a word.
        const end = /[\s,\]}]/g;
        end.lastIndex = this.at;
        this.at = end.exec(this.#text)?.index ?? this.#text.length;
        return;
      }
      this.at = marks.lastIndex;
      if (mark === '"') this.#string();
      else if (mark === "{" || mark === "[") depth += 1;
      else if (mark === "}" || mark === "]") depth -= 1;
    } while (depth > 0 && this.at < this.#text.length);
  }

  /** Goes behind a text, whose first quote was passed. */
  #string(): void {
    for (let at = this.at; ; at += 1) {
      at = this.#text.indexOf('"', at);
      if (at < 0) {
        this.at = this.#text.length;
        return;
      }
      let slashes = 0;
      while (this.#text[at - 1 - slashes] === "\\") slashes += 1;
      if (slashes % 2 === 0) {
        this.at = at + 1;
        return;
      }
    }
  }
}

import { secretMask } from "./token-shape.ts";
import { isRecord, jsonIn } from "./value.ts";

/** The size of an excerpt, and the members left out of it. */
export interface ExcerptOptions {
  /** True for a key whose value must be masked. */
  isSecret(key: string): boolean;
  /** About so many characters of JSON are written at most. */
  readonly maxLength: number;
}

const cutMark = "...";
const maxDepth = 12;

/**
 * The JSON text of a value as others may see it: secrets by key are masked, also in texts that are JSON themselves, and what is too
 * long or too deep is cut, so that it stays JSON. It never throws.
 */
export function excerpt(value: unknown, options: ExcerptOptions): string {
  try {
    return JSON.stringify(new Excerpt(options).of(value, 0)) ?? "null";
  } catch {
    return JSON.stringify("(cannot be shown)");
  }
}

class Excerpt {
  readonly #isSecret: (key: string) => boolean;
  #left: number;

  constructor({ isSecret, maxLength }: ExcerptOptions) {
    this.#isSecret = isSecret;
    this.#left = maxLength;
  }

  of(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value, depth);
    if (typeof value === "bigint") return this.#cut(String(value));
    if (typeof value !== "object" || value === null) {
      this.#left -= 4;
      return value;
    }
    if (depth >= maxDepth) return cutMark;
    this.#left -= 2;
    if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON === "function") return this.of(toJSON.call(value, ""), depth + 1);
    return Array.isArray(value) ? this.#list(value, depth) : this.#fields(value, depth);
  }

  /** A text may hold JSON with secrets in it: many tools answer so. */
  #text(text: string, depth: number): string {
    if (depth >= maxDepth || !/^\s*[[{]/.test(text)) return this.#cut(text);
    const inner = jsonIn(text);
    return inner === undefined ? this.#cut(text) : JSON.stringify(this.of(inner, depth + 1));
  }

  #cut(text: string): string {
    const left = Math.max(0, this.#left);
    const kept = text.length <= left ? text : `${text.slice(0, left)}${cutMark}`;
    // Escapes make it longer: what comes after pays for them.
    this.#left -= JSON.stringify(kept).length;
    return kept;
  }

  #list(values: readonly unknown[], depth: number): unknown[] {
    const shown: unknown[] = [];
    for (const value of values) {
      if (this.#left <= 0) return [...shown, cutMark];
      shown.push(this.of(value, depth + 1));
    }
    return shown;
  }

  #fields(value: object, depth: number): Record<string, unknown> {
    const shown: [string, unknown][] = [];
    for (const [key, field] of Object.entries(value)) {
      if (this.#left <= 0) return Object.fromEntries([...shown, [cutMark, cutMark]]);
      const name = this.#cut(key);
      shown.push([name, this.#isSecret(key) && !isEmpty(field) ? this.#cut(secretMask) : this.of(field, depth + 1)]);
    }
    return Object.fromEntries(shown);
  }
}

/** That there is none is no secret, and worth knowing. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === "" || (isRecord(value) && Object.keys(value).length === 0);
}

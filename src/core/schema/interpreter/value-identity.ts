import { assertDepth, type ValidationWork } from "./validation-work.ts";

/** Gives equal JSON values equal numbers, in time linear in their size: no two values are ever compared with each other. */
export class ValueIdentity {
  readonly #work: ValidationWork;
  readonly #byValue = new Map<unknown, number>();
  /** By the numbers of what is inside. */
  readonly #byContent = new Map<string, number>();
  #last = 0;

  constructor(work: ValidationWork) {
    this.#work = work;
  }

  /** @throws ToolkitError `LIMIT_EXCEEDED` */
  of(value: unknown, depth = 0): number {
    this.#work.take(2);
    let number = this.#byValue.get(value);
    if (number === undefined) {
      number = typeof value === "object" && value !== null ? this.#composite(value, depth) : this.#made();
      this.#byValue.set(value, number);
    }
    return number;
  }

  /** The places of the first two entries that are equal. */
  firstDuplicate(list: readonly unknown[]): readonly [number, number] | undefined {
    const seen = new Map<number, number>();
    for (const [index, entry] of list.entries()) {
      const number = this.of(entry);
      const earlier = seen.get(number);
      if (earlier !== undefined) return [earlier, index];
      seen.set(number, index);
    }
    return undefined;
  }

  #made(): number {
    this.#last += 1;
    return this.#last;
  }

  #composite(value: object, depth: number): number {
    assertDepth(depth);
    const content = Array.isArray(value) ? this.#list(value, depth + 1) : this.#members(value, depth + 1);
    const number = this.#byContent.get(content) ?? this.#made();
    this.#byContent.set(content, number);
    return number;
  }

  #list(list: readonly unknown[], depth: number): string {
    return `[${list.map((entry) => this.of(entry, depth)).join()}`;
  }

  #members(value: object, depth: number): string {
    const keys = Object.keys(value).sort();
    const fields = value as Readonly<Record<string, unknown>>;
    return `{${keys.map((key) => `${this.of(key)}:${this.of(fields[key], depth)}`).join()}`;
  }
}

/** The message for two entries of a list that are equal. */
export function duplicates(first: number, second: number | undefined): string {
  return `must NOT have duplicate items (items ## ${first} and ${second} are identical)`;
}

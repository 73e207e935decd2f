import type { JsonSchema } from "../../core/schema/types.ts";
import { digest } from "../../lib/canonical.ts";
import { isRecord } from "../../lib/value.ts";

const maxLength = 64;

/** Renames properties whose names a provider refuses, and restores their names in an input. */
export class MemberNames {
  readonly #document: JsonSchema;
  readonly #allowed: RegExp;
  /** Every key of the document, so that no property is renamed to one that exists. Collected at the first renaming. */
  #taken: Set<string> | undefined;
  readonly #given = new Map<string, string>();
  readonly #original = new Map<string, string>();

  /**
   * @param allowed - the names that the provider accepts, of 64 characters at most
   */
  constructor(document: JsonSchema, allowed: RegExp) {
    this.#document = document;
    this.#allowed = allowed;
  }

  /** The name of a property for the provider. */
  nameOf(name: string): string {
    if (this.#allowed.test(name)) return name;
    const known = this.#given.get(name);
    if (known !== undefined) return known;
    this.#taken ??= keysIn(this.#document, new Set());
    const safe = name.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^(?![A-Za-z_])/, "_");
    let length = 6;
    let given: string;
    do {
      // Another hash for each round: a server may have named its properties after the first ones.
      const hash = digest(length === 6 ? name : `${name} ${length}`).replaceAll(/[^A-Za-z0-9]/g, "0");
      const shown = Math.min(length, 20);
      given = `${safe.slice(0, maxLength - 1 - shown)}_${hash.slice(0, shown)}`;
      length += 2;
    } while (this.#taken.has(given));
    this.#taken.add(given);
    this.#given.set(name, given);
    this.#original.set(given, name);
    return given;
  }

  /** An input of the model with the names of the original schema. */
  restore(input: unknown): unknown {
    if (this.#original.size === 0) return input;
    if (Array.isArray(input)) return input.map((each) => this.restore(each));
    if (!isRecord(input)) return input;
    return Object.fromEntries(
      Object.entries(input).map(([name, value]) => [this.#original.get(name) ?? name, this.restore(value)]),
    );
  }
}

/** Adds the keys of all objects in a value. */
function keysIn(value: unknown, keys: Set<string>): Set<string> {
  if (Array.isArray(value)) for (const each of value) keysIn(each, keys);
  if (!isRecord(value)) return keys;
  for (const [key, each] of Object.entries(value)) {
    keys.add(key);
    keysIn(each, keys);
  }
  return keys;
}

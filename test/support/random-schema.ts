import type { JsonSchema } from "../../src/core/schema/types.ts";
import type { Random } from "./random.ts";

// Not "": ajv takes a missing member of that name for one that is there.
const names = ["a", "b", "c", "toString", "x/y~z", "d"];
const types = ["null", "boolean", "object", "array", "number", "string", "integer"];
const patterns = ["^a", "b$", "^[a-c]+$", "(a|b)*c", "^\\d{2}$"];
const formats = ["date", "email", "uri", "ipv4", "uuid", "no-such-format"];
const texts = ["", "a", "abc", "😀", "12", "2024-02-29", "a@b.ch", "https://example.com", "10.0.0.1"];
const numbers = [0, 1, -1, 0.5, 1.5, 3, 1e9, 1e-7];

/** Draws JSON Schemas and values that many of them accept. */
export class RandomSchemas {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A document with definitions that refer to each other. */
  document(): JsonSchema {
    const definitions = this.#definitions().map((name) => [name, this.schema(2)]);
    const draft07 = this.#chance(0.3) ? { $schema: "http://json-schema.org/draft-07/schema#" } : {};
    return { ...draft07, ...(this.schema(3) as JsonSchema), $defs: Object.fromEntries(definitions) };
  }

  /** A value nested no deeper than a depth. */
  value(depth = 3): unknown {
    const kind = this.#below(depth > 0 ? 7 : 5);
    if (kind === 5) return this.#list(4, () => this.value(depth - 1));
    if (kind === 6) return this.#map(names, () => this.value(depth - 1));
    return [this.#one(texts), this.#one(numbers), this.#one(numbers), this.#chance(0.5), null][kind];
  }

  /** A schema nested no deeper than a depth. */
  schema(depth: number): JsonSchema {
    const chosen = new Set(this.#list(3, () => this.#one(depth > 0 ? [...nesting, ...plain] : plain)));
    if (depth > 0 && chosen.size === 0) chosen.add("properties");
    return Object.fromEntries([...chosen].map((keyword) => [keyword, this.#keyword(keyword, depth - 1)]));
  }

  #keyword(keyword: string, depth: number): unknown {
    const inner = () => (this.#chance(0.05) ? this.#chance(0.5) : this.schema(depth));
    switch (keyword) {
      case "type":
        return this.#chance(0.7) ? this.#one(types) : [...new Set([this.#one(types), this.#one(types)])];
      case "enum":
        return [this.value(1), this.value(1), this.#one(texts)].filter(isOnlyOne);
      case "const":
        return this.value(1);
      case "pattern":
        return this.#one(patterns);
      case "format":
        return this.#one(formats);
      case "uniqueItems":
        return true;
      case "required":
        return [...new Set(this.#list(3, () => this.#one(names)))];
      case "dependentRequired":
        return this.#map(names, () => [...new Set(this.#list(2, () => this.#one(names)))]);
      case "multipleOf":
        return this.#one([1, 2, 0.5]);
      case "$ref":
        return this.#chance(0.1) ? "#" : `#/$defs/${this.#one(this.#definitions())}`;
      case "properties":
      case "dependentSchemas":
        return this.#map(names, inner);
      case "patternProperties":
        return this.#map(patterns, inner);
      case "allOf":
      case "anyOf":
      case "oneOf":
      case "prefixItems":
        return [inner(), ...this.#list(2, inner)];
      default:
        return plain.includes(keyword) ? this.#below(4) : inner();
    }
  }

  #definitions(): readonly string[] {
    return ["d0", "d1", "d2"];
  }

  #below(end: number): number {
    return Math.floor(this.#random() * end);
  }

  #chance(of: number): boolean {
    return this.#random() < of;
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }

  #list<T>(max: number, make: () => T): T[] {
    return Array.from({ length: this.#below(max + 1) }, make);
  }

  #map<T>(keys: readonly string[], make: () => T): Record<string, T> {
    return Object.fromEntries(keys.filter(() => this.#chance(0.4)).map((key) => [key, make()]));
  }
}

const plain = (
  "type type type enum const pattern format uniqueItems required required dependentRequired multipleOf minimum maximum " +
  "exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems minProperties maxProperties"
).split(" ");
const nesting = (
  "properties properties properties items items anyOf oneOf allOf not if then else contains prefixItems additionalProperties " +
  "patternProperties propertyNames dependentSchemas $ref $ref"
).split(" ");

function isOnlyOne(choice: unknown, index: number, all: readonly unknown[]): boolean {
  return all.findIndex((other) => JSON.stringify(other) === JSON.stringify(choice)) === index;
}

import { isRecord } from "../../../src/lib/value.ts";

type Schema = Readonly<Record<string, unknown>>;

const formats: Readonly<Record<string, string>> = {
  "date-time": "2020-01-02T03:04:05Z",
  date: "2020-01-02",
  time: "03:04:05Z",
  uri: "https://example.com/a",
  "uri-reference": "a",
  email: "a@example.com",
  uuid: "123e4567-e89b-12d3-a456-426614174000",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  hostname: "example.com",
  binary: "AAEC",
  byte: "AAEC",
};
/** Tried in their order for a pattern. */
const texts = [
  "text",
  "1",
  "2020-01-02",
  "1.2.3",
  "ab-12",
  "0".repeat(40),
  "a".repeat(64),
  "/a",
  "A1",
  "#abcdef",
  "ssh-rsa AA",
];
const others = [`sha256:${"0".repeat(64)}`, "https://example.com", "https://example.com/a.zip"];
const maxDepth = 4;

/** The variants of a value: of a choice another branch, and every other time only the properties that are required. */
export const variants = 24;

/**
 * A value that fits a schema, with every property as long as it is not nested too deep. Where a value has to fit one branch of several and no
 * other, another variant may fit.
 */
export function madeValue(schema: unknown, root: unknown, variant = 0): unknown {
  return new Maker(root, variant).value(schema, 0);
}

class Maker {
  readonly #root: unknown;
  readonly #branch: number;
  readonly #isSmall: boolean;

  constructor(root: unknown, variant: number) {
    this.#root = root;
    this.#branch = Math.floor(variant / 2);
    this.#isSmall = variant % 2 === 1;
  }

  value(schema: unknown, depth: number): unknown {
    if (!isRecord(schema)) return "any";
    if (typeof schema.$ref === "string") {
      const { $ref, ...beside } = schema;
      const target = this.#target(String($ref));
      return this.value(Object.keys(beside).length === 0 ? target : { allOf: [target, beside] }, depth);
    }
    if (schema.const !== undefined) return schema.const;
    if (Array.isArray(schema.enum)) return schema.enum[0];
    const merged = this.#merged(schema, depth);
    if (merged !== undefined) return merged;
    const type = [schema.type].flat().find((each) => each !== "null") ?? guessedType(schema);
    if (type === "object") return this.#object(schema, depth);
    if (type === "array") return this.#list(schema, depth);
    if (type === "integer" || type === "number") return madeNumber(schema);
    if (type === "boolean") return true;
    if (type === undefined) return [schema.type].flat().includes("null") ? null : "any";
    return madeText(schema);
  }

  #target(reference: string): unknown {
    return reference
      .split("/")
      .slice(1)
      .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"))
      .reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], this.#root);
  }

  /** A value for the parts of a schema together; undefined where it has none. */
  #merged(schema: Schema, depth: number): unknown {
    const { allOf, anyOf, oneOf, ...own } = schema;
    const choices = [anyOf, oneOf].filter(Array.isArray).map((list) => this.#chosen(list));
    const parts = [...(Array.isArray(allOf) ? allOf : []), ...choices];
    if (parts.length === 0) return undefined;
    // A branch that only requires what is described beside it.
    const whole = (part: unknown) =>
      isRecord(part) && part.required !== undefined ? { properties: own.properties, ...part } : part;
    const values = parts.map((part) => this.value(whole(part), depth + 1));
    if (!values.every(isRecord)) {
      const typed = parts.find((part) => isRecord(part) && (part.type ?? part.enum ?? part.$ref) !== undefined);
      return this.value(typed === undefined ? { ...parts[0], ...own } : typed, depth + 1);
    }
    const isObject = own.properties !== undefined || own.required !== undefined;
    return Object.assign({}, ...values, isObject ? this.#object(own, depth) : {}, this.#chosenBy(schema));
  }

  #chosen(list: readonly unknown[]): unknown {
    const real = list.filter((each) => !(isRecord(each) && each.type === "null"));
    return (real.length > 0 ? real : list)[this.#branch % Math.max(1, real.length)];
  }

  /** The value by which a discriminator chooses the branch. */
  #chosenBy({ discriminator, oneOf, anyOf }: Schema): Schema {
    const branch = this.#chosen(((oneOf ?? anyOf) as readonly unknown[] | undefined) ?? []) as Schema | undefined;
    if (!isRecord(discriminator) || typeof branch?.$ref !== "string") return {};
    const mapping = Object.entries((discriminator.mapping ?? {}) as Schema).find(
      ([, target]) => target === branch.$ref,
    );
    return { [String(discriminator.propertyName)]: mapping?.[0] ?? branch.$ref.split("/").at(-1) };
  }

  #object(schema: Schema, depth: number): unknown {
    const { properties, required, additionalProperties, minProperties = 0 } = schema;
    const needed = new Set<string>(Array.isArray(required) ? required : []);
    const given = isRecord(properties) ? properties : {};
    // The top of an input holds its parameters: all are tried.
    const isWhole = depth === 0 || (depth < maxDepth && !this.#isSmall);
    const kept = Object.entries(given).filter(([name]) => isWhole || needed.has(name));
    const made = Object.fromEntries(kept.map(([name, each]) => [name, this.value(each, depth + 1)]));
    for (const name of needed) made[name] ??= this.value(given[name] ?? additionalProperties, depth + 1);
    for (let at = 0; Object.keys(made).length < Number(minProperties); at += 1)
      made[`more${at}`] = this.value(additionalProperties, depth + 1);
    return made;
  }

  #list({ items, prefixItems, minItems = 0, maxItems = 2, uniqueItems }: Schema, depth: number): unknown {
    const first = Array.isArray(prefixItems) ? prefixItems.map((each) => this.value(each, depth + 1)) : [];
    const wanted = items === false || items === undefined || depth >= maxDepth ? 0 : uniqueItems === true ? 1 : 2;
    const count = Math.max(Number(minItems), Math.min(wanted, Number(maxItems)));
    const rest = Array.from({ length: Math.max(0, count - first.length) }, () => this.value(items, depth + 1));
    return [...first, ...rest];
  }
}

function guessedType(schema: Schema): string | undefined {
  if (schema.properties ?? schema.additionalProperties ?? schema.required) return "object";
  if (schema.items ?? schema.prefixItems) return "array";
  return (schema.pattern ?? schema.format ?? schema.minLength) ? "string" : undefined;
}

function madeNumber({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf = 1 }: Schema): number {
  const bound = (inclusive: unknown, exclusive: unknown, step: number, none: number) =>
    typeof exclusive === "number"
      ? exclusive + step
      : typeof inclusive === "number"
        ? inclusive + (exclusive === true ? step : 0)
        : none;
  const low = bound(minimum, exclusiveMinimum, 1, Number.NEGATIVE_INFINITY);
  const high = bound(maximum, exclusiveMaximum, -1, Number.POSITIVE_INFINITY);
  const step = multipleOf as number;
  return Math.max(low, Math.min(high, step * Math.max(1, Number.isFinite(low) ? Math.ceil(low / step) : 1)));
}

function madeText({ format, pattern, minLength = 0, maxLength, example, examples }: Schema): string {
  const min = Number(minLength);
  if (typeof format === "string" && formats[format] !== undefined) return formats[format];
  const fits = (text: unknown): text is string =>
    typeof text === "string" &&
    text.length >= min &&
    (typeof pattern !== "string" || new RegExp(pattern, "u").test(text));
  const found = [example, ...(Array.isArray(examples) ? examples : []), ...texts, ...others].find(fits) ?? "text";
  return found.padEnd(min, "a").slice(0, Number(maxLength ?? found.length + min));
}

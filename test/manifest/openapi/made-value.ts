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
const texts = [
  "text",
  "a",
  "1",
  "2020-01-02",
  "ab-12",
  "0".repeat(40),
  "a".repeat(64),
  "/a",
  "https://example.com",
  "A1",
  "#abcdef",
  "abcdef",
];
const maxDepth = 4;

/** A value that fits a schema, with every property as long as it is not nested too deep. */
export function madeValue(schema: unknown, root: unknown, depth = 0): unknown {
  if (!isRecord(schema)) return "any";
  if (typeof schema.$ref === "string") {
    const target = schema.$ref
      .split("/")
      .slice(1)
      .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"))
      .reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], root);
    const { $ref: _, ...beside } = schema;
    return madeValue(Object.keys(beside).length === 0 ? target : { allOf: [target, beside] }, root, depth);
  }
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const merged = mergedParts(schema, root, depth);
  if (merged !== undefined) return merged;
  const type = [schema.type].flat().find((each) => each !== "null") ?? guessedType(schema);
  if (type === "object") return madeObject(schema, root, depth);
  if (type === "array") return madeList(schema, root, depth);
  if (type === "integer" || type === "number") return madeNumber(schema);
  if (type === "boolean") return true;
  if (type === undefined) return [schema.type].flat().includes("null") ? null : "any";
  return madeText(schema);
}

/** A value for the parts of a schema together; undefined where it has none. */
function mergedParts(schema: Schema, root: unknown, depth: number): unknown {
  const { allOf, anyOf, oneOf, ...own } = schema;
  const choices = [anyOf, oneOf]
    .filter(Array.isArray)
    .map((list) => list.find((each) => each?.type !== "null") ?? list[0]);
  const parts = [...(Array.isArray(allOf) ? allOf : []), ...choices];
  if (parts.length === 0) return undefined;
  const values = parts.map((part) => madeValue(part, root, depth + 1));
  if (!values.every(isRecord)) {
    const typed = parts.find((part) => isRecord(part) && (part.type ?? part.enum ?? part.$ref) !== undefined);
    return madeValue(typed === undefined ? { ...parts[0], ...own } : typed, root, depth + 1);
  }
  const objects = own.properties === undefined ? values : [...values, madeObject(own, root, depth)];
  return Object.assign({}, ...objects, chosenBy(schema));
}

/** The value by which a discriminator chooses the first branch. */
function chosenBy({ discriminator, oneOf, anyOf }: Schema): Schema {
  const [first] = ((oneOf ?? anyOf) as readonly Schema[] | undefined) ?? [];
  if (!isRecord(discriminator) || typeof first?.$ref !== "string") return {};
  const mapping = Object.entries((discriminator.mapping ?? {}) as Schema).find(([, target]) => target === first.$ref);
  return { [String(discriminator.propertyName)]: mapping?.[0] ?? first.$ref.split("/").at(-1) };
}

function guessedType(schema: Schema): string | undefined {
  if (schema.properties ?? schema.additionalProperties ?? schema.required) return "object";
  if (schema.items ?? schema.prefixItems) return "array";
  return (schema.pattern ?? schema.format ?? schema.minLength) ? "string" : undefined;
}

function madeObject(schema: Schema, root: unknown, depth: number): unknown {
  const { properties, required, additionalProperties, minProperties = 0 } = schema;
  const needed = new Set(Array.isArray(required) ? required : []);
  const given = isRecord(properties) ? properties : {};
  const kept = Object.entries(given).filter(([name]) => depth < maxDepth || needed.has(name));
  const made: Record<string, unknown> = Object.fromEntries(
    kept.map(([name, each]) => [name, madeValue(each, root, depth + 1)]),
  );
  for (const name of needed) made[name as string] ??= madeValue(additionalProperties, root, depth + 1);
  for (let at = 0; Object.keys(made).length < Number(minProperties); at += 1)
    made[`more${at}`] = madeValue(additionalProperties, root, depth + 1);
  return made;
}

function madeList(schema: Schema, root: unknown, depth: number): unknown {
  const { items, prefixItems, minItems = 0, uniqueItems } = schema;
  const first = Array.isArray(prefixItems) ? prefixItems.map((each) => madeValue(each, root, depth + 1)) : [];
  const most = Number(schema.maxItems ?? 2);
  const count = Math.max(
    Number(minItems),
    items === false || items === undefined ? 0 : depth < maxDepth ? Math.min(uniqueItems === true ? 1 : 2, most) : 0,
  );
  return [
    ...first,
    ...Array.from({ length: Math.max(0, count - first.length) }, () => madeValue(items, root, depth + 1)),
  ];
}

function madeNumber({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf = 1 }: Schema): number {
  const low =
    typeof exclusiveMinimum === "number"
      ? exclusiveMinimum + 1
      : ((minimum as number | undefined) ?? Number.NEGATIVE_INFINITY) + (exclusiveMinimum === true ? 1 : 0);
  const high =
    typeof exclusiveMaximum === "number"
      ? exclusiveMaximum - 1
      : ((maximum as number | undefined) ?? Number.POSITIVE_INFINITY) - (exclusiveMaximum === true ? 1 : 0);
  const step = multipleOf as number;
  return Math.max(low, Math.min(high, step * Math.max(1, Math.ceil(Number.isFinite(low) ? low / step : 1))));
}

function madeText({ format, pattern, minLength = 0, maxLength, example, examples }: Schema): string {
  const min = Number(minLength);
  if (typeof format === "string" && formats[format] !== undefined) return formats[format];
  const found = [example, ...(Array.isArray(examples) ? examples : []), ...texts].find(
    (text) =>
      typeof text === "string" &&
      text.length >= min &&
      (typeof pattern !== "string" || new RegExp(pattern, "u").test(text)),
  );
  const text = typeof found === "string" ? found : "text";
  return text.padEnd(min, "a").slice(0, Number(maxLength ?? text.length + min));
}

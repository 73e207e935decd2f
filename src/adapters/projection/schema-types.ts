import type { JsonSchema } from "../../core/schema/types.ts";
import { isRecord, typeName } from "../../lib/value.ts";

/** The type that keywords imply where a schema names none. */
const typeByKeyword: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  [
    "object",
    [
      "properties",
      "required",
      "additionalProperties",
      "patternProperties",
      "minProperties",
      "maxProperties",
      "propertyNames",
    ],
  ],
  ["array", ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]],
  ["string", ["pattern", "minLength", "maxLength", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
];

/** The values of `const` or `enum`; undefined without either. */
export function choicesOf(schema: JsonSchema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

/** The types a value may have: those of `type`, else of the choices, else those that keywords imply; none where any type is allowed. */
export function typesOf(schema: JsonSchema): readonly string[] {
  const named = schema.type === undefined ? [] : [schema.type].flat().map(String);
  const nullable = schema.nullable === true ? ["null"] : [];
  if (named.length > 0) return [...new Set([...named, ...nullable])];
  const choices = choicesOf(schema);
  if (choices !== undefined) return [...new Set([...choices.map(typeOfChoice), ...nullable])];
  const meant = typeByKeyword.find(([, keywords]) => keywords.some((keyword) => schema[keyword] !== undefined));
  return meant === undefined ? [] : [meant[0], ...nullable];
}

/** The schema without the keywords of other types. */
export function ofType(type: string, schema: JsonSchema): JsonSchema {
  const own = type === "integer" ? "number" : type;
  const foreign = new Set(typeByKeyword.flatMap(([other, keywords]) => (other === own ? [] : keywords)));
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !foreign.has(keyword)));
}

/** Whether a choice has one of the types. */
export function isOfTypes(choice: unknown, types: readonly string[]): boolean {
  const type = typeOfChoice(choice);
  return types.includes(type) || (types.includes("integer") && Number.isInteger(choice));
}

function typeOfChoice(choice: unknown): string {
  if (Array.isArray(choice)) return "array";
  return isRecord(choice) ? "object" : typeName(choice);
}

import fc from "fast-check";
import type { JsonSchema } from "../../../src/core/schema/types.ts";
import { isRecord } from "../../../src/lib/value.ts";

/** Values a model held to a strict schema may give. Recursion ends with null where it may. */
export function valuesOf(root: JsonSchema, schema: JsonSchema = root, depth = 0): fc.Arbitrary<unknown> {
  const { $ref, anyOf, enum: choices, type, items, properties } = schema;
  if (typeof $ref === "string") {
    const target = $ref === "#" ? root : (root.$defs as Record<string, JsonSchema>)[$ref.replace("#/$defs/", "")];
    return valuesOf(root, target, depth + 1);
  }
  if (Array.isArray(choices)) return fc.constantFrom(...choices);
  if (Array.isArray(anyOf)) {
    const last = depth > 6 ? anyOf.filter((branch) => branch.type === "null") : [];
    return fc.oneof(...(last.length > 0 ? last : anyOf).map((branch) => valuesOf(root, branch, depth + 1)));
  }
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => valuesOf(root, { ...schema, type: one }, depth)));
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "number":
    case "integer":
      return fc.nat({ max: 5 }).map((number) => number * 2 + 4);
    case "array": {
      const minLength = Number(schema.minItems ?? 0);
      return fc.array(valuesOf(root, items as JsonSchema, depth + 1), { minLength, maxLength: minLength + 2 });
    }
    case "object": {
      const members = Object.entries(isRecord(properties) ? properties : {});
      const drawn = members.map(([, member]) => valuesOf(root, member as JsonSchema, depth + 1));
      return fc
        .tuple(...drawn)
        .map((values) => Object.fromEntries(members.map(([name], index) => [name, values[index]])));
    }
    default:
      return fc.constantFrom("abc", "xyz");
  }
}

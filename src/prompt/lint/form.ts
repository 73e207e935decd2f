import { isRecord } from "../../lib/value.ts";
import type { Findings } from "./findings.ts";
import type { FieldSchema } from "./schema.ts";

/** Finds what an input says and nobody can use: a default of what must be given. */
export function lintInputForm({ file, field, schema, placeOf }: FieldSchema, findings: Findings): void {
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  for (const [name, property] of Object.entries(isRecord(schema.properties) ? schema.properties : {})) {
    if (!required.includes(name) || !isRecord(property) || !Object.hasOwn(property, "default")) continue;
    findings.add("unused-default", {
      file,
      place: placeOf([field, "properties", name, "default"]),
      message: `${JSON.stringify(name)} is required and has a default, which is never used.`,
      hint: `Remove ${JSON.stringify(name)} from required, or the default.`,
    });
  }
}

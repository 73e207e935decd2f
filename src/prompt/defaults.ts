import type { JsonSchema } from "../core/schema/types.ts";

/** What the schema says top-level properties are when they are left out; undefined where it says nothing. */
export function topLevelDefaults(schema: JsonSchema | undefined): Readonly<Record<string, unknown>> | undefined {
  const properties = (schema?.properties ?? {}) as Record<string, unknown>;
  const defaults = Object.entries(properties).flatMap(([name, property]) =>
    typeof property === "object" && property !== null && Object.hasOwn(property, "default")
      ? [[name, (property as JsonSchema).default] as const]
      : [],
  );
  return defaults.length === 0 ? undefined : Object.fromEntries(defaults);
}

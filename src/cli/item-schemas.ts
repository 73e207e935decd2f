import type { Prompt, Tool } from "../core/item.ts";
import { toJsonSchema } from "../core/schema/json-schema.ts";
import type { JsonSchema } from "../core/schema/types.ts";

/** The schemas of a tool or prompt as JSON. One that has no such form is left out. */
export function schemasOf(item: Tool | Prompt): {
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
} {
  return { input: read(item.input, "input"), output: read(item.output, "output") };
}

function read(schema: unknown, direction: "input" | "output"): JsonSchema | undefined {
  if (schema === undefined) return undefined;
  try {
    return toJsonSchema(schema, { what: `the ${direction} schema`, direction });
  } catch {
    return undefined;
  }
}

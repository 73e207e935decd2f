import type { JsonSchema } from "./types.ts";

const foreign = new WeakSet<JsonSchema>();

/**
 * Notes that the author of a schema is not trusted, such as that of a prompt file: wherever it validates, it does so as the schema of a
 * server, in linear time. The item that holds it may be one of the service itself.
 */
export function markForeign(schema: JsonSchema | undefined): void {
  if (schema !== undefined) foreign.add(schema);
}

/** True for a schema whose author is not trusted. */
export function isForeign(schema: object): boolean {
  return foreign.has(schema as JsonSchema);
}

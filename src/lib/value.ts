/** True for an object that is no list: what JSON calls an object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The type of a value for messages: as `typeof`, with `null` told from objects. */
export function typeName(value: unknown): string {
  return value === null ? "null" : typeof value;
}

/** A JSON pointer (RFC 6901) with one more step. */
export function pointerTo(pointer: string, step: PropertyKey): string {
  return `${pointer}/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** What a JSON pointer names in a document; undefined where it names nothing. */
export function resolvePointer(document: unknown, pointer: string): unknown {
  let value = document;
  for (const step of pointer.split("/").slice(1)) {
    if (typeof value !== "object" || value === null) return undefined;
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    value = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  }
  return value;
}

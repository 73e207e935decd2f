/** A JSON pointer (RFC 6901) with one more step. */
export function pointerTo(pointer: string, step: PropertyKey): string {
  return `${pointer}/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The steps of a JSON pointer, unescaped. */
export function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value a JSON pointer leads to in a document; undefined where there is none. */
export function resolvePointer(document: unknown, pointer: string): unknown {
  let value = document;
  for (const key of stepsOf(pointer)) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  }
  return value;
}

/**
 * The value a reference within a document leads to (`#/$defs/name`: a JSON pointer as a URI fragment); undefined where there is none.
 */
export function resolveReference(document: unknown, reference: string): unknown {
  return resolvePointer(document, decoded(reference.slice(1)));
}

/** The text without percent-encoding, where it has any that can be read. */
export function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

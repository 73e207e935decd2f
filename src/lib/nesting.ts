/**
 * Whether objects and lists of a value are more than `max` levels inside each other. Nothing is looked at beyond that, so that no value
 * ends the stack, not even one that contains itself.
 */
export function isNestedDeeper(value: unknown, max: number): boolean {
  return typeof value === "object" && value !== null && isDeeper(value, max);
}

// Primitives, which are most values, are not visited.
function isDeeper(value: object, max: number): boolean {
  if (max <= 0) return true;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const entry: unknown = value[at];
      if (typeof entry === "object" && entry !== null && isDeeper(entry, max - 1)) return true;
    }
    return false;
  }
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof member === "object" && member !== null && isDeeper(member, max - 1)) return true;
  }
  return false;
}

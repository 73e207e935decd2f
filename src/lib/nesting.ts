/**
 * Whether objects and lists of a value are more than `max` levels inside each other. Nothing is looked at beyond that, so that no value
 * ends the stack, not even one that contains itself.
 */
export function isNestedDeeper(value: unknown, max: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (max <= 0) return true;
  if (Array.isArray(value)) {
    for (const entry of value) if (isNestedDeeper(entry, max - 1)) return true;
    return false;
  }
  for (const key in value) {
    if (isNestedDeeper((value as Readonly<Record<string, unknown>>)[key], max - 1)) return true;
  }
  return false;
}

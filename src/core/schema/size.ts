/** A larger schema of a stranger is not used: to walk through it takes too long. In values, see `sizeOf`. */
export const maxSchemaSize = 25_000;

/** Characters that count as one value. */
export const charactersPerStep = 32;

/** Values that are nested deeper are not counted. */
const maxCounted = 1_000;

/** The number of values in a value, itself included; long texts and names count as several. Counting ends at a maximum. */
export function sizeOf(value: unknown, max: number): number {
  let count = 0;
  const add = (each: unknown, depth: number): void => {
    count += 1;
    if (typeof each === "string") count += Math.floor(each.length / charactersPerStep);
    if (typeof each !== "object" || each === null || depth > maxCounted) return;
    if (Array.isArray(each)) {
      for (let at = 0; at < each.length && count < max; at += 1) add(each[at], depth + 1);
      return;
    }
    for (const key in each) {
      if (count >= max) return;
      count += Math.floor(key.length / charactersPerStep);
      add((each as Readonly<Record<string, unknown>>)[key], depth + 1);
    }
  };
  add(value, 0);
  return Math.min(count, max);
}

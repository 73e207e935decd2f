/** The way from a value to a part of it: names of fields and positions in lists. */
export type FieldPath = readonly (string | number)[];

/** True for an object that is no list: what JSON calls an object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for an object of no class, of another realm too. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // One of another realm has another Object.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** True for a value that JSON holds as it is: what it is made of is plain, no number is beyond numbers, and it is no deeper than that. */
export function isJson(value: unknown, maxDepth = 100): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return value === undefined || typeof value === "string" || typeof value === "boolean";
  if (value === null) return true;
  if (maxDepth === 0) return false;
  const isInside = (each: unknown) => isJson(each, maxDepth - 1);
  if (Array.isArray(value)) return !value.includes(undefined) && value.every(isInside);
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === null || prototype === Object.prototype) && Object.values(value).every(isInside);
}

/** The value of a text that is JSON; undefined for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The type of a value for messages: as `typeof`, with `null` apart from objects. */
export function typeName(value: unknown): string {
  return value === null ? "null" : typeof value;
}

/** An object in which what may be undefined is missing instead. */
export type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The object without its undefined fields, for JSON, and for readers to whom an undefined field is not a missing one. */
export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>;
}

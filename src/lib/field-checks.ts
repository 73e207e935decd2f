import { isRecord } from "./value.ts";

/** True for a value that is as it should be. */
export type FieldCheck = (value: unknown) => boolean;

/** A check for each field of a type, so that the compiler asks for what is forgotten. */
export type FieldChecks<T> = { readonly [F in keyof T]-?: FieldCheck };

export const isText: FieldCheck = (value) => typeof value === "string";
export const isNumber: FieldCheck = (value) => typeof value === "number";
export const isBoolean: FieldCheck = (value) => typeof value === "boolean";
export const isTrue: FieldCheck = (value) => value === true;

export function oneOf(...values: readonly unknown[]): FieldCheck {
  return (value) => values.includes(value);
}

export function optional(check: FieldCheck): FieldCheck {
  return (value) => value === undefined || check(value);
}

export function listOf(check: FieldCheck): FieldCheck {
  return (value) => Array.isArray(value) && value.every(check);
}

/** An object with such fields, among others. */
export function having<T>(fields: Partial<FieldChecks<T>>): FieldCheck {
  return (value) => isRecord(value) && oddField(value, fields) === undefined;
}

/** The same check for several fields. */
export function all<F extends string>(check: FieldCheck, ...fields: readonly F[]): { [N in F]: FieldCheck } {
  return Object.fromEntries(fields.map((field) => [field, check])) as { [N in F]: FieldCheck };
}

/** @throws TypeError naming the first field that is not as it should be */
export function assertFields(value: unknown, fields: FieldChecks<object>): asserts value is object {
  const odd = isRecord(value) ? oddField(value, fields) : undefined;
  if (!isRecord(value)) throw new TypeError("it is no object");
  if (odd !== undefined) throw new TypeError(`its ${odd} is not valid`);
}

function oddField(value: Readonly<Record<string, unknown>>, fields: object): string | undefined {
  const checks: readonly (readonly [string, FieldCheck])[] = Object.entries(fields);
  return checks.find(([name, check]) => !check(value[name]))?.[0];
}

import { isRecord } from "../../../lib/value.ts";
import { charactersPerStep } from "../size.ts";
import { isOfType } from "../type.ts";
import { listed } from "../violation.ts";
import { formatCheck } from "./formats.ts";
import type { Check, Keyword, Run, ValuePlace } from "./schema-node.ts";
import { duplicates } from "./value-identity.ts";

/** Whether a member is there: one that is undefined is none. */
export function hasMember(value: Readonly<Record<string, unknown>>, name: string): boolean {
  return Object.hasOwn(value, name) && value[name] !== undefined;
}

function isComposite(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

const number =
  (fits: (value: number, limit: number) => boolean, message: string): Keyword =>
  (limit) => {
    if (typeof limit !== "number") return undefined;
    return (value, run, at) => typeof value !== "number" || fits(value, limit) || run.fail(at, `${message} ${limit}`);
  };

/** In draft-04 `exclusiveMinimum: true` goes with `minimum`; many servers still write that. */
const bound =
  (exclusive: string, orEqual: Keyword, strictly: Keyword): Keyword =>
  (limit, within) =>
    (within.schema[exclusive] === true ? strictly : orEqual)(limit, within);

const atLeast = number((value, limit) => value >= limit, "must be >=");
const atMost = number((value, limit) => value <= limit, "must be <=");
const above = number((value, limit) => value > limit, "must be >");
const below = number((value, limit) => value < limit, "must be <");
const isMultiple = (value: number, of: number) => Number.isInteger(value / of);

const size =
  (sizeOf: (value: unknown, run: Run) => number | undefined, sign: 1 | -1, what: string): Keyword =>
  (limit) =>
  (value, run, at) => {
    const found = sizeOf(value, run);
    if (found === undefined || found * sign >= (limit as number) * sign) return true;
    return run.fail(at, `must NOT have ${sign === 1 ? "fewer" : "more"} than ${limit} ${what}`);
  };

const characters = (value: unknown, run: Run) => {
  if (typeof value !== "string") return undefined;
  run.work.take(value.length / charactersPerStep);
  let pairs = 0;
  for (let at = 0; at < value.length; at += 1) if ((value.codePointAt(at) ?? 0) > 0xffff) pairs += 1;
  return value.length - pairs;
};
const items = (value: unknown) => (Array.isArray(value) ? value.length : undefined);
const members = (value: unknown, run: Run) => {
  if (!isRecord(value)) return undefined;
  const { length } = run.keysOf(value);
  run.work.take(length);
  return length;
};

function oneOf(choices: readonly unknown[], message: () => string): Check {
  const composites = choices.filter(isComposite);
  const plain = new Set(choices.filter((choice) => !isComposite(choice)));
  let text: string | undefined;
  const isChoice = (value: unknown, run: Run) => {
    if (!isComposite(value)) return plain.has(value);
    if (composites.length === 0) return false;
    const allowed = run.kept(plain, () => new Set(composites.map((choice) => run.identity.of(choice))));
    return allowed.has(run.identity.of(value));
  };
  return (value, run, at) => {
    if (isChoice(value, run)) return true;
    if (at === undefined) return false;
    text ??= message();
    return run.fail(at, text);
  };
}

function requireAll(names: readonly string[], value: unknown, run: Run, at: ValuePlace | undefined): boolean {
  if (!isRecord(value)) return true;
  let fits = true;
  for (const name of names) {
    run.work.take(1);
    if (hasMember(value, name)) continue;
    fits = false;
    if (at === undefined) break;
    run.fail({ parent: at, key: name }, "is missing");
  }
  return fits;
}

/** @param key - the member beside which they are required */
export function requireBeside(key: string, names: readonly string[]): Check {
  const message = `must have ${names.length === 1 ? "property" : "properties"} ${names.slice(0, 100).join(", ")} when property ${key} is present`;
  return (value, run, at) => {
    if (!isRecord(value) || !hasMember(value, key) || requireAll(names, value, run, undefined)) return true;
    return run.fail(at, message);
  };
}

/** The keywords that look at a value and no further, in the order in which they are checked. */
export const assertions: Readonly<Record<string, Keyword>> = {
  type(given, { schema: { nullable } }) {
    const types = [given].flat().map(String);
    if (nullable === true && !types.includes("null")) types.push("null");
    const message = `must be ${types.join(",")}`;
    return (value, run, at) => types.some((type) => isOfType(value, type)) || run.fail(at, message);
  },
  enum: (choices) => oneOf(choices as unknown[], () => `must be one of ${listed(choices as unknown[])}`),
  const: (only) => oneOf([only], () => `must be ${JSON.stringify(only)}`),
  minimum: bound("exclusiveMinimum", atLeast, above),
  maximum: bound("exclusiveMaximum", atMost, below),
  exclusiveMinimum: above,
  exclusiveMaximum: below,
  multipleOf: number(isMultiple, "must be multiple of"),
  minLength: size(characters, 1, "characters"),
  maxLength: size(characters, -1, "characters"),
  minItems: size(items, 1, "items"),
  maxItems: size(items, -1, "items"),
  uniqueItems: (wanted) =>
    wanted === true
      ? (value, run, at) => {
          if (!Array.isArray(value) || value.length < 2) return true;
          const [first, second] = run.identity.firstDuplicate(value) ?? [];
          if (first === undefined) return true;
          return run.fail(at, duplicates(first, second));
        }
      : undefined,
  minProperties: size(members, 1, "properties"),
  maxProperties: size(members, -1, "properties"),
  required: (names) => (value, run, at) => requireAll(names as string[], value, run, at),
  dependentRequired(map) {
    const checks = Object.entries(map as Record<string, string[]>).map(([key, names]) => requireBeside(key, names));
    return (value, run, at) => {
      run.work.take(checks.length);
      return checks.filter((check) => !check(value, run, at, undefined)).length === 0;
    };
  },
  pattern(source, within) {
    if (typeof source !== "string") throw new Error("pattern must be a regular expression (ECMA-262)");
    const matches = within.pattern(source);
    return (value, run, at) =>
      typeof value !== "string" || matches(value, run.work) || run.fail(at, `must match pattern "${source}"`);
  },
  format(name) {
    const isOfFormat = formatCheck(String(name));
    if (isOfFormat === undefined) return undefined;
    return (value, run, at) => isOfFormat(value, run.work) || run.fail(at, `must match format "${name}"`);
  },
};

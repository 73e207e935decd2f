import { canonicalJson } from "../../lib/canonical.ts";
import { resolvePointer, stepsOf } from "../../lib/pointer.ts";
import { andThen, type MaybePromise } from "../../lib/promise.ts";
import { StepBudget, StepsSpent } from "../../lib/step-budget.ts";
import { isRecord } from "../../lib/value.ts";
import type { Issue } from "../error-catalog.ts";
import { accepts, repairsOf } from "./common-mistakes.ts";
import { isForeign } from "./foreign-schema.ts";
import { sizeOf } from "./size.ts";
import type { JsonSchema } from "./types.ts";
import { declares, listOf, requires, type UnionBranch, UnionBranches } from "./union-branches.ts";
import { type Trust, validatorOf } from "./validator.ts";
import { Violation } from "./violation.ts";

/** One repaired mistake. */
export interface Repair {
  /** Where: a JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly from: unknown;
  /** Undefined for a field that was dropped. */
  readonly to: unknown;
}

/** A value that fits now, and what was done to it. */
export interface Coerced {
  readonly value: unknown;
  readonly repairs: readonly Repair[];
}

/** The value in a JSON text may need repairs itself, and a JSON text inside that again. */
const maxRounds = 8;
/** A list of lists of itself may be as deep as it likes. */
const maxWraps = 4;
/** The steps of the search for what is meant: a schema looked at for a value, a value copied. A longer search is given up. */
const maxSteps = 500_000;
/** The cost to validate the value after each round, for each value inside it. */
const stepsToValidate = 5;

/** Options of a repair. */
interface CoerceOptions extends Trust {
  /** The issues that this schema was found to have with the value. Where left out it is validated first. */
  readonly issues?: readonly Issue[] | undefined;
}

/**
 * Repairs the common mistakes of models in a value that does not fit: nothing where it fits, or cannot be made to, or where more than one
 * thing may have been meant. The value itself is never changed.
 *
 * Only what the validator refuses is looked at, and the validator decides whether that was all.
 *
 * @returns undefined where there is nothing to repair, or not everything can be
 * @throws Error as a validator does, for a schema that cannot be compiled
 */
export function coerceValue(
  schema: JsonSchema,
  value: unknown,
  { trusted = true, issues }: CoerceOptions = {},
): MaybePromise<Coerced | undefined> {
  const validate = validatorOf(schema, { trusted });
  const mender = new Mender(schema, trusted && !isForeign(schema));
  const validated = (given: Coerced, rounds: number): MaybePromise<Coerced | undefined> =>
    andThen(validate(given.value), (result) => {
      if (result instanceof Violation) return from(given, result.issues, rounds);
      return given.repairs.length === 0 ? undefined : given;
    });
  const from = (given: Coerced, found: readonly Issue[], rounds: number): MaybePromise<Coerced | undefined> => {
    const pointers = new Set(found.map(({ pointer }) => pointer));
    const next = rounds === 0 ? given : repairedFurther(mender, given, [...pointers].sort());
    return next.repairs.length === given.repairs.length ? undefined : validated(next, rounds - 1);
  };
  const given: Coerced = { value, repairs: [] };
  return issues === undefined ? validated(given, maxRounds) : from(given, issues, maxRounds);
}

/** After one more round; as it was where the search takes too long. */
function repairedFurther(mender: Mender, given: Coerced, pointers: readonly string[]): Coerced {
  try {
    return mender.round(given, pointers);
  } catch (error) {
    if (error instanceof StepsSpent) return given;
    throw error;
  }
}

const dropped: unique symbol = Symbol("dropped");

class Mender {
  readonly #ways: UnionBranches;
  readonly #budget = new StepBudget(maxSteps);

  constructor(schema: JsonSchema, trusted: boolean) {
    this.#ways = new UnionBranches(schema, { patterns: trusted });
  }

  /** Repairs some places, each before the values inside it: those are for the next round. */
  round({ value, repairs }: Coerced, pointers: readonly string[]): Coerced {
    this.#budget.take(stepsToValidate * sizeOf(value, maxSteps));
    const done: Repair[] = [];
    const rewriting = new Rewriting(this.#budget);
    for (const pointer of pointers) {
      this.#budget.take(1 + done.length / 16);
      if (done.some((other) => pointer === other.pointer || pointer.startsWith(`${other.pointer}/`))) continue;
      const from = resolvePointer(value, pointer);
      if (from === undefined) continue;
      const to = this.#meant(value, stepsOf(pointer));
      if (to === undefined) continue;
      done.push({ pointer, from, to: to === dropped ? undefined : to });
      value = rewriting.replaced(value, stepsOf(pointer), to);
    }
    return { value, repairs: [...repairs, ...done] };
  }

  /** The repaired value at a place; undefined where there is none, or more than one. */
  #meant(root: unknown, steps: readonly string[]): unknown {
    let ways = this.#ways.whole;
    let value = root;
    for (const [index, key] of steps.entries()) {
      const container = value;
      value = (container as Readonly<Record<string, unknown>>)[key];
      ways = this.#possible(ways, container);
      const isLast = index === steps.length - 1;
      if (isLast && isNothing(value) && ways.length > 0 && ways.every((way) => isOptional(way, key))) return dropped;
      ways = ways.flatMap((way) => this.#ways.ofMember(way, container, key));
    }
    const meant = this.#outcomes(ways, value, 0);
    return meant.fits || meant.others.length !== 1 ? undefined : meant.others[0];
  }

  /** The branches a container may still fit: missing members are not added, and extra ones are not removed. */
  #possible(ways: readonly UnionBranch[], container: unknown): readonly UnionBranch[] {
    const fitting = ways.filter((way) => way.every((schema) => accepts(schema, container)));
    if (fitting.length < 2 || !isRecord(container)) return fitting;
    const keys = Object.keys(container);
    this.#budget.take(keys.length * fitting.length);
    return fitting.filter((way) =>
      way.every((schema) => {
        if (listOf(schema.required).some((key) => !Object.hasOwn(container, String(key)))) return false;
        if (schema.additionalProperties === false && schema.patternProperties === undefined)
          if (keys.some((key) => !declares(schema, key))) return false;
        return keys.every((key) => !declares(schema, key) || this.#isPossible(way, container, key));
      }),
    );
  }

  #isPossible(way: UnionBranch, container: Readonly<Record<string, unknown>>, key: string): boolean {
    const value = container[key];
    if (isNothing(value) && isOptional(way, key)) return true;
    const { fits, others } = this.#outcomes(this.#ways.ofMember(way, container, key), value, 0);
    return fits || others.length > 0;
  }

  /** Whether a value may be meant as it is, and what else. */
  #outcomes(ways: readonly UnionBranch[], value: unknown, wraps: number): Outcomes {
    const others: unknown[] = [];
    let fits = false;
    for (const way of ways) {
      this.#budget.take(way.reduce((sum, { enum: choices }) => sum + 1 + listOf(choices).length / 16, 0));
      const refusing = way.filter((schema) => !accepts(schema, value));
      if (refusing.length === 0) fits = true;
      else this.#budget.take(refusing.length * sizeOf(value, maxSteps));
      const candidates = refusing
        .flatMap((schema) => repairsOf(schema, value))
        .filter((candidate) => way.every((schema) => accepts(schema, candidate)))
        .filter((candidate) => !isWrapped(candidate, value) || this.#holds(way, value, wraps));
      for (const candidate of candidates) others.push(candidate);
    }
    return { fits, others: distinct(others) };
  }

  /** Whether a list that is to fit a way may hold a value. */
  #holds(way: UnionBranch, value: unknown, wraps: number): boolean {
    if (wraps >= maxWraps) return false;
    const { fits, others } = this.#outcomes(this.#ways.ofFirst(way), value, wraps + 1);
    return fits || others.length > 0;
  }
}

interface Outcomes {
  readonly fits: boolean;
  /** Each once. */
  readonly others: readonly unknown[];
}

function distinct(values: readonly unknown[]): readonly unknown[] {
  // One is most often all there is, and may be large.
  if (values.length < 2) return values;
  return [...new Map(values.map((value) => [canonicalJson(value), value])).values()];
}

/** True for a value by which models say that they leave a field out. */
function isNothing(value: unknown): boolean {
  return value === null || value === "";
}

function isOptional(way: UnionBranch, key: string): boolean {
  return way.some((schema) => declares(schema, key)) && !way.some((schema) => requires(schema, key));
}

function isWrapped(candidate: unknown, value: unknown): boolean {
  return Array.isArray(candidate) && candidate.length === 1 && candidate[0] === value;
}

/** A value in which some places are replaced: what is on the way to them is copied once, and the rest is shared. */
class Rewriting {
  readonly #budget: StepBudget;
  readonly #copies = new Set<unknown>();

  constructor(budget: StepBudget) {
    this.#budget = budget;
  }

  /** The value with something else at a place, or without it. */
  replaced(value: unknown, [key, ...rest]: readonly string[], to: unknown): unknown {
    if (key === undefined) return to;
    const copy = this.#copyOf(value as object);
    const changed = this.replaced(Reflect.get(copy, key), rest, to);
    if (changed === dropped) Reflect.deleteProperty(copy, key);
    // Defined and not assigned: a member may be called `__proto__`.
    else Object.defineProperty(copy, key, { value: changed, writable: true, enumerable: true, configurable: true });
    return copy;
  }

  #copyOf(value: object): object {
    if (this.#copies.has(value)) return value;
    const copy = Array.isArray(value) ? [...value] : { ...value };
    this.#budget.take(Object.keys(copy).length / 8);
    this.#copies.add(copy);
    return copy;
  }
}

import type { ContractEffect } from "../core/pin.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { pointerTo } from "../lib/pointer.ts";
import { type StepBudget, StepsSpent } from "../lib/step-budget.ts";
import { isRecord } from "../lib/value.ts";
import { SchemaIdentity } from "./schema-identity.ts";
import {
  effectOf,
  inlined,
  mapsOf,
  namesOf,
  own,
  type SchemaMaps,
  type SchemaObject,
  schemaOf,
  schemaTexts,
  targetOf,
} from "./schema-parts.ts";

/** A difference between two schemas. */
export interface SchemaDifference {
  /** Texts have no effect on what is valid. */
  readonly what: "description" | "title" | ContractEffect;
  readonly pointer: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** The effect of a part on the whole: a wider part makes the whole wider (1), narrower (-1), or one of both (0). */
type Direction = 1 | 0 | -1;

/** Two versions of one schema, and where they stand. */
interface Pair {
  readonly before: SchemaObject;
  readonly after: SchemaObject;
  readonly pointer: string;
  readonly direction: Direction;
}

/** Ends the comparison. */
class EnoughFound extends Error {}

/** After so many the rest is not compared: the whole is different. */
const maxDifferences = 20;
/** Schemas inside each other, references included: two that refer to themselves may differ in their lengths. */
const maxDepth = 400;
/** A schema that values, or a part of them, have to fit; missing, everything fits. */
const monotone = new Set(["additionalProperties", "propertyNames", "items", "additionalItems"]);
/** Their parts may be wider and the whole narrower. */
const mixed = new Set(["if", "then", "else", "contains"]);
const definitions = ["$defs", "definitions"] as const;

/**
 * The differences between two schemas that have a meaning. If the later one takes a value that the earlier one refuses, one of them is `wider`
 * or `different`; if it refuses one that the earlier takes, one is `narrower` or `different`.
 *
 * @throws StepsSpent
 */
export function compareSchemas(
  before: SchemaObject,
  after: SchemaObject,
  budget: StepBudget,
): readonly SchemaDifference[] {
  return new SchemaComparison(before, after, budget).differences();
}

class SchemaComparison {
  readonly #before: SchemaObject;
  readonly #after: SchemaObject;
  readonly #budget: StepBudget;
  readonly #identity: SchemaIdentity;
  readonly #found: SchemaDifference[] = [];
  #depth = 0;
  /** Pairs that are compared already, or just now: a schema may refer to itself. */
  readonly #compared = new WeakMap<object, WeakMap<object, Set<Direction>>>();

  constructor(before: SchemaObject, after: SchemaObject, budget: StepBudget) {
    this.#before = before;
    this.#after = after;
    this.#budget = budget;
    this.#identity = new SchemaIdentity(budget);
  }

  differences(): readonly SchemaDifference[] {
    const [before, after] = [this.#before, this.#after];
    if (this.#identity.id(before) === this.#identity.id(after)) return [];
    const isEntangled = this.#identity.isEntangled(before) || this.#identity.isEntangled(after);
    const isOther = own(before, "$schema") !== own(after, "$schema");
    try {
      this.#schemas(before, after, "", isEntangled || isOther ? 0 : 1);
      // A referenced schema was compared where it is used; the rest may be used in a way that is not known here.
      for (const name of definitions) this.#definitions(name);
      if (this.#found.length > 0) return this.#found;
    } catch (error) {
      if (!(error instanceof EnoughFound)) throw error;
    }
    return [...this.#found, { what: "different", pointer: "", before, after }];
  }

  #definitions(name: string): void {
    const { before, after } = mapsOf(this.#before[name], this.#after[name]);
    for (const key of namesOf(before, after)) {
      const [one, other] = [own(before, key), own(after, key)];
      if (isRecord(one) && isRecord(other) && this.#wasCompared(one, other)) continue;
      if (one !== undefined && other !== undefined) this.#schemas(one, other, pointerTo(`/${name}`, key), 0);
    }
  }

  #add(what: SchemaDifference["what"], pointer: string, before: unknown, after: unknown): void {
    this.#found.push({ what, pointer, before, after });
    if (this.#found.length >= maxDifferences) throw new EnoughFound();
  }

  #effect(
    effect: ContractEffect,
    { pointer, direction }: Omit<Pair, "before" | "after">,
    before: unknown,
    after: unknown,
  ): void {
    const opposite = effect === "wider" ? "narrower" : effect === "narrower" ? "wider" : effect;
    this.#add(direction === 0 ? "different" : direction === 1 ? effect : opposite, pointer, before, after);
  }

  #wasCompared(before: object, after: object): boolean {
    return this.#compared.get(before)?.has(after) === true;
  }

  /** Compares two schemas, of which each may be missing or a boolean. */
  #schemas(given: unknown, givenAfter: unknown, pointer: string, direction: Direction): void {
    this.#budget.take(1);
    const at = { pointer, direction };
    if (given === false || givenAfter === false) {
      if (given !== givenAfter) this.#effect(given === false ? "wider" : "narrower", at, given, givenAfter);
      return;
    }
    const [before, after] = [schemaOf(given), schemaOf(givenAfter)];
    if (before === undefined || after === undefined) {
      if (canonicalJson(given) !== canonicalJson(givenAfter)) this.#effect("different", at, given, givenAfter);
      return;
    }
    const isSame = this.#identity.id(before) === this.#identity.id(after);
    if (isSame && !this.#identity.hasReference(before)) return;
    const withBefore = this.#compared.get(before) ?? new WeakMap<object, Set<Direction>>();
    this.#compared.set(before, withBefore);
    const directions = withBefore.get(after) ?? new Set();
    withBefore.set(after, directions);
    if (directions.has(direction)) return;
    directions.add(direction);
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new StepsSpent("They are nested too deep");
    this.#keywords({ before, after, pointer, direction });
    this.#depth -= 1;
  }

  #keywords(pair: Pair): void {
    const rest = this.#references(pair);
    if (rest === undefined) return;
    const { before, after } = rest;
    const names = namesOf(before, after);
    this.#budget.take(names.length);
    for (const name of names) this.#keyword(name, { ...rest, pointer: pointerTo(pair.pointer, name) });
  }

  /** Compares what references lead to. Gives what else there is to compare, if there is. */
  #references(pair: Pair): Pair | undefined {
    const { before, after, pointer, direction } = pair;
    const [one, other] = [before.$ref, after.$ref];
    if (one === undefined && other === undefined) return pair;
    if (one !== undefined && other !== undefined) {
      const [from, to] = [targetOf(this.#before, before), targetOf(this.#after, after)];
      if (from !== undefined && to !== undefined) this.#schemas(from, to, pointerTo(pointer, "$ref"), direction);
      else if (one !== other) this.#effect("different", pair, one, other);
      return pair;
    }
    const from = one === undefined ? before : inlined(this.#before, before);
    const to = other === undefined ? after : inlined(this.#after, after);
    if (from === undefined || to === undefined) {
      this.#effect("different", pair, before, after);
      return undefined;
    }
    this.#schemas(from, to, pointer, direction);
    return undefined;
  }

  #keyword(name: string, pair: Pair): void {
    const { before, after, pointer, direction } = pair;
    const [one, other] = [own(before, name), own(after, name)];
    if (name === "$ref" || definitions.includes(name as "$defs")) return;
    const text = Object.hasOwn(schemaTexts, name) ? schemaTexts[name] : undefined;
    if (text !== undefined) {
      if (one !== other && canonicalJson(one) !== canonicalJson(other)) this.#add(text, pointer, one, other);
      return;
    }
    if (monotone.has(name) && !Array.isArray(one) && !Array.isArray(other)) {
      this.#schemas(one, other, pointer, direction);
    } else if (name === "properties") this.#properties(pair, mapsOf(one, other));
    else if (name === "patternProperties" || name === "dependentSchemas") this.#members(pair, mapsOf(one, other));
    else if (name === "allOf" || name === "anyOf" || name === "oneOf") this.#branches(name, pair, one, other);
    else if (name === "prefixItems" || name === "items") this.#entries(pair, one, other);
    else if (name === "not" && one !== undefined && other !== undefined) {
      this.#schemas(one, other, pointer, -direction as Direction);
    } else if (mixed.has(name) && one !== undefined && other !== undefined) this.#schemas(one, other, pointer, 0);
    else if (!this.#isSame(name, one, other)) this.#effect(effectOf(name, one, other), pair, one, other);
  }

  #isSame(name: string, one: unknown, other: unknown): boolean {
    return this.#identity.id({ [name]: one }) === this.#identity.id({ [name]: other });
  }

  #properties(pair: Pair, { before, after }: SchemaMaps): void {
    const names = namesOf(before, after);
    this.#budget.take(names.length);
    const [closedBefore, closedAfter] = [pair.before, pair.after].map(
      (schema) => schema.additionalProperties === false && schema.patternProperties === undefined,
    );
    for (const name of names) {
      const [one, other] = [own(before, name), own(after, name)];
      const at = { pointer: pointerTo(pair.pointer, name), direction: pair.direction };
      if (one !== undefined && other !== undefined) this.#schemas(one, other, at.pointer, at.direction);
      else {
        // Where others than those named are refused, one more is a new value, and one less the loss of one. Else it was free before.
        const isExact = closedBefore === true && closedAfter === true;
        const effect = isExact ? (one === undefined ? "wider" : "narrower") : "different";
        this.#effect(effect, at, one, other);
      }
    }
  }

  /** Schemas by name that each apply by themselves. */
  #members(pair: Pair, { before, after }: SchemaMaps): void {
    const names = namesOf(before, after);
    this.#budget.take(names.length);
    for (const name of names) {
      const [one, other] = [own(before, name), own(after, name)];
      const pointer = pointerTo(pair.pointer, name);
      if (one !== undefined && other !== undefined) this.#schemas(one, other, pointer, pair.direction);
      else this.#effect("different", { ...pair, pointer }, one, other);
    }
  }

  /** Entries by position. */
  #entries(pair: Pair, one: unknown, other: unknown): void {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) {
      if (!this.#isSame("prefixItems", one, other)) this.#effect("different", pair, one, other);
      return;
    }
    for (const [index, each] of one.entries())
      this.#schemas(each, other[index], pointerTo(pair.pointer, index), pair.direction);
  }

  #branches(name: "allOf" | "anyOf" | "oneOf", pair: Pair, one: unknown, other: unknown): void {
    if (!Array.isArray(one) || !Array.isArray(other)) {
      const effect = one === undefined ? "narrower" : other === undefined ? "wider" : "different";
      if (one !== other) this.#effect(effect, pair, one, other);
      return;
    }
    const direction = name === "oneOf" ? 0 : pair.direction;
    const rest = [...other.entries()];
    const unmatched = one.filter((branch) => {
      this.#budget.take(1 + rest.length);
      const found = rest.findIndex(([, each]) => this.#identity.id(each) === this.#identity.id(branch));
      if (found < 0) return true;
      const [[index, same] = [0, branch]] = rest.splice(found, 1);
      this.#schemas(branch, same, pointerTo(pair.pointer, index), direction);
      return false;
    });
    for (const branch of unmatched) {
      const [index, each] = rest.shift() ?? [undefined, undefined];
      const pointer = index === undefined ? pair.pointer : pointerTo(pair.pointer, index);
      if (index === undefined)
        this.#effect(name === "anyOf" ? "narrower" : "wider", { pointer, direction }, branch, each);
      else this.#schemas(branch, each, pointer, direction);
    }
    for (const [index, each] of rest)
      this.#effect(
        name === "anyOf" ? "wider" : "narrower",
        { pointer: pointerTo(pair.pointer, index), direction },
        undefined,
        each,
      );
  }
}

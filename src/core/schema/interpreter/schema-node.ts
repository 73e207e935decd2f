import { pointerTo } from "../../../lib/pointer.ts";
import type { Issue } from "../../error-catalog.ts";
import type { JsonSchema } from "../types.ts";
import { maxIssues } from "../violation.ts";
import { Seen } from "./seen.ts";
import { assertDepth, type ValidationWork } from "./validation-work.ts";
import { ValueIdentity } from "./value-identity.ts";

/** The place of a value inside the validated one; the outermost has no parent. */
export interface ValuePlace {
  readonly parent?: ValuePlace | undefined;
  readonly key: string | number;
}

/**
 * One keyword applied to a value. Without `at` only the verdict is wanted, and the first mismatch ends the work; with it each mismatch is
 * reported.
 *
 * @param seen - receives what is evaluated; undefined where no `unevaluated...` keyword asks for it
 */
export type Check = (value: unknown, run: Run, at: ValuePlace | undefined, seen: Seen | undefined) => boolean;

/** Whether a text matches a pattern. */
export type Matcher = (text: string, work: ValidationWork) => boolean;

/** A schema and the document it stands in, for its keywords. */
export interface Within {
  readonly schema: JsonSchema;
  readonly isDraft07: boolean;
  /** @throws Error for a pattern that cannot be matched in linear time */
  pattern(source: string): Matcher;
  /** The schema of a value inside a keyword. */
  node(schema: unknown): SchemaNode;
}

/** Makes the check of a keyword; undefined where nothing is to be checked. */
export type Keyword = (value: unknown, within: Within) => Check | undefined;

/** A schema with an `$id`, or the whole document. */
export interface SchemaResource {
  readonly uri: string;
  readonly schema: unknown;
  /** The schemas in it that a dynamic reference may lead to, by name. */
  readonly dynamicAnchors: Map<string, unknown>;
}

/** The checks of a schema. */
export interface Checks {
  readonly checks: readonly Check[];
  /** Those that apply to what the others did not evaluate, where all others hold. */
  readonly unevaluated: readonly Check[];
}

interface Outcome {
  readonly fits: boolean;
  readonly seen: Seen | undefined;
}

/** The resources that were entered on the way to a schema, outermost first, each once; and the outcomes there. */
class Scope {
  readonly resources: readonly SchemaResource[];
  readonly outcomes = new Map<SchemaNode, Map<unknown, Outcome | "pending">>();
  readonly #inner = new Map<SchemaResource, Scope>();

  constructor(resources: readonly SchemaResource[]) {
    this.resources = resources;
  }

  with(resource: SchemaResource, work: ValidationWork): Scope {
    work.take(this.resources.length);
    if (this.resources.includes(resource)) return this;
    const scope = this.#inner.get(resource) ?? new Scope([...this.resources, resource]);
    this.#inner.set(resource, scope);
    return scope;
  }
}

/** An issue further inside is reported at the last value whose pointer is no longer, in characters. */
const maxPointer = 1_000;

/** The names of fewer members are listed again at no cost that counts. */
const fewKeys = 64;

/** Ends the search for issues when there are enough. */
export class EnoughIssues extends Error {}

/** One validation of one value. */
export class Run {
  readonly work: ValidationWork;
  readonly issues: Issue[] = [];
  readonly identity: ValueIdentity;
  scope = new Scope([]);
  depth = 0;
  /** Computed once a run, by what they are of. */
  readonly #kept = new Map<object, unknown>();
  readonly #keys = new Map<object, readonly string[]>();

  readonly #maxMessage: number;

  /** @param maxMessage - longer messages are cut, in characters */
  constructor(work: ValidationWork, maxMessage: number) {
    this.work = work;
    this.#maxMessage = maxMessage;
    this.identity = new ValueIdentity(work);
  }

  kept<T>(of: object, make: () => T): T {
    if (!this.#kept.has(of)) this.#kept.set(of, make());
    return this.#kept.get(of) as T;
  }

  /**
   * The names of the members of a value. Of a value with many they are listed once: a schema may have thousands of keywords that each look
   * at a few of them.
   */
  keysOf(value: object): readonly string[] {
    const known = this.#keys.get(value);
    if (known !== undefined) return known;
    const keys = Object.keys(value);
    if (keys.length > fewKeys) this.#keys.set(value, keys);
    return keys;
  }

  /** Reports an issue where that is wanted; false in any case. */
  fail(at: ValuePlace | undefined, message: string): false {
    if (at === undefined) return false;
    if (this.issues.length >= maxIssues) throw new EnoughIssues();
    const max = this.#maxMessage;
    const cut = message.length > max ? `${message.slice(0, max)}…` : message;
    this.issues.push({ pointer: pointerOf(at), message: cut });
    return false;
  }
}

function pointerOf(place: ValuePlace): string {
  const steps: (string | number)[] = [];
  for (let at = place; at.parent !== undefined; at = at.parent) steps.push(at.key);
  let pointer = "";
  for (const step of steps.reverse()) {
    const longer = String(step).length > maxPointer ? undefined : pointerTo(pointer, step);
    if (longer === undefined || longer.length > maxPointer) break;
    pointer = longer;
  }
  return pointer;
}

/** A schema, made ready to be applied to values. */
export class SchemaNode {
  readonly #prepare: () => Checks;
  readonly #resource: SchemaResource | undefined;
  #prepared: Checks | undefined;

  /** @param resource - where dynamic references may lead to; undefined in a document without them */
  constructor(prepare: () => Checks, resource: SchemaResource | undefined) {
    this.#prepare = prepare;
    this.#resource = resource;
  }

  /** Makes it ready now. @throws Error for what cannot be used */
  prepare(): void {
    this.#prepared ??= this.#prepare();
  }

  /** Whether a value fits. */
  apply(value: unknown, run: Run, at: ValuePlace | undefined, seen: Seen | undefined): boolean {
    this.#prepared ??= this.#prepare();
    const { checks, unevaluated } = this.#prepared;
    run.depth += 1;
    assertDepth(run.depth);
    run.work.take(1 + checks.length);
    const { scope } = run;
    if (this.#resource !== undefined) run.scope = scope.with(this.#resource, run.work);
    const own = seen === undefined && unevaluated.length === 0 ? undefined : new Seen();
    let fits = true;
    for (const check of checks) {
      if (check(value, run, at, own)) continue;
      fits = false;
      if (at === undefined) break;
    }
    if (fits) for (const check of unevaluated) if (!check(value, run, at, own)) fits = false;
    if (fits && own !== undefined) seen?.merge(own, run.work);
    run.scope = scope;
    run.depth -= 1;
    return fits;
  }

  /**
   * As `apply`, for a schema that others refer to: it is applied to a value once, so that the work grows with the schemas and not with the
   * ways that lead to them.
   *
   * @throws Error for a schema that applies to a value only if it applies to it
   */
  applyOnce(value: unknown, run: Run, at: ValuePlace | undefined, seen: Seen | undefined): boolean {
    const { fits, seen: found } = this.#outcome(value, run, seen !== undefined);
    if (found !== undefined) seen?.merge(found, run.work);
    return fits || at === undefined ? fits : this.apply(value, run, at, undefined);
  }

  #outcome(value: unknown, run: Run, tracked: boolean): Outcome {
    const { outcomes } = run.scope;
    let ofNode = outcomes.get(this);
    if (ofNode === undefined) {
      ofNode = new Map();
      outcomes.set(this, ofNode);
    }
    const known = ofNode.get(value);
    if (known === "pending") throw new Error("The schema refers to itself without end");
    if (known !== undefined && (!tracked || known.seen !== undefined || !known.fits)) return known;
    ofNode.set(value, "pending");
    const seen = tracked ? new Seen() : undefined;
    const outcome = { fits: this.apply(value, run, undefined, seen), seen };
    ofNode.set(value, outcome);
    return outcome;
  }
}

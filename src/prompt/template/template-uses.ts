// For the global namespace hbs, in the published declarations too.
/// <reference types="handlebars" preserve="true" />
import type { Place } from "../prompt-problem.ts";

/** A step of a path: each entry of a list, or each member of an object. */
export const eachEntry: unique symbol = Symbol("each entry");

/** The path to a value, by names of members and indices. */
export interface ValuePath {
  /** It starts at the input. Else it starts at `this`, which in a partial may be another value. */
  readonly fromRoot: boolean;
  readonly steps: readonly (string | typeof eachEntry)[];
}

/** A value that a template uses. */
export interface ValueUse {
  /** As it is written: `../author.name`. */
  readonly written: string;
  readonly place: Place;
  readonly path: ValuePath;
  /** The number of leading steps that come from the blocks around it, and not from the tag. */
  readonly inherited: number;
  /** It is used in `{{#each}}`. */
  readonly isList: boolean;
}

/** A partial that a template uses. */
export interface PartialUse {
  readonly name: string;
  readonly place: Place;
  /** The path to the value that the partial is shown; undefined for one that is computed. */
  readonly path: ValuePath | undefined;
  /** Names that are passed to it as `name=value`. */
  readonly added: readonly string[];
}

/** The values and partials that a template uses. */
export interface TemplateUses {
  /** The values with a known path, without those that a helper computes. */
  readonly values: readonly ValueUse[];
  readonly partials: readonly PartialUse[];
}

/** The meaning of names inside a block. */
interface Scope {
  /** The path to `this`. */
  readonly path: ValuePath | undefined;
  readonly params: ReadonlyMap<string, ValuePath | undefined>;
}

/** The blocks around a tag that give names a meaning. */
export class Scopes {
  readonly #scopes: Scope[] = [{ path: { fromRoot: false, steps: [] }, params: new Map() }];

  /** Enters a block in which `this` is another value. */
  enter(path: ValuePath | undefined, params: readonly (readonly [name: string, path: ValuePath | undefined])[]): void {
    this.#scopes.unshift({ path, params: new Map(params) });
  }

  leave(): void {
    this.#scopes.shift();
  }

  /** The number of values around the tag, the input included. */
  get depth(): number {
    return this.#scopes.length;
  }

  /** The path to `this`. */
  get current(): ValuePath | undefined {
    return this.#scopes[0]?.path;
  }

  /** True for a name that an `as |name|` around the tag declares. */
  isParam(name: string): boolean {
    return this.#scopes.some(({ params }) => params.has(name));
  }

  /** The path of an expression, and the number of its steps that come from the blocks around it; undefined for one that is computed. */
  resolve({ data, depth, parts, original }: hbs.AST.PathExpression): Pick<ValueUse, "path" | "inherited"> | undefined {
    const [head = "", ...rest] = parts;
    if (data) return head === "root" ? { path: { fromRoot: true, steps: rest }, inherited: 0 } : undefined;
    const isScoped = /^(?:this\b|\.)/.test(original);
    const params = isScoped ? undefined : this.#scopes.find((scope) => scope.params.has(head))?.params;
    const from = params === undefined ? this.#scopes[depth]?.path : params.get(head);
    if (from === undefined) return undefined;
    return { path: extendPath(from, params === undefined ? parts : rest), inherited: from.steps.length };
  }

  /** The path of an expression; undefined for one that is computed. */
  pathOf(expression: hbs.AST.PathExpression): ValuePath | undefined {
    return this.resolve(expression)?.path;
  }
}

/** A path with further steps. */
export function extendPath(path: ValuePath, steps: ValuePath["steps"]): ValuePath {
  return { fromRoot: path.fromRoot, steps: [...path.steps, ...steps] };
}

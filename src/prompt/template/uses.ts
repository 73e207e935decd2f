import type { Place } from "../problem.ts";

/** In a way, each entry of a list or each member of an object. */
export const eachEntry: unique symbol = Symbol("each entry");

/** How a value is reached, by names of members and indices. */
export interface Way {
  /** True from the input, where a partial may be shown something else. */
  readonly fromRoot: boolean;
  readonly steps: readonly (string | typeof eachEntry)[];
}

/** A value that a template uses. */
export interface ValueUse {
  /** As it is written: `../author.name`. */
  readonly written: string;
  readonly place: Place;
  readonly way: Way;
  /** So many of its first steps the blocks around it make; the others are written in it. */
  readonly inherited: number;
  /** True where its entries are gone through. */
  readonly isList: boolean;
}

/** A partial that a template uses. */
export interface PartialUse {
  readonly name: string;
  readonly place: Place;
  /** To what it is shown; undefined where that cannot be told. */
  readonly way: Way | undefined;
  /** Names it is given beside. */
  readonly added: readonly string[];
}

/** What a template needs. */
export interface TemplateUses {
  /** The values whose way can be told: not what a helper computes. */
  readonly values: readonly ValueUse[];
  readonly partials: readonly PartialUse[];
}

/** What names mean inside a block. */
interface Scope {
  /** To `this`. */
  readonly way: Way | undefined;
  readonly params: ReadonlyMap<string, Way | undefined>;
}

/** The blocks around a tag, as far as they say what names mean. */
export class Scopes {
  readonly #scopes: Scope[] = [{ way: { fromRoot: false, steps: [] }, params: new Map() }];

  /** Goes into a block in which `this` is another value. */
  enter(way: Way | undefined, params: readonly (readonly [name: string, way: Way | undefined])[]): void {
    this.#scopes.unshift({ way, params: new Map(params) });
  }

  leave(): void {
    this.#scopes.shift();
  }

  /** How many values lie around the input, plus one. */
  get depth(): number {
    return this.#scopes.length;
  }

  /** To `this`. */
  get here(): Way | undefined {
    return this.#scopes[0]?.way;
  }

  /** True for a name that an `as |name|` around gives. */
  isParam(name: string): boolean {
    return this.#scopes.some(({ params }) => params.has(name));
  }

  /** The way a path leads, and how much of it the blocks around make; undefined where that cannot be told. */
  follow({ data, depth, parts, original }: hbs.AST.PathExpression): Pick<ValueUse, "way" | "inherited"> | undefined {
    const [head = "", ...rest] = parts;
    if (data) return head === "root" ? { way: { fromRoot: true, steps: rest }, inherited: 0 } : undefined;
    const isScoped = /^(?:this\b|\.)/.test(original);
    const params = isScoped ? undefined : this.#scopes.find((scope) => scope.params.has(head))?.params;
    const from = params === undefined ? this.#scopes[depth]?.way : params.get(head);
    if (from === undefined) return undefined;
    return { way: further(from, params === undefined ? parts : rest), inherited: from.steps.length };
  }

  /** The way a path leads; undefined where that cannot be told. */
  wayOf(path: hbs.AST.PathExpression): Way | undefined {
    return this.follow(path)?.way;
  }
}

/** A way and some more steps. */
export function further(way: Way, steps: Way["steps"]): Way {
  return { fromRoot: way.fromRoot, steps: [...way.steps, ...steps] };
}

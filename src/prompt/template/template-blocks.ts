import { LoopData, type Rendering, RenderScope, type TagPlace, type TextOf } from "./rendering.ts";
import { isEmpty, type ValueOf } from "./template-values.ts";
import { isSameValue } from "./value-helpers.ts";

/** The compiled parts of a block. */
export interface BlockParts {
  /** The arguments of its opening tag. */
  readonly values: readonly ValueOf[];
  /** Those that are given as `name=value`. */
  named(name: string): ValueOf | undefined;
  readonly body: TextOf;
  /** The text behind `{{else}}`. */
  readonly otherwise: TextOf;
  readonly at: TagPlace;
}

const missing: ValueOf = () => undefined;

/** Compiles a block, by its name. */
export const blocks: Readonly<Record<string, (parts: BlockParts) => TextOf>> = {
  if: ({ body, otherwise, ...parts }) => condition(parts, body, otherwise),
  unless: ({ body, otherwise, ...parts }) => condition(parts, otherwise, body),
  ifEquals: ({ body, otherwise, ...parts }) => comparison(parts, body, otherwise),
  unlessEquals: ({ body, otherwise, ...parts }) => comparison(parts, otherwise, body),
  with: ({ values: [value = missing], body, otherwise, at }) => {
    return (scope, run) => {
      run.step(1, at);
      const shown = value(scope, run);
      return isEmpty(shown) ? otherwise(scope, run) : body(new RenderScope(shown, scope.data, [shown], scope), run);
    };
  },
  each: ({ values: [value = missing], body, otherwise, at }) => {
    return (scope, run) => {
      run.step(1, at);
      const list = value(scope, run);
      if (typeof list !== "object" || list === null) return otherwise(scope, run);
      const loop = new Loop(scope, run, body, at);
      if (Array.isArray(list)) return list.length === 0 ? otherwise(scope, run) : loop.list(list);
      const entries = Symbol.iterator in list ? loop.entriesOf(list as Iterable<unknown>) : undefined;
      if (entries !== undefined) return entries.length === 0 ? otherwise(scope, run) : loop.list(entries);
      const keys = Object.keys(list);
      return keys.length === 0 ? otherwise(scope, run) : loop.members(list, keys);
    };
  },
};

type Test = Pick<BlockParts, "values" | "named" | "at">;

function condition({ values: [value = missing], named, at }: Test, yes: TextOf, no: TextOf): TextOf {
  const includeZero = named("includeZero");
  return (scope, run) => {
    run.step(1, at);
    const tested = value(scope, run);
    const isNo = isEmpty(tested) || (!tested && !includeZero?.(scope, run));
    return isNo ? no(scope, run) : yes(scope, run);
  };
}

function comparison({ values: [left = missing, right = missing], at }: Test, yes: TextOf, no: TextOf): TextOf {
  return (scope, run) => {
    run.step(1, at);
    return isSameValue(left(scope, run), right(scope, run), run, at) ? yes(scope, run) : no(scope, run);
  };
}

/** One execution of `{{#each}}`. Each entry is a step, so that a long list ends early. */
class Loop {
  readonly #scope: RenderScope;
  readonly #run: Rendering;
  readonly #body: TextOf;
  readonly #at: TagPlace;
  readonly #data: LoopData;

  constructor(scope: RenderScope, run: Rendering, body: TextOf, at: TagPlace) {
    this.#scope = scope;
    this.#run = run;
    this.#body = body;
    this.#at = at;
    this.#data = new LoopData(scope.data.root, scope.data);
  }

  list(list: readonly unknown[]): string {
    let text = "";
    for (let index = 0; index < list.length; index += 1) {
      // A hole of a list is no entry, but it takes time.
      if (!(index in list)) this.#run.step(1, this.#at);
      else text += this.#entry(list[index], index, index, index === list.length - 1);
    }
    return text;
  }

  members(holder: object, keys: readonly string[]): string {
    let text = "";
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index] ?? "";
      text += this.#entry((holder as Record<string, unknown>)[key], key, index, index === keys.length - 1);
    }
    return text;
  }

  /** The entries of a set and its like; one that never ends reaches the limit. */
  entriesOf(iterable: Iterable<unknown>): readonly unknown[] {
    const entries: unknown[] = [];
    for (const entry of iterable) {
      this.#run.step(1, this.#at);
      entries.push(entry);
    }
    return entries;
  }

  #entry(entry: unknown, key: string | number, index: number, isLast: boolean): string {
    this.#run.step(1, this.#at);
    const data = this.#data;
    data.key = key;
    data.index = index;
    data.first = index === 0;
    data.last = isLast;
    return this.#body(new RenderScope(entry, data, [entry, key], this.#scope), this.#run);
  }
}

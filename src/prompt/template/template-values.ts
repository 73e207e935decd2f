import type { LoopData, Rendering, RenderScope, TagPlace } from "./rendering.ts";

/** Computes the value of an expression. */
export type ValueOf = (scope: RenderScope, run: Rendering) => unknown;

/** The names behind `as` of each block around an expression that changes `this`, innermost first. */
export type ParamNames = readonly (readonly string[])[];

/**
 * A property of a value, as templates may read it: one of its own. What it inherits is out of reach, and so is the constructor that a
 * prototype has of its own.
 */
export function propertyOf(holder: unknown, name: string): unknown {
  if (holder === null || holder === undefined) return holder;
  if (!Object.hasOwn(holder as object, name)) return undefined;
  const value = (holder as Readonly<Record<string, unknown>>)[name];
  const isOfPrototype = name === "constructor" && typeof value === "function" && value.prototype === holder;
  return isOfPrototype ? undefined : value;
}

/** The names of a path that count nothing: its tag is a step. */
const freeNames = 4;

/** Compiles a name or path. Each further name of a long one is a step. */
export function compilePath(path: hbs.AST.PathExpression, params: ParamNames, at: TagPlace): ValueOf {
  const value = compileNames(path, params);
  const steps = path.depth + path.parts.length - freeNames;
  if (steps <= 0) return value;
  return (scope, run) => {
    run.step(steps, at);
    return value(scope, run);
  };
}

function compileNames(path: hbs.AST.PathExpression, params: ParamNames): ValueOf {
  const { data, depth, parts, original } = path;
  if (data) return compileDataPath(depth, parts);
  const [head = "", ...rest] = parts;
  const isScoped = depth > 0 || /^(?:this\b|\.)/.test(original);
  const level = isScoped ? -1 : params.findIndex((names) => names.includes(head));
  if (level !== -1) {
    const position = params[level]?.indexOf(head) ?? 0;
    return (scope) => follow(scopeAround(scope, level)?.params[position], rest);
  }
  if (depth > 0) return (scope) => follow(outerScope(scope, depth)?.value, parts);
  if (parts.length === 0) return (scope) => scope.value;
  return rest.length === 0 ? (scope) => propertyOf(scope.value, head) : (scope) => follow(scope.value, parts);
}

function scopeAround(scope: RenderScope, levels: number): RenderScope | undefined {
  let current: RenderScope | undefined = scope;
  for (let level = 0; level < levels; level += 1) current = current?.around;
  return current;
}

function outerScope(scope: RenderScope, levels: number): RenderScope | undefined {
  let current: RenderScope | undefined = scope;
  for (let level = 0; level < levels; level += 1) current = current?.outer;
  return current;
}

function follow(value: unknown, parts: readonly string[]): unknown {
  let current = value;
  for (const part of parts) {
    if (current === null || current === undefined) return current;
    current = propertyOf(current, part);
  }
  return current;
}

/** Compiles `@index` and its like. An empty value ends such a path. */
function compileDataPath(depth: number, [name = "", ...rest]: readonly string[]): ValueOf {
  const key = name as keyof LoopData;
  return (scope) => {
    let data: LoopData | undefined = scope.data;
    for (let level = 0; level < depth; level += 1) data = data?.outer;
    let current: unknown = data?.[key];
    for (const part of rest) {
      if (!current) return current;
      current = propertyOf(current, part);
    }
    return current;
  };
}

/** True for a value that `{{#if}}` takes for none. */
export function isEmpty(value: unknown): boolean {
  return (!value && value !== 0) || (Array.isArray(value) && value.length === 0);
}

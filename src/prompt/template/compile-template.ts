import { isBlock, isCall, isContent, isMustache, isPartial, isPath, parseForRendering } from "./handlebars-parser.ts";
import { type Rendering, RenderScope, type TagPlace, type TextOf } from "./rendering.ts";
import { blocks } from "./template-blocks.ts";
import { choices, helperFunctions, toText } from "./template-helpers.ts";
import type { TemplateSource } from "./template-source.ts";
import { compilePath, type ParamNames, type ValueOf } from "./template-values.ts";

const nothing: TextOf = () => "";

/**
 * Compiles a template that was checked to functions, one for each tag. Handlebars itself would compile it to JavaScript, which no
 * limit of ours could end. Prompts and renderings share what is compiled: each rendering finds the partials of its own prompt.
 */
export function compileTemplate(source: TemplateSource): TextOf {
  return new TemplateCompiler(source).program(parseForRendering(source.text), []);
}

type Call = Pick<hbs.AST.SubExpression, "params" | "hash"> & { readonly path: hbs.AST.Node };
type NamedValues = readonly (readonly [name: string, value: ValueOf])[];

class TemplateCompiler {
  readonly #source: TemplateSource;

  constructor(source: TemplateSource) {
    this.#source = source;
  }

  program(program: hbs.AST.Program | null | undefined, params: ParamNames): TextOf {
    const parts = (program?.body ?? []).map((node) => this.#statement(node, params)).filter((part) => part !== nothing);
    const [only = nothing] = parts;
    if (parts.length < 2) return only;
    return (scope, run) => {
      let text = "";
      for (const part of parts) text += part(scope, run);
      return text;
    };
  }

  #statement(node: hbs.AST.Statement, params: ParamNames): TextOf {
    if (isContent(node)) return this.#content(node);
    if (isMustache(node)) return this.#mustache(node, params);
    if (isBlock(node)) return this.#block(node, params);
    return isPartial(node) ? this.#partial(node, params) : nothing;
  }

  #content(node: hbs.AST.ContentStatement): TextOf {
    const { value } = node;
    const at = this.#placeOf(node);
    return value === "" ? nothing : (_scope, run) => run.write(value, at);
  }

  #mustache(node: hbs.AST.MustacheStatement, params: ParamNames): TextOf {
    const at = this.#placeOf(node);
    const isCalled = node.params.length > 0 || node.hash !== undefined;
    const value = isCalled ? this.#call(node, params) : this.#value(node.path, params);
    return (scope, run) => {
      run.step(1, at);
      return run.write(toText(value(scope, run), run, at), at);
    };
  }

  #value(node: hbs.AST.Expression, params: ParamNames): ValueOf {
    if (isPath(node)) return compilePath(node, params, this.#placeOf(node));
    if (isCall(node)) return this.#call(node, params);
    const { value } = node as Partial<hbs.AST.StringLiteral>;
    return () => value;
  }

  #call(node: Call, params: ParamNames): ValueOf {
    const at = this.#placeOf(node.path);
    const name = nameOf(node.path);
    const helper = helperFunctions[name] ?? (() => undefined);
    const values = node.params.map((param) => this.#value(param, params));
    const decides = choices[name];
    if (decides !== undefined) return choiceOf(values, decides, at);
    const named = this.#named(node.hash, params);
    const written = writtenNames(node.hash);
    return (scope, run) => {
      run.step(1, at);
      const given = { values: values.map((value) => value(scope, run)), named: valuesOf(named, scope, run, at) };
      return helper({ ...given, written, run, at });
    };
  }

  #named(hash: hbs.AST.Hash | undefined, params: ParamNames): NamedValues {
    // `name=undefined` adds nothing, as in Handlebars.
    const pairs = (hash?.pairs ?? []).filter(({ value }) => value.type !== "UndefinedLiteral");
    return pairs.map(({ key, value }) => [key, this.#value(value, params)]);
  }

  #block(node: hbs.AST.BlockStatement, params: ParamNames): TextOf {
    const name = nameOf(node.path);
    const changesThis = name === "each" || name === "with";
    const inner = changesThis ? [node.program?.blockParams ?? [], ...params] : params;
    const named = new Map(this.#named(node.hash, params));
    const block = blocks[name];
    if (block === undefined) return nothing;
    return block({
      values: node.params.map((param) => this.#value(param, params)),
      named: (key) => named.get(key),
      body: this.program(node.program, inner),
      otherwise: this.program(node.inverse, params),
      at: this.#placeOf(node),
    });
  }

  #partial(node: hbs.AST.PartialStatement, params: ParamNames): TextOf {
    const name = nameOf(node.name);
    const at = this.#placeOf(node);
    const [shown] = node.params;
    const value: ValueOf = shown === undefined ? ({ value: own }) => own : this.#value(shown, params);
    const named = this.#named(node.hash, params);
    const { indent } = node;
    return (scope, run) => {
      run.step(1, at);
      const given = value(scope, run);
      const inside = named.length === 0 ? given : withNamed(given, valuesOf(named, scope, run, at), run, at);
      const text = run.partial(name)(new RenderScope(inside, scope.data, [], undefined), run);
      return indent === "" ? text : indented(text, indent, run, at);
    };
  }

  #placeOf({ loc }: hbs.AST.Node): TagPlace {
    return { source: this.#source, line: loc.start.line, column: loc.start.column + 1 };
  }
}

/** The first value that decides, or else the last. */
function choiceOf(values: readonly ValueOf[], decides: (value: unknown) => boolean, at: TagPlace): ValueOf {
  return (scope, run) => {
    run.step(1, at);
    let chosen: unknown;
    for (const value of values) {
      chosen = value(scope, run);
      if (decides(chosen)) break;
    }
    return chosen;
  };
}

/** The name of a helper, block or partial; it may be written as text. */
function nameOf(node: hbs.AST.Node): string {
  return String((node as hbs.AST.PathExpression).original);
}

/** The names of the values that are texts of the template, wherever they are given. */
function writtenNames(hash: hbs.AST.Hash | undefined): ReadonlySet<string> {
  const pairs = hash?.pairs ?? [];
  const names = pairs.filter(({ value }) => value.type === "StringLiteral").map(({ key }) => key);
  const others = new Set(pairs.filter(({ value }) => value.type !== "StringLiteral").map(({ key }) => key));
  return new Set(names.filter((name) => !others.has(name)));
}

const none: Readonly<Record<string, unknown>> = Object.freeze({});

function valuesOf(
  named: NamedValues,
  scope: RenderScope,
  run: Rendering,
  at: TagPlace,
): Readonly<Record<string, unknown>> {
  if (named.length === 0) return none;
  run.step(named.length * stepsPerMember, at);
  return Object.fromEntries(named.map(([name, value]) => [name, value(scope, run)]));
}

/** Steps for each member of an object that is made: in a large one a member takes about so much longer than a tag. */
const stepsPerMember = 8;

/** The value a partial is shown, with what its tag adds. */
function withNamed(given: unknown, named: Readonly<Record<string, unknown>>, run: Rendering, at: TagPlace): unknown {
  if (typeof given === "string") run.work(given.length * 64, at);
  else if (typeof given === "object" && given !== null) run.step(Object.keys(given).length * stepsPerMember, at);
  return { ...(given as object), ...named };
}

/** The text of a partial whose tag stands alone on its line: each of its lines is indented as the tag. */
function indented(text: string, indent: string, run: Rendering, at: TagPlace): string {
  run.work(text.length, at);
  const lines = text.split("\n");
  const last = lines.length - 1;
  return lines.map((line, index) => (line === "" && index === last ? line : run.write(indent, at) + line)).join("\n");
}

import { dateInLayout } from "./go-layout.ts";
import { type Expression, entryOf, type FieldExpression, NoHandlebarsForm, withPart } from "./handlebars-expression.ts";

/** The meaning of variables at a place of a template. */
export interface GoScope {
  /** The field that a variable holds; undefined for an unknown variable. */
  variable(name: string): FieldExpression | undefined;
  /** The field that `$` is. @throws NoHandlebarsForm */
  root(): FieldExpression;
}

const tokens = /"(?:\\.|[^"\\\n])*"|`[^`]*`|'(?:\\.|[^'\\\n])+'|\$?[\w.]+|\$|:=|[|(),=]|\S/g;

/** A longer pipeline is not converted: each of its functions is one more level of a tag. */
const maxTokens = 200;

/** Parses a pipeline of Go's text/template. @throws NoHandlebarsForm */
export function parseGoPipeline(text: string, scope: GoScope): Expression {
  const found = text.match(tokens) ?? [];
  if (found.length > maxTokens) throw new NoHandlebarsForm("The tag is too long: compute the value before the call.");
  const parser = new PipelineParser(found, scope);
  const expression = parser.pipeline();
  if (parser.next !== undefined)
    throw new NoHandlebarsForm("Write fields without the dot, and helpers first: {{upper text}}.");
  return expression;
}

class PipelineParser {
  readonly #tokens: readonly string[];
  readonly #scope: GoScope;
  #position = 0;

  constructor(tokens: readonly string[], scope: GoScope) {
    this.#tokens = tokens;
    this.#scope = scope;
  }

  get next(): string | undefined {
    return this.#tokens[this.#position];
  }

  pipeline(): Expression {
    let value = this.#command(undefined);
    while (this.next === "|") {
      this.#position += 1;
      value = this.#command(value);
    }
    return value;
  }

  /** A function with its arguments, of which the last may be piped in; or one value. */
  #command(piped: Expression | undefined): Expression {
    const name = this.next ?? "";
    const isFunction = /^[A-Za-z_]\w*(?:\.\w+)*$/.test(name) && !constants.has(name);
    if (isFunction) this.#position += 1;
    const values: Expression[] = [];
    while (this.next !== undefined && this.next !== "|" && this.next !== ")") values.push(this.#operand());
    if (piped !== undefined) values.push(piped);
    const [first, ...others] = values;
    if (name === "index" && first !== undefined) return others.reduce(entryOf, first);
    const date = isFunction ? dateOfFunction(name, values) : dateOfMethod(values);
    if (date !== undefined) return date;
    if (isFunction) {
      return values.length === 0
        ? { kind: "path", from: "here", parts: name.split(".") }
        : { kind: "call", name, values };
    }
    if (first !== undefined && others.length === 0) return first;
    throw new NoHandlebarsForm("Write helpers first, then their values: {{upper text}}.");
  }

  #operand(): Expression {
    const token = this.next ?? "";
    this.#position += 1;
    if (token !== "(") return operandOf(token, this.#scope);
    const value = this.pipeline();
    if (this.next !== ")") throw new NoHandlebarsForm("A parenthesis is never closed.");
    this.#position += 1;
    return this.#fieldsOf(value);
  }

  /** Fields behind a parenthesis: `(index .items 0).name`. */
  #fieldsOf(value: Expression): Expression {
    const fields = this.next;
    if (fields === undefined || !/^\.\w/.test(fields)) return value;
    this.#position += 1;
    return fields
      .slice(1)
      .split(".")
      .reduce<Expression>((holder, name) => entryOf(holder, { kind: "literal", value: name }), value);
  }
}

/** A date as its method `Format` writes it: `.created.Format "2006-01-02"`. */
function dateOfMethod([method, layout, ...others]: readonly Expression[]): Expression | undefined {
  if (method?.kind !== "path" || method.parts.at(-1) !== "Format" || method.parts.length < 2) return undefined;
  if (layout === undefined || others.length > 0) return undefined;
  return dateInLayout({ ...method, parts: method.parts.slice(0, -1) }, layout);
}

/** A date as the function `date`, which many have from a library, writes it: `date "2006-01-02" .created`. */
function dateOfFunction(name: string, values: readonly Expression[]): Expression | undefined {
  const [first, second] = values;
  if (name !== "date" || first === undefined || second === undefined || values.length > 2) return undefined;
  return second.kind === "literal" ? dateInLayout(first, second) : dateInLayout(second, first);
}

const constants: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["nil", null],
]);

function operandOf(token: string, scope: GoScope): Expression {
  const constant = constants.get(token);
  if (constant !== undefined) return { kind: "literal", value: constant };
  if (/^["`']/.test(token)) return { kind: "literal", value: textOf(token) };
  if (/^-?\d[\d_]*(?:\.\d+)?$/.test(token)) return { kind: "literal", value: Number(token.replaceAll("_", "")) };
  if (token === ".") return { kind: "path", from: "here", parts: [] };
  const [head = "", ...parts] = token.split(".");
  if (head === "$") return parts.reduce(withPart, scope.root());
  if (head.startsWith("$")) {
    const variable = scope.variable(head.slice(1));
    if (variable === undefined)
      throw new NoHandlebarsForm(`Handlebars has no variable ${head}: write the field it stands for.`);
    return parts.reduce(withPart, variable);
  }
  if (/^\w*$/.test(head) && parts.every((part) => /^\w+$/.test(part))) {
    return { kind: "path", from: "here", parts: head === "" ? parts : [head, ...parts] };
  }
  throw new NoHandlebarsForm("Write fields without the dot, and helpers first: {{upper text}}.");
}

function textOf(token: string): string {
  if (token.startsWith("`")) return token.slice(1, -1);
  try {
    return String(JSON.parse(`"${token.slice(1, -1)}"`));
  } catch {
    throw new NoHandlebarsForm("This text cannot be written in a tag: pass it as a field.");
  }
}

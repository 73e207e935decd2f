import { type Expression, entryOf, NoForm, type Path } from "./expression.ts";

/** What names mean where an expression stands. */
export interface JinjaScope {
  /** What a name stands for: a field of the input, or what a loop gives. */
  path(name: string): Path;
}

const tokens = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\d+(?:\.\d+)?|[A-Za-z_]\w*|[=!<>]=|\S/g;

/** Reads an expression of Jinja, without the inline `if`. @throws NoForm for what Handlebars has no form for */
export function parseJinja(text: string, scope: JinjaScope): Expression {
  const reader = new ExpressionReader(text.match(tokens) ?? [], scope);
  const expression = reader.either();
  if (reader.next !== undefined) throw unreadable();
  return expression;
}

const unreadable = () => new NoForm("Write helpers first, then their values: {{upper text}}.");

const operators: Readonly<Record<string, string>> = {
  "==": "eq",
  "!=": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
  in: "in",
};

class ExpressionReader {
  readonly #tokens: readonly string[];
  readonly #scope: JinjaScope;
  #position = 0;

  constructor(tokens: readonly string[], scope: JinjaScope) {
    this.#tokens = tokens;
    this.#scope = scope;
  }

  get next(): string | undefined {
    return this.#tokens[this.#position];
  }

  either(): Expression {
    const values = [this.#all()];
    while (this.#takes("or")) values.push(this.#all());
    return joined("or", values);
  }

  #all(): Expression {
    const values = [this.#not()];
    while (this.#takes("and")) values.push(this.#not());
    return joined("and", values);
  }

  #not(): Expression {
    return this.#takes("not") ? { kind: "call", name: "not", values: [this.#not()] } : this.#comparison();
  }

  #comparison(): Expression {
    const left = this.#filtered();
    if (this.#takes("is")) return this.#test(left);
    const isNot = this.next === "not";
    if (isNot) this.#position += 1;
    const name = operators[this.next ?? ""];
    if (name === undefined) {
      if (isNot) throw unreadable();
      return left;
    }
    this.#position += 1;
    const compared: Expression = { kind: "call", name, values: [left, this.#filtered()] };
    return isNot ? { kind: "call", name: "not", values: [compared] } : compared;
  }

  #test(value: Expression): Expression {
    const isNot = this.#takes("not");
    const word = this.next ?? "";
    if (!/^(?:defined|none|None|undefined)$/.test(word)) throw new NoForm(`Handlebars has no test "is ${word}".`);
    this.#position += 1;
    return (word === "defined") === isNot ? { kind: "call", name: "not", values: [value] } : value;
  }

  #filtered(): Expression {
    let value = this.#postfix();
    while (this.#takes("|")) {
      const name = this.next ?? "";
      this.#position += 1;
      value = filtered(value, name, this.#takes("(") ? this.#values(")") : []);
    }
    return value;
  }

  #postfix(): Expression {
    let value = this.#primary();
    for (;;) {
      if (this.#takes(".")) {
        const name = this.next ?? "";
        this.#position += 1;
        if (this.#takes("(")) value = filtered(value, name, this.#values(")"));
        else value = entryOf(value, { kind: "literal", value: name });
      } else if (this.#takes("[")) {
        const [key] = this.#values("]");
        if (key === undefined) throw unreadable();
        value = entryOf(value, key);
      } else return value;
    }
  }

  #primary(): Expression {
    const token = this.next;
    if (token === undefined) throw unreadable();
    this.#position += 1;
    if (token === "(") {
      const value = this.either();
      if (!this.#takes(")")) throw unreadable();
      return value;
    }
    if (/^["']/.test(token)) return { kind: "literal", value: token.slice(1, -1).replace(/\\(["'\\])/g, "$1") };
    if (/^\d/.test(token)) return { kind: "literal", value: Number(token) };
    if (/^(?:true|false)$/i.test(token)) return { kind: "literal", value: token.toLowerCase() === "true" };
    if (/^none$/i.test(token)) return { kind: "literal", value: null };
    if (!/^[A-Za-z_]/.test(token) || this.next === "(") throw new NoForm(`Handlebars cannot call ${token}.`);
    return this.#scope.path(token);
  }

  #values(end: string): readonly Expression[] {
    const values: Expression[] = [];
    while (!this.#takes(end)) {
      if (this.next === undefined) throw unreadable();
      values.push(this.either());
      if (!this.#takes(",") && this.next !== end) throw unreadable();
    }
    return values;
  }

  #takes(token: string): boolean {
    if (this.next !== token) return false;
    this.#position += 1;
    return true;
  }
}

function joined(name: string, values: readonly Expression[]): Expression {
  const [only] = values;
  return values.length === 1 && only !== undefined ? only : { kind: "call", name, values };
}

/** A value put through a filter, or a method called on it. */
function filtered(value: Expression, name: string, others: readonly Expression[]): Expression {
  const [other] = others;
  if (name === "first" && others.length === 0) return entryOf(value, { kind: "literal", value: 0 });
  // `", ".join(items)` is the method of the separator.
  if (name === "join") return { kind: "call", name, values: [value, other ?? { kind: "literal", value: "" }] };
  if ((name === "default" || name === "d") && other !== undefined) {
    return { kind: "call", name: "default", values: [other, value] };
  }
  if (name === "items" && others.length === 0) return value;
  return { kind: "call", name, values: [value, ...others] };
}

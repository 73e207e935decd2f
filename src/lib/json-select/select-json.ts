import type { compile } from "@jmespath-community/jmespath";
import type { StepBudget } from "../step-budget.ts";
import { isRecord } from "../value.ts";
import { callFunction } from "./select-functions.ts";
import { ExpressionReference, InvalidSelection, isEqualJson, isFalse } from "./select-value.ts";

/** A parsed expression of JMESPath. */
export type SelectNode = ReturnType<typeof compile>;

type NodeOf<T extends SelectNode["type"]> = Extract<SelectNode, { readonly type: T }>;

/** The longest expression that is parsed, in characters. */
const maxExpression = 1_000;

/**
 * Parses an expression of JMESPath. The parser is imported when it is first needed.
 *
 * @throws InvalidSelection for what is no expression, and for one of more than 1,000 characters
 */
export async function parseSelection(expression: string): Promise<SelectNode> {
  if (expression.length > maxExpression)
    throw new InvalidSelection(`has ${expression.length} characters, and may have ${maxExpression}`);
  const { compile: parse } = await import("@jmespath-community/jmespath");
  try {
    return parse(expression);
  } catch (error) {
    throw new InvalidSelection(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Selects from a JSON value. Each node that is visited, and each element and character that a function touches, is a step: the library's own
 * interpreter counts nothing, and reads inherited members such as `constructor`.
 *
 * @throws InvalidSelection for a wrong function or argument; StepsSpent beyond the budget
 */
export function selectJson(node: SelectNode, value: unknown, steps: StepBudget): unknown {
  return new Selection(value, steps).visit(node, value);
}

/** One evaluation of an expression. */
class Selection {
  readonly #steps: StepBudget;
  readonly #root: unknown;

  constructor(root: unknown, steps: StepBudget) {
    this.#root = root;
    this.#steps = steps;
  }

  visit(node: SelectNode, value: unknown): unknown {
    this.#steps.take(1);
    switch (node.type) {
      case "Identity":
      case "Current":
        return value;
      case "Root":
        return this.#root;
      case "Literal":
        return node.value;
      case "Field":
        return isRecord(value) && Object.hasOwn(value, node.name) ? (value[node.name] ?? null) : null;
      case "Index":
        return Array.isArray(value) ? (value.at(node.value) ?? null) : null;
      case "Slice":
        return this.#slice(node, value);
      case "Subexpression": {
        const left = this.visit(node.left, value);
        return left === null ? null : this.visit(node.right, left);
      }
      case "IndexExpression":
      case "Pipe":
        return this.visit(node.right, this.visit(node.left, value));
      case "OrExpression":
      case "AndExpression": {
        const left = this.visit(node.left, value);
        return isFalse(left) === (node.type === "OrExpression") ? this.visit(node.right, value) : left;
      }
      case "NotExpression":
        return isFalse(this.visit(node.child, value));
      case "Comparator":
        return this.#compare(node, value);
      case "MultiSelectList":
        return node.children.map((child) => this.visit(child, value));
      case "MultiSelectHash":
        return Object.fromEntries(node.children.map((child) => [child.name, this.visit(child.value, value)]));
      case "Function":
        return this.#call(node, value);
      case "ExpressionReference":
        return new ExpressionReference((element) => this.visit(node.child, element));
      default:
        return this.#project(node, value);
    }
  }

  #project(node: SelectNode, value: unknown): unknown {
    switch (node.type) {
      case "Flatten": {
        const list = this.visit(node.child, value);
        return Array.isArray(list) ? this.#flattened(list) : null;
      }
      case "Projection": {
        const base = this.visit(node.left, value);
        // A slice of a text is a text, of which there is nothing to project.
        if (typeof base === "string" && node.left.type === "IndexExpression") return this.visit(node.right, base);
        return Array.isArray(base) ? this.#each(node.right, base) : null;
      }
      case "ValueProjection": {
        const base = this.visit(node.left, value);
        return isRecord(base) ? this.#each(node.right, this.#counted(Object.values(base))) : null;
      }
      case "FilterProjection": {
        const base = this.visit(node.left, value);
        if (!Array.isArray(base)) return null;
        const fitting = base.filter((element) => !isFalse(this.visit(node.condition, element)));
        return this.#each(node.right, fitting);
      }
      default:
        throw new InvalidSelection(`uses ${node.type}, which is not supported`);
    }
  }

  #call({ name, children }: NodeOf<"Function">, value: unknown): unknown {
    const given = children.map((child) => this.visit(child, value));
    return callFunction(name, given, this.#steps);
  }

  /** A list or a text, whose elements or characters count as steps. */
  #counted<T extends { readonly length: number }>(list: T): T {
    this.#steps.take(list.length);
    return list;
  }

  #each(node: SelectNode, list: readonly unknown[]): unknown[] {
    return list.map((element) => this.visit(node, element)).filter((found) => found !== null);
  }

  #flattened(list: readonly unknown[]): unknown[] {
    const flat: unknown[] = [];
    for (const element of this.#counted(list)) {
      if (!Array.isArray(element)) flat.push(element);
      else for (const inner of this.#counted(element)) flat.push(inner);
    }
    return flat;
  }

  #slice({ start, stop, step: given }: NodeOf<"Slice">, value: unknown): unknown {
    const list = typeof value === "string" ? [...this.#counted(value)] : value;
    if (!Array.isArray(list)) return null;
    const step = given ?? 1;
    if (step === 0) throw new InvalidSelection("has a slice whose step is 0");
    const least = step < 0 ? -1 : 0;
    const most = step < 0 ? list.length - 1 : list.length;
    const bound = (at: number | null, other: number) =>
      at === null ? other : Math.min(Math.max(at < 0 ? at + list.length : at, least), most);
    const end = bound(stop, step < 0 ? -1 : list.length);
    const sliced: unknown[] = [];
    for (let at = bound(start, step < 0 ? list.length - 1 : 0); step < 0 ? at > end : at < end; at += step)
      sliced.push(list[at]);
    this.#counted(sliced);
    return typeof value === "string" ? sliced.join("") : sliced;
  }

  #compare({ name, left, right }: NodeOf<"Comparator">, value: unknown): unknown {
    const one = this.visit(left, value);
    const other = this.visit(right, value);
    if (name === "EQ" || name === "NE") return isEqualJson(one, other, this.#steps) === (name === "EQ");
    if (typeof one !== "number" || typeof other !== "number") return null;
    if (name === "GT") return one > other;
    if (name === "GTE") return one >= other;
    return name === "LT" ? one < other : one <= other;
  }
}

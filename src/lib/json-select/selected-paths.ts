import type { FieldPath } from "../value.ts";
import { assertFunction } from "./select-functions.ts";
import type { SelectNode } from "./select-json.ts";
import { InvalidSelection } from "./select-value.ts";

/** The parts that an expression reads. */
export interface SelectedPaths {
  /** Each member that is read from the value itself or a member of it, the way there included. */
  readonly read: readonly FieldPath[];
  /** The expression reads the value as a whole, or all of its members, such as `@` or `*`. */
  readonly readsAll: boolean;
  /** The part that the expression gives as it is; undefined where it computes its value. */
  readonly given: FieldPath | undefined;
}

/**
 * The parts of a value that an expression of JMESPath may read, known without the value.
 *
 * @throws InvalidSelection for what selections do not support
 */
export function selectedPaths(node: SelectNode): SelectedPaths {
  const walk = new PathWalk();
  const given = walk.visit(node, []);
  if (given?.length === 0) walk.readsAll = true;
  return { read: walk.read, readsAll: walk.readsAll, given };
}

/** Follows an expression with the way to the value that each part of it is applied to; undefined where that is an element or was computed. */
class PathWalk {
  readonly read: FieldPath[] = [];
  readsAll = false;

  visit(node: SelectNode, at: FieldPath | undefined): FieldPath | undefined {
    switch (node.type) {
      case "Identity":
      case "Current":
        return at;
      case "Root":
        return [];
      case "Field":
        return this.#member(at, node.name);
      case "Index":
        return at && [...at, node.value];
      case "Subexpression":
      case "IndexExpression":
      case "Pipe":
        return this.visit(node.right, this.visit(node.left, at));
      case "Projection":
      case "ValueProjection":
        this.#taken(this.visit(node.left, at));
        this.visit(node.right, undefined);
        return undefined;
      case "FilterProjection":
        this.#taken(this.visit(node.left, at));
        this.visit(node.condition, undefined);
        this.visit(node.right, undefined);
        return undefined;
      case "ExpressionReference":
        this.visit(node.child, undefined);
        return undefined;
      case "Literal":
      case "Slice":
        return undefined;
      default:
        for (const child of partsOf(node)) this.#taken(this.visit(child, at));
        return undefined;
    }
  }

  #member(at: FieldPath | undefined, name: string): FieldPath | undefined {
    if (at === undefined) return undefined;
    const path = [...at, name];
    this.read.push(path);
    return path;
  }

  /** A value that is looked into: where it is the whole one, all of it may be read. */
  #taken(path: FieldPath | undefined): void {
    if (path?.length === 0) this.readsAll = true;
  }
}

/** The parts of an expression that are applied to the same value as it is, and give what it is computed from. */
function partsOf(node: SelectNode): readonly SelectNode[] {
  switch (node.type) {
    case "OrExpression":
    case "AndExpression":
    case "Comparator":
      return [node.left, node.right];
    case "NotExpression":
    case "Flatten":
      return [node.child];
    case "MultiSelectList":
      return node.children;
    case "MultiSelectHash":
      return node.children.map(({ value }) => value);
    case "Function":
      assertFunction(node.name);
      return node.children;
    default:
      throw new InvalidSelection(`uses ${node.type}, which is not supported`);
  }
}

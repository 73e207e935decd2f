import { decoded, pointerTo, resolveReference } from "../../../lib/pointer.ts";
import { isRecord } from "../../../lib/value.ts";
import { messageOf } from "../../error.ts";
import { formProblem } from "../check.ts";
import { childrenOf } from "../children.ts";
import { toLinearPattern } from "../linear-pattern.ts";
import { isDraft07, type JsonSchema } from "../types.ts";
import { applicators, unevaluated } from "./applicators.ts";
import { assertions } from "./assertions.ts";
import {
  type Check,
  type Checks,
  type Keyword,
  type Matcher,
  SchemaNode,
  type SchemaResource,
  type Within,
} from "./schema-node.ts";
import { maxDepth } from "./validation-work.ts";

/**
 * The patterns of one document may cost no more than this together, see `patternCost`: more would be compiled for longer than a quarter of
 * a second.
 */
const maxPatternCost = 100_000;

/** A base for references of a document that does not name itself. */
const unnamed = "schema:///";
const draft2020 = new Set(
  "prefixItems dependentRequired dependentSchemas unevaluatedProperties unevaluatedItems".split(" "),
);

/** The order in which keywords are checked. */
const ranks = new Map(
  Object.keys({ ...assertions, ...applicators, ...unevaluated }).map((keyword, rank) => [keyword, rank]),
);

interface Target {
  readonly schema: unknown;
  readonly resource: SchemaResource;
}

/** A document of schemas, each made ready when it is first applied. */
export class SchemaDocument {
  readonly isDraft07: boolean;
  readonly root: SchemaNode;
  readonly #resource: SchemaResource;
  readonly #nodes = new Map<unknown, SchemaNode>();
  readonly #patterns = new Map<string, Matcher>();
  /** By URI, anchors included. */
  readonly #named = new Map<string, Target>();
  /** The resources of schemas that are not of the first one. */
  readonly #resources = new Map<object, SchemaResource>();
  #isDynamic = false;
  #patternCost = 0;

  constructor(schema: JsonSchema) {
    this.isDraft07 = isDraft07(schema);
    this.#resource = { uri: resolved(schema.$id, unnamed), schema, dynamicAnchors: new Map() };
    this.#name(this.#resource.uri, { schema, resource: this.#resource });
    this.#index(schema, this.#resource, 0);
    this.root = this.#node(schema, this.#resource);
  }

  /** Makes every schema in the document ready. @throws Error for the first that cannot be used */
  prepareAll(schema: unknown = this.#resource.schema, resource: SchemaResource = this.#resource): void {
    const inside = (isRecord(schema) && this.#resources.get(schema)) || resource;
    this.#node(schema, inside).prepare();
    if (isRecord(schema)) for (const child of childrenOf(schema)) this.prepareAll(child, inside);
  }

  /** The matcher of a pattern, made once. */
  pattern(source: string): Matcher {
    const known = this.#patterns.get(source);
    if (known !== undefined) return known;
    const { size, test } = toLinearPattern(source);
    this.#patternCost += patternCost(source, size);
    if (this.#patternCost > maxPatternCost) throw new Error("its patterns are too many, or repeat too much");
    const matcher: Matcher = (text, work) => {
      work.take(10 + ((size + 10) * text.length) / 16);
      return test(text);
    };
    this.#patterns.set(source, matcher);
    return matcher;
  }

  /** Finds the schemas that have names. */
  #index(schema: unknown, resource: SchemaResource, depth: number): void {
    if (!isRecord(schema)) return;
    if (depth > maxDepth) throw new Error(`The schema is nested deeper than ${maxDepth} levels`);
    const { $id, $anchor, $dynamicAnchor } = schema;
    let inside = resource;
    if (typeof $id === "string" && depth > 0) {
      if ($id.startsWith("#")) this.#name(resource.uri + $id, { schema, resource });
      else inside = { uri: resolved($id, resource.uri), schema, dynamicAnchors: new Map() };
    }
    if (inside !== resource) this.#name(inside.uri, { schema, resource: inside });
    if (inside !== this.#resource) this.#resources.set(schema, inside);
    if (typeof $anchor === "string") this.#name(`${inside.uri}#${$anchor}`, { schema, resource: inside });
    const dynamic = schema.$recursiveAnchor === true ? "" : $dynamicAnchor;
    if (typeof dynamic === "string") {
      inside.dynamicAnchors.set(dynamic, schema);
      if (dynamic !== "") this.#name(`${inside.uri}#${dynamic}`, { schema, resource: inside });
    }
    if (schema.$dynamicRef !== undefined || schema.$recursiveRef !== undefined) this.#isDynamic = true;
    for (const child of childrenOf(schema)) this.#index(child, inside, depth + 1);
  }

  #name(uri: string, target: Target): void {
    if (!this.#named.has(uri)) this.#named.set(uri, target);
  }

  #node(schema: unknown, resource: SchemaResource): SchemaNode {
    let node = this.#nodes.get(schema);
    if (node === undefined) {
      const prepare = () => {
        try {
          return isRecord(schema) ? this.#checks(schema, resource) : booleanChecks(schema);
        } catch (cause) {
          throw new Error(`${messageOf(cause)}${placeOf(schema, this.#resource.schema)}`, { cause });
        }
      };
      node = new SchemaNode(prepare, this.#isDynamic ? resource : undefined);
      this.#nodes.set(schema, node);
    }
    return node;
  }

  #checks(schema: JsonSchema, resource: SchemaResource): Checks {
    const within: Within = {
      schema,
      isDraft07: this.isDraft07,
      pattern: (source) => this.pattern(source),
      node: (inner) => this.#node(inner, (isRecord(inner) && this.#resources.get(inner)) || resource),
    };
    const applied = (list: readonly string[], table: Readonly<Record<string, Keyword>>) =>
      list.flatMap((keyword) => table[keyword]?.(schema[keyword], within) ?? []);
    const meant = Object.keys(schema).filter((keyword) => this.#isMeant(keyword, schema[keyword]));
    const known = meant
      .filter((keyword) => ranks.has(keyword))
      .sort((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
    return {
      checks: [...applied(known, assertions), ...this.#references(schema, resource), ...applied(known, applicators)],
      unevaluated: applied(known, unevaluated),
    };
  }

  /** @throws Error for a keyword that has not its form */
  #isMeant(keyword: string, value: unknown): boolean {
    if (value === undefined) return false;
    // A limit of draft-04.
    const isFlag = keyword.startsWith("exclusive") && typeof value === "boolean";
    const problem = isFlag ? undefined : formProblem(keyword, value);
    if (problem !== undefined) throw new Error(problem);
    return !(this.isDraft07 && draft2020.has(keyword));
  }

  #references({ $ref, $dynamicRef, $recursiveRef }: JsonSchema, resource: SchemaResource): readonly Check[] {
    const checks: Check[] = [];
    if (typeof $ref === "string") {
      const { schema, resource: other } = this.#target($ref, resource);
      const target = this.#node(schema, other);
      checks.push((value, run, at, seen) => target.applyOnce(value, run, at, seen));
    }
    const dynamic = $recursiveRef ?? (this.isDraft07 ? undefined : $dynamicRef);
    if (typeof dynamic === "string") checks.push(this.#dynamic(dynamic, resource));
    return checks;
  }

  /** Leads to the schema of its name in the outermost resource that has one. */
  #dynamic(reference: string, resource: SchemaResource): Check {
    const found = this.#target(reference, resource);
    const name = reference.slice(reference.indexOf("#") + 1);
    const isDynamic = found.resource.dynamicAnchors.get(name) === found.schema;
    return (value, run, at, seen) => {
      const outer = isDynamic ? run.scope.resources.find(({ dynamicAnchors }) => dynamicAnchors.has(name)) : undefined;
      const target = outer === undefined ? found : { schema: outer.dynamicAnchors.get(name), resource: outer };
      return this.#node(target.schema, target.resource).applyOnce(value, run, at, seen);
    };
  }

  /** @throws Error for a reference that leads nowhere: nothing is ever fetched */
  #target(reference: string, from: SchemaResource): Target {
    const uri = resolved(reference, from.uri);
    const [base = "", fragment = ""] = uri.split("#", 2);
    const named = this.#named.get(fragment === "" ? base : decoded(uri));
    if (named !== undefined) return named;
    const within = fragment.startsWith("/") ? this.#named.get(base) : undefined;
    const schema = within === undefined ? undefined : resolveReference(within.schema, `#${fragment}`);
    if (within === undefined || !(typeof schema === "boolean" || isRecord(schema)))
      throw new Error(`${reference} leads nowhere`);
    return { schema, resource: (isRecord(schema) && this.#resources.get(schema)) || within.resource };
  }
}

/** A measure of the time it takes to compile a pattern, found by measuring: long programs, long sources and classes of Unicode. */
function patternCost(source: string, size: number): number {
  return 4 * size + 10 * source.length + 100 * (source.split(/\\p/i).length - 1);
}

/** The place of a schema in its document, in words. Searched for where it is at fault: that is seldom. */
function placeOf(schema: unknown, root: unknown): string {
  const found = (within: unknown): string | undefined => {
    if (within === schema) return "";
    if (typeof within !== "object" || within === null) return undefined;
    for (const [key, value] of Object.entries(within)) {
      const inner = found(value);
      if (inner !== undefined) return pointerTo("", key) + inner;
    }
    return undefined;
  };
  const pointer = found(root) ?? "";
  return pointer === "" ? "" : ` (at ${pointer})`;
}

function booleanChecks(schema: unknown): Checks {
  if (typeof schema !== "boolean") throw new Error("A schema must be an object, true or false");
  return { checks: schema ? [] : [(_value, run, at) => run.fail(at, "boolean schema is false")], unevaluated: [] };
}

/** A URI without an empty fragment. */
function resolved(reference: unknown, base: string): string {
  if (typeof reference !== "string") return base;
  const url = URL.parse(reference, base);
  if (url === null) throw new Error(`${reference.slice(0, 100)} is no URI`);
  return url.href.replace(/#$/, "");
}

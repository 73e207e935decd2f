import { decoded, resolveReference } from "../../../lib/pointer.ts";
import { isRecord } from "../../../lib/value.ts";
import { formProblem } from "../check.ts";
import { childrenOf } from "../children.ts";
import { isDraft07, type JsonSchema } from "../types.ts";
import { type Applicator, applicators, unevaluated } from "./applicators.ts";
import { assertions } from "./assertions.ts";
import { type Check, type Checks, SchemaNode, type SchemaResource } from "./schema-node.ts";
import { maxDepth, type ValidationWork } from "./validation-work.ts";

/** Whether a text matches a pattern. */
export type Matcher = (text: string, work: ValidationWork) => boolean;

/** The engine for patterns and formats. */
export interface Matchers {
  /** @throws Error for what is no pattern */
  pattern(source: string): Matcher;
  /** Undefined for a format that is not known. */
  format(name: string): ((value: unknown, work: ValidationWork) => boolean) | undefined;
}

/** A base for references of a document that does not name itself. */
const unnamed = "schema:///";
const draft2020 = new Set(
  "prefixItems dependentRequired dependentSchemas unevaluatedProperties unevaluatedItems".split(" "),
);

interface Target {
  readonly schema: unknown;
  readonly resource: SchemaResource;
}

/** A document of schemas, each made ready when it is first applied. */
export class SchemaDocument {
  readonly isDraft07: boolean;
  readonly root: SchemaNode;
  readonly #matchers: Matchers;
  readonly #resource: SchemaResource;
  readonly #nodes = new Map<unknown, SchemaNode>();
  readonly #patterns = new Map<string, Matcher>();
  /** By URI, anchors included. */
  readonly #named = new Map<string, Target>();
  /** The resources of schemas that are not of the first one. */
  readonly #resources = new Map<object, SchemaResource>();
  #isDynamic = false;

  constructor(schema: JsonSchema, matchers: Matchers) {
    this.#matchers = matchers;
    this.isDraft07 = isDraft07(schema);
    this.#resource = { uri: resolved(schema.$id, unnamed), schema, dynamicAnchors: new Map() };
    this.#name(this.#resource.uri, { schema, resource: this.#resource });
    this.#index(schema, this.#resource, 0);
    this.root = this.#node(schema, this.#resource);
  }

  /** The matcher of a pattern, made once. */
  pattern(source: string): Matcher {
    const matcher = this.#patterns.get(source) ?? this.#matchers.pattern(source);
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
      const prepare = () => (isRecord(schema) ? this.#checks(schema, resource) : booleanChecks(schema));
      node = new SchemaNode(prepare, this.#isDynamic ? resource : undefined);
      this.#nodes.set(schema, node);
    }
    return node;
  }

  #checks(schema: JsonSchema, resource: SchemaResource): Checks {
    for (const [keyword, value] of Object.entries(schema)) {
      // A limit of draft-04.
      const problem =
        keyword.startsWith("exclusive") && typeof value === "boolean" ? undefined : formProblem(keyword, value);
      if (problem !== undefined) throw new Error(problem);
    }
    const node = (inner: unknown) => this.#node(inner, (isRecord(inner) && this.#resources.get(inner)) || resource);
    const within = { schema, document: this, node };
    const isMeant = (keyword: string) =>
      Object.hasOwn(schema, keyword) && schema[keyword] !== undefined && !(this.isDraft07 && draft2020.has(keyword));
    const applied = (table: Readonly<Record<string, Applicator>>) =>
      Object.entries(table).flatMap(([keyword, make]) =>
        isMeant(keyword) ? (make(schema[keyword], within) ?? []) : [],
      );
    const asserted = Object.entries(assertions).flatMap(([keyword, make]) =>
      isMeant(keyword) ? (make(schema[keyword], schema) ?? []) : [],
    );
    return {
      checks: [...asserted, ...this.#texts(schema), ...this.#references(schema, resource), ...applied(applicators)],
      unevaluated: applied(unevaluated),
    };
  }

  #texts({ pattern, format }: JsonSchema): readonly Check[] {
    const checks: Check[] = [];
    if (typeof pattern === "string") {
      const matches = this.pattern(pattern);
      checks.push(
        (value, run, at) =>
          typeof value !== "string" || matches(value, run.work) || run.fail(at, `must match pattern "${pattern}"`),
      );
    }
    const isOfFormat = typeof format === "string" ? this.#matchers.format(format) : undefined;
    if (isOfFormat !== undefined)
      checks.push((value, run, at) => isOfFormat(value, run.work) || run.fail(at, `must match format "${format}"`));
    return checks;
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

function booleanChecks(schema: unknown): Checks {
  if (typeof schema !== "boolean") throw new Error("A schema must be an object, true or false");
  return { checks: schema ? [] : [(_value, run, at) => run.fail(at, "boolean schema is false")], unevaluated: [] };
}

/** A URI without an empty fragment. */
function resolved(reference: unknown, base: string): string {
  if (typeof reference !== "string") return base;
  return new URL(reference, base).href.replace(/#$/, "");
}

import { schemaLists, schemaMaps, schemaSingles } from "../core/schema/children.ts";
import { canonicalJson } from "../lib/canonical.ts";
import type { StepBudget } from "../lib/step-budget.ts";
import { isRecord } from "../lib/value.ts";

const maps = new Set(schemaMaps);
const singles = new Set([...schemaSingles, "items"]);
const ordered = new Set(["prefixItems", "items"]);
/** Lists in which neither order nor repetition has a meaning. */
const sets = new Set(["required", "enum", "type"]);
/** With these the meaning of one part of a schema depends on other parts of it. */
const entangling = new Set(
  "unevaluatedProperties unevaluatedItems $dynamicRef $recursiveRef $dynamicAnchor $recursiveAnchor $anchor $id".split(
    " ",
  ),
);

interface Known {
  readonly id: number;
  readonly hasReference: boolean;
  readonly isEntangled: boolean;
}

/**
 * Numbers for schemas, the same for two that differ in nothing but order and repetition where these mean nothing. Each schema is read once,
 * whatever refers to it.
 */
export class SchemaIdentity {
  readonly #budget: StepBudget;
  readonly #ids = new Map<string, number>();
  readonly #known = new WeakMap<object, Known>();

  constructor(budget: StepBudget) {
    this.#budget = budget;
  }

  id(schema: unknown): number {
    return isRecord(schema) ? this.#of(schema).id : this.#number(canonicalJson(schema));
  }

  /** True where the schema refers to another: then the same text may mean something else. */
  hasReference(schema: unknown): boolean {
    return isRecord(schema) && this.#of(schema).hasReference;
  }

  /** True where the meaning of one part of the schema depends on other parts. */
  isEntangled(schema: unknown): boolean {
    return isRecord(schema) && this.#of(schema).isEntangled;
  }

  #of(schema: Readonly<Record<string, unknown>>): Known {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    const names = Object.keys(schema)
      .filter((name) => !isDefault(name, schema[name]))
      .sort();
    this.#budget.take(1 + names.length);
    const inside: unknown[] = [];
    const parts = names.map((name) => `${JSON.stringify(name)}:${this.#keyword(name, schema[name], inside)}`);
    const made: Known = {
      id: this.#number(`{${parts.join()}}`),
      hasReference: Object.hasOwn(schema, "$ref") || inside.some((each) => this.hasReference(each)),
      isEntangled: names.some((name) => entangling.has(name)) || inside.some((each) => this.isEntangled(each)),
    };
    this.#known.set(schema, made);
    return made;
  }

  /** The text of a keyword; the schemas in it are added to `inside`, and stand in it by number. */
  #keyword(name: string, value: unknown, inside: unknown[]): string {
    const child = (schema: unknown) => {
      inside.push(schema);
      return this.id(schema);
    };
    if (Array.isArray(value)) {
      if (ordered.has(name)) return `[${value.map(child).join()}]`;
      if (schemaLists.includes(name)) {
        const ids = value.map(child).sort((a, b) => a - b);
        // Twice the same in oneOf fits nothing.
        return `(${(name === "oneOf" ? ids : [...new Set(ids)]).join()})`;
      }
      this.#budget.take(value.length);
      if (sets.has(name)) return `(${[...new Set(value.map(canonicalJson))].sort().join()})`;
    }
    if (typeof value === "string") return name === "type" ? `(${JSON.stringify(value)})` : JSON.stringify(value);
    if (maps.has(name) && isRecord(value)) {
      const members = Object.keys(value).sort();
      this.#budget.take(members.length);
      return `{${members.map((member) => `${JSON.stringify(member)}:${child(value[member])}`).join()}}`;
    }
    return singles.has(name) ? `#${child(value)}` : canonicalJson(value);
  }

  #number(text: string): number {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    this.#ids.set(text, this.#ids.size);
    return this.#ids.size - 1;
  }
}

/** True for a value that says what holds without it. */
function isDefault(name: string, value: unknown): boolean {
  if (value === undefined || (name === "uniqueItems" && value === false)) return true;
  if (name === "required") return Array.isArray(value) && value.length === 0;
  return value === 0 && (name === "minLength" || name === "minItems" || name === "minProperties");
}

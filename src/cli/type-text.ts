import type { JsonSchema } from "../core/schema/types.ts";
import { isRecord } from "../lib/value.ts";

/** The deepest nesting that is written out; deeper parts are `unknown`. */
const maxDepth = 12;

/** The TypeScript type of the values that a JSON Schema describes. What it cannot say is `unknown`. */
export function typeOf(schema: JsonSchema | undefined): string {
  return schema === undefined ? "unknown" : new TypeWriter(schema).write(schema, 0);
}

class TypeWriter {
  readonly #root: JsonSchema;
  /** The references that are being written: one inside itself has no end. */
  readonly #open = new Set<string>();

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  write(schema: unknown, depth: number): string {
    if (schema === true || !isRecord(schema) || depth > maxDepth) return "unknown";
    if (typeof schema.$ref === "string") return this.#referred(schema.$ref, depth);
    if ("const" in schema) return literal(schema.const);
    if (Array.isArray(schema.enum)) return union(schema.enum.map(literal));
    for (const keyword of ["anyOf", "oneOf"] as const) {
      const forms = schema[keyword];
      if (Array.isArray(forms)) return union(forms.map((form) => this.write(form, depth + 1)));
    }
    if (Array.isArray(schema.allOf)) {
      const own = schema.properties === undefined ? [] : [this.#object(schema, depth)];
      return [...own, ...schema.allOf.map((form) => this.write(form, depth + 1))].join(" & ");
    }
    if (Array.isArray(schema.type)) return union(schema.type.map((type) => this.#typed({ ...schema, type }, depth)));
    return this.#typed(schema, depth);
  }

  #typed(schema: Readonly<Record<string, unknown>>, depth: number): string {
    switch (schema.type ?? (schema.properties === undefined ? undefined : "object")) {
      case "string":
        return "string";
      case "number":
      case "integer":
        return "number";
      case "boolean":
        return "boolean";
      case "null":
        return "null";
      case "array":
        return this.#list(schema, depth);
      case "object":
        return this.#object(schema, depth);
      default:
        return "unknown";
    }
  }

  #list({ items, prefixItems }: Readonly<Record<string, unknown>>, depth: number): string {
    if (Array.isArray(prefixItems)) return `[${prefixItems.map((item) => this.write(item, depth + 1)).join(", ")}]`;
    const item = this.write(items, depth + 1);
    return /[ &|]/.test(item) ? `(${item})[]` : `${item}[]`;
  }

  #object({ properties, required, additionalProperties }: Readonly<Record<string, unknown>>, depth: number): string {
    const needed = new Set(Array.isArray(required) ? required : []);
    const indent = "  ".repeat(depth + 1);
    const fields = Object.entries(isRecord(properties) ? properties : {}).map(([name, field]) => {
      const comment =
        isRecord(field) && typeof field.description === "string" ? commentOf(field.description, indent) : "";
      return `${comment}${indent}${propertyName(name)}${needed.has(name) ? "" : "?"}: ${this.write(field, depth + 1)};\n`;
    });
    if (fields.length > 0) return `{\n${fields.join("")}${"  ".repeat(depth)}}`;
    return additionalProperties === false
      ? "Record<string, never>"
      : `Record<string, ${this.write(additionalProperties, depth + 1)}>`;
  }

  #referred(ref: string, depth: number): string {
    if (this.#open.has(ref) || !ref.startsWith("#/")) return "unknown";
    const steps = ref
      .slice(2)
      .split("/")
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const found = steps.reduce<unknown>(
      (at, step) => (isRecord(at) && Object.hasOwn(at, step) ? at[step] : undefined),
      this.#root,
    );
    this.#open.add(ref);
    const type = this.write(found, depth);
    this.#open.delete(ref);
    return type;
  }
}

function literal(value: unknown): string {
  return value === null || ["string", "number", "boolean"].includes(typeof value) ? JSON.stringify(value) : "unknown";
}

function union(types: readonly string[]): string {
  return types.includes("unknown") || types.length === 0 ? "unknown" : [...new Set(types)].join(" | ");
}

/** The name of a property, in quotes where it is no identifier. */
export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** A description as a comment of one line. */
export function commentOf(text: string, indent: string): string {
  const line = text.replace(/\s+/g, " ").replaceAll("*/", "* /").trim().slice(0, 200);
  return line === "" ? "" : `${indent}/** ${line} */\n`;
}

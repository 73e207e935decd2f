import { sizeOf } from "../../core/schema/size.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { digestTexts } from "../../lib/canonical.ts";
import type { Glob } from "../../lib/glob.ts";
import { resolvePointer, stepsOf } from "../../lib/pointer.ts";
import { withoutInvisible } from "../../lib/visible-text.ts";
import { DocumentMistake, type OpenApiDocument } from "./openapi-document.ts";
import { type ConvertedSchema, convertSchema, type Direction } from "./schema-conversion.ts";

/** A larger schema of a tool is not used: nothing that interprets schemas would take it. In values, see `sizeOf`. */
const maxToolSchema = 24_000;

/** The schema of a tool has too many values. */
export class SchemaTooLarge extends DocumentMistake {
  constructor(at: string) {
    super(at, `The schema has more than ${maxToolSchema} values, with those it refers to.`);
  }
}

interface SharedSchema extends ConvertedSchema {
  readonly size: number;
}

/**
 * The schemas of a document, of one direction, that tools share. Each is converted once, when the first tool needs it, and every schema that
 * refers to it holds the same object: a thousand tools take the memory of their document and not that of its expansion.
 */
export class SharedSchemas {
  readonly #document: OpenApiDocument;
  readonly #direction: Direction;
  readonly #masked: readonly Glob[];
  readonly #shared = new Map<string, SharedSchema>();
  /** By their places. */
  readonly #converted = new Map<string, ConvertedSchema>();
  readonly #names = new Map<string, string>();

  /** @param use - `masked`: names of members whose values are masked, so that they have no type */
  constructor(
    document: OpenApiDocument,
    { direction, masked = [] }: { readonly direction: Direction; readonly masked?: readonly Glob[] },
  ) {
    this.#document = document;
    this.#direction = direction;
    this.#masked = masked;
  }

  /** A schema that stands in the document. Those that it refers to are added by `complete`. @throws DocumentMistake */
  convert(schema: unknown, at: string): ConvertedSchema {
    const known = this.#converted.get(at);
    if (known !== undefined) return known;
    const converted = convertSchema(schema, at, {
      document: this.#document,
      direction: this.#direction,
      masked: this.#masked,
      referenceTo: (pointer) => `#/$defs/${this.#nameOf(pointer)}`,
    });
    // The document may be of a stranger, and what it says is put before models.
    const made = { ...converted, schema: withoutInvisible(converted.schema) as ConvertedSchema["schema"] };
    this.#converted.set(at, made);
    return made;
  }

  /**
   * A schema, and under `$defs` all those that it refers to, and they.
   *
   * @throws SchemaTooLarge, DocumentMistake
   */
  complete(schema: JsonSchema, references: Iterable<string>, at: string): JsonSchema {
    let size = sizeOf(schema, maxToolSchema + 1);
    const definitions = new Map<string, unknown>();
    const waiting = [...new Set(references)];
    const known = new Set(waiting);
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const shared = this.#sharedAt(next);
      size += shared.size;
      if (size > maxToolSchema) throw new SchemaTooLarge(at);
      definitions.set(this.#nameOf(next), shared.schema);
      for (const reference of shared.references) {
        if (known.has(reference)) continue;
        known.add(reference);
        waiting.push(reference);
      }
    }
    if (size > maxToolSchema) throw new SchemaTooLarge(at);
    this.#document.spend(size, at);
    if (definitions.size === 0) return schema;
    const sorted = [...definitions].sort(([one], [other]) => (one < other ? -1 : 1));
    return { ...schema, $defs: Object.fromEntries(sorted) };
  }

  #sharedAt(pointer: string): SharedSchema {
    let shared = this.#shared.get(pointer);
    if (shared === undefined) {
      const converted = this.convert(resolvePointer(this.#document.root, pointer), pointer);
      shared = { ...converted, size: 2 + sizeOf(converted.schema, maxToolSchema + 1) };
      this.#shared.set(pointer, shared);
    }
    return shared;
  }

  /** The name of a shared schema: that of the component, or for another place, and for a name that is none, one that ends with a hash of the place. */
  #nameOf(pointer: string): string {
    let name = this.#names.get(pointer);
    if (name === undefined) {
      const steps = stepsOf(pointer);
      const last = steps.at(-1) ?? "root";
      const isComponent = steps.length === 3 && pointer.startsWith("/components/schemas/");
      name = isComponent && /^[A-Za-z0-9_-]{1,100}$/.test(last) ? last : hashedName(last, pointer);
      this.#names.set(pointer, name);
    }
    return name;
  }
}

/** A dot stands in no name of a component as it is, so that none is the name of another place. */
function hashedName(text: string, pointer: string): string {
  return `${text.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 50)}.${digestTexts(pointer).slice(0, 8)}`;
}

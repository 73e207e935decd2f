import { shown } from "../../core/options.ts";
import { pointerTo, resolveReference, stepsOf } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";

/** An object of a document. */
export type DocumentFields = Readonly<Record<string, unknown>>;

/** A value of a document, and the pointer to it. */
export interface Placed<T = DocumentFields> {
  readonly value: T;
  /** A JSON pointer (RFC 6901). */
  readonly at: string;
}

/** A mistake of an OpenAPI document: the message says what to do, the pointer where it is. */
export class DocumentMistake extends Error {
  override readonly name = "DocumentMistake";
  /** A JSON pointer (RFC 6901). */
  readonly at: string;

  constructor(at: string, message: string) {
    super(message);
    this.at = at;
  }
}

/** References that lead to references, one after the other. */
const maxHops = 32;
/**
 * The work for one document: values that are read, converted and put into schemas. What is shared by reference counts each time: a small document
 * may be a large one written short. That of GitHub, of 13 MB and 1,223 operations, takes a tenth.
 */
const maxWork = 5_000_000;

/** An OpenAPI document of version 3.0 or 3.1. Nothing of it is copied: every look goes to the parsed value. */
export class OpenApiDocument {
  readonly root: DocumentFields;
  readonly version: "3.0" | "3.1";
  #work = 0;

  /** @throws DocumentMistake for what is no such document */
  constructor(root: unknown) {
    this.version = versionOf(root);
    this.root = root as DocumentFields;
    const { paths, webhooks, components } = this.root;
    if (paths === undefined && (this.version === "3.0" || (webhooks ?? components) === undefined))
      throw new DocumentMistake("", "The document has no paths.");
    for (const [field, value] of Object.entries({ paths, components }))
      if (value !== undefined && !isRecord(value))
        throw new DocumentMistake(`/${field}`, `${field} must be an object.`);
  }

  /** Counts work. @throws DocumentMistake where it is too much */
  spend(steps: number, at: string): void {
    this.#work += steps;
    if (this.#work > maxWork)
      throw new DocumentMistake(
        at,
        "The document is too large with all that it refers to: choose fewer operations by include.",
      );
  }

  /** The object that stands there, or that its references lead to. @throws DocumentMistake */
  object(value: unknown, at: string, what: string): Placed {
    let found: Placed<unknown> = { value, at };
    for (let hops = 0; isRecord(found.value) && typeof found.value.$ref === "string"; hops += 1) {
      if (hops === maxHops)
        throw new DocumentMistake(
          at,
          `The reference ${found.value.$ref} leads to itself, or through more than ${maxHops} others.`,
        );
      found = this.target(found.value.$ref, found.at);
    }
    if (!isRecord(found.value)) throw new DocumentMistake(found.at, `${what} must be an object.`);
    return { value: found.value, at: found.at };
  }

  /** The value that a reference within the document leads to. @throws DocumentMistake */
  target(reference: string, at: string): Placed<unknown> {
    if (!reference.startsWith("#")) {
      const message = `The reference ${shown(reference)} leads out of the document, and nothing is fetched: bundle the document into one file first.`;
      throw new DocumentMistake(pointerTo(at, "$ref"), message);
    }
    const pointer = pointerOf(reference);
    const value = pointer === undefined ? undefined : resolveReference(this.root, reference);
    if (pointer === undefined || value === undefined)
      throw new DocumentMistake(pointerTo(at, "$ref"), `The reference ${shown(reference)} leads nowhere.`);
    return { value, at: pointer };
  }

  /** The fields of an object of the document that are objects, by name; a field that is missing has none. @throws DocumentMistake */
  entries({ value, at }: Placed, field: string): readonly (readonly [name: string, entry: Placed<unknown>])[] {
    const map = value[field];
    if (map === undefined || map === null) return [];
    const pointer = pointerTo(at, field);
    if (!isRecord(map)) throw new DocumentMistake(pointer, `${field} must be an object.`);
    const entries = Object.entries(map);
    this.spend(entries.length, pointer);
    return entries.map(([name, entry]) => [name, { value: entry, at: pointerTo(pointer, name) }]);
  }

  /** The entries of a list of the document; one that is missing has none. @throws DocumentMistake */
  list({ value, at }: Placed, field: string): readonly Placed<unknown>[] {
    const list = value[field];
    if (list === undefined || list === null) return [];
    const pointer = pointerTo(at, field);
    if (!Array.isArray(list)) throw new DocumentMistake(pointer, `${field} must be a list.`);
    this.spend(list.length, pointer);
    return list.map((entry: unknown, index) => ({ value: entry, at: pointerTo(pointer, index) }));
  }
}

/** The pointer of a reference without percent-encoding; undefined for an anchor. */
function pointerOf(reference: string): string | undefined {
  const fragment = reference.slice(1);
  if (fragment !== "" && !fragment.startsWith("/")) return undefined;
  try {
    return stepsOf(decodeURIComponent(fragment)).reduce<string>(pointerTo, "");
  } catch {
    return fragment;
  }
}

function versionOf(root: unknown): "3.0" | "3.1" {
  if (!isRecord(root)) throw new DocumentMistake("", "The document must be an object.");
  const { openapi, swagger } = root;
  if (swagger !== undefined)
    throw new DocumentMistake("/swagger", "The document is of Swagger 2.0: convert it to OpenAPI 3 first.");
  const version = typeof openapi === "string" ? /^3\.([01])(?:\.|$)/.exec(openapi)?.[1] : undefined;
  if (version === undefined) {
    const found = openapi === undefined ? "has no field openapi" : `is of version ${shown(String(openapi))}`;
    throw new DocumentMistake("/openapi", `The document ${found}: OpenAPI 3.0 and 3.1 are read.`);
  }
  return version === "0" ? "3.0" : "3.1";
}

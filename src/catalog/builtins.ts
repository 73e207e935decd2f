import { type Definition, readDefinition } from "../core/definition.ts";
import { definitionOf, refOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { builtinNamespace } from "../core/identifier.ts";
import { type Entry, type Item, type Kind, kinds } from "../core/item.ts";
import { nearest } from "../lib/similar.ts";
import type { Catalog } from "./catalog.ts";
import type { Registration } from "./deferred-items.ts";

/** Items that are registered in code, in the namespace `builtin`. */
export class Builtins {
  readonly #catalog: Catalog;
  readonly #emit: (event: ToolkitEvent) => void;

  constructor(catalog: Catalog, emit: (event: ToolkitEvent) => void) {
    this.#catalog = catalog;
    this.#emit = emit;
  }

  /**
   * Adds items, all or none.
   *
   * @throws ToolkitError `INVALID_NAME`, `RESERVED_NAME`, `INVALID_SCHEMA`, `CONFLICT` or `INVALID_INPUT`; nothing is added then
   */
  add(items: readonly Item[]): void {
    const batch = new Map<string, Registration>();
    const replaced = new Set<string>();
    for (const item of items) {
      const definition = readDefinition(item, "local");
      const { kind, key } = definition;
      const id = `${kind} ${key}`;
      const before = this.#catalog.builtin.get(kind, key);
      if (before !== undefined || batch.has(id)) {
        if (kind === "tool" || kind === "prompt") throw conflict(definition, before, batch.get(id));
        // Of a template nothing can be read: its resources are what may have changed, and they are not known.
        if (kind === "resource") replaced.add(key);
      }
      batch.set(id, { definition, item });
    }
    this.#catalog.change(this.#catalog.builtin, { put: [...batch.values()] });
    for (const uri of replaced) this.#emit({ type: "resourceUpdated", namespace: builtinNamespace, uri });
  }

  /**
   * Removes a builtin by name, ref or URI: a tool, else a prompt, else a resource, else a template.
   *
   * @throws ToolkitError `NOT_FOUND`
   */
  remove(key: string): void {
    const found = typeof key === "string" ? this.#find(key) : undefined;
    if (found === undefined) {
      const message = `There is no builtin "${key}" to remove. What a connector or source has is removed with it.`;
      const { builtin } = this.#catalog;
      const refs = kinds.flatMap((kind) => builtin.entries(kind).map(({ ref }) => ref));
      const suggestions = nearest(String(key), refs);
      throw new ToolkitError("NOT_FOUND", message, { key, suggestions }, { phase: "resolve" });
    }
    this.#catalog.change(this.#catalog.builtin, { remove: [{ kind: found.kind, key: definitionOf(found).key }] });
  }

  #find(key: string): Entry | undefined {
    const name = key.startsWith(`${builtinNamespace}.`) ? key.slice(builtinNamespace.length + 1) : key;
    const uri = key.endsWith(`#${builtinNamespace}`) ? key.slice(0, -builtinNamespace.length - 1) : key;
    const places: readonly (readonly [Kind, string])[] = [
      ["tool", name],
      ["prompt", name],
      ["resource", uri],
      ["template", uri],
    ];
    for (const [kind, itemKey] of places) {
      const entry: Entry | undefined = this.#catalog.builtin.get(kind, itemKey);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }
}

function conflict(
  definition: Definition,
  before: Entry | undefined,
  inBatch: Registration | undefined,
): ToolkitError<"CONFLICT"> {
  const { kind, key } = definition;
  const ref = refOf(kind, builtinNamespace, key);
  const owner = (description: string | undefined) =>
    description === undefined ? `the ${kind} ${ref}` : `the ${kind} ${ref} (${description})`;
  const other = before === undefined ? inBatch?.definition : definitionOf(before);
  const owners = [owner(other?.description), owner(definition.description)];
  const where = before === undefined ? "is twice in this batch" : "is already there";
  return new ToolkitError(
    "CONFLICT",
    `A ${kind} "${key}" ${where}: ${owners.join(" and ")}. Rename one of them; nothing was added.`,
    {
      key: ref,
      owners,
    },
  );
}

import type { JsonSchema } from "../../core/schema/types.ts";
import { isRecord } from "../../lib/value.ts";
import type { DocumentFields, OpenApiDocument } from "./openapi-document.ts";

// Parts of the schemas of OpenAPI that JSON Schema has no word for: what belongs to one direction only, and discriminators.

/** Parts of `allOf` that are looked into, and references that are followed there. */
const maxParts = 64;

interface HiddenIn {
  readonly document: OpenApiDocument;
  readonly direction: "input" | "output";
  readonly at: string;
}

/** The names of the properties that are not sent (`readOnly`), or not answered (`writeOnly`), also those that a part of `allOf` has. */
export function hiddenProperties(schema: DocumentFields, { document, direction, at }: HiddenIn): ReadonlySet<string> {
  const hidden = new Set<string>();
  const mark = direction === "input" ? "readOnly" : "writeOnly";
  const parts: unknown[] = [schema];
  for (let count = 0; count < maxParts && count < parts.length; count += 1) {
    const part = followed(parts[count], document, at);
    if (part === undefined) continue;
    const properties = isRecord(part.properties) ? Object.entries(part.properties) : [];
    document.spend(properties.length, at);
    for (const [name, property] of properties) if (followed(property, document, at)?.[mark] === true) hidden.add(name);
    if (Array.isArray(part.allOf)) parts.push(...part.allOf.slice(0, maxParts));
  }
  return hidden;
}

/** The object at the end of a few references; undefined where there is none: that is reported where the reference itself is read. */
function followed(value: unknown, document: OpenApiDocument, at: string): DocumentFields | undefined {
  let found = value;
  for (let hops = 0; hops < 4 && isRecord(found) && typeof found.$ref === "string"; hops += 1) {
    if (!found.$ref.startsWith("#/")) return undefined;
    try {
      found = document.target(found.$ref, at).value;
    } catch {
      return undefined;
    }
  }
  return isRecord(found) ? found : undefined;
}

interface Choice {
  /** The schema that has the choice. */
  readonly given: DocumentFields;
  /** Its branches as they are written. */
  readonly list: readonly unknown[];
  readonly document: OpenApiDocument;
}

/**
 * The branches of a choice, each with the values by which its `discriminator` chooses it. A branch that says its values itself is left as it is,
 * and so is one that is written in place, which no discriminator names.
 */
export function branchesByDiscriminator(
  branches: readonly (JsonSchema | boolean)[],
  { given, list, document }: Choice,
): readonly (JsonSchema | boolean)[] {
  const { discriminator } = given;
  if (!isRecord(discriminator) || typeof discriminator.propertyName !== "string") return branches;
  const { propertyName } = discriminator;
  const mapping = Map.groupBy(
    Object.entries(isRecord(discriminator.mapping) ? discriminator.mapping : {}),
    ([, target]) => target,
  );
  return branches.map((branch, index) => {
    const written = list[index];
    if (typeof branch === "boolean" || !isRecord(written) || typeof written.$ref !== "string") return branch;
    const reference = written.$ref;
    const name = reference.slice(reference.lastIndexOf("/") + 1);
    const property = followed(written, document, "")?.properties;
    const own = isRecord(property) ? followed(property[propertyName], document, "") : undefined;
    if (own?.const !== undefined || own?.enum !== undefined) return branch;
    const mapped = [reference, name].flatMap((target) => mapping.get(target) ?? []).map(([value]) => value);
    const values = mapped.length > 0 ? mapped : [name];
    const { properties, required = [] } = branch;
    return {
      ...branch,
      properties: { ...(properties as object | undefined), [propertyName]: { enum: values } },
      required: [...new Set([...(required as readonly string[]), propertyName])],
    };
  });
}

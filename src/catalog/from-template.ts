import { readDefinition } from "../core/definition.ts";
import { makeEntry } from "../core/entry.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { Entry, Kind } from "../core/item.ts";
import type { Resource } from "../core/resource.ts";
import type { Namespace } from "./namespace.ts";

/** The kinds of which items may be what a key finds of some kinds: a template may make the resource of a URI. */
export function kindsBehind(kinds: readonly Kind[]): readonly Kind[] {
  return kinds.includes("resource") && !kinds.includes("template") ? [...kinds, "template"] : kinds;
}

/**
 * The resource that a template of a namespace makes of a URI; undefined where no template matches it.
 *
 * @throws ToolkitError `TOOL_FAILED` for an error of the template, `INVALID_INPUT` when it gives no resource
 */
export function fromTemplate(namespace: Namespace, given: string): Entry<"resource"> | undefined {
  const found = namespace.template(given);
  if (found === undefined) return undefined;
  const { template, uri } = found;
  const resource = resourceOf(template, uri);
  const definition = readDefinition(resource, "remote", { refusal: namespace.refusalOf(uri, template) });
  return makeEntry(definition, resource, template.namespace, template.stale, template);
}

function resourceOf({ item, ref }: Entry<"template">, uri: string): Resource {
  try {
    return item.resource(uri);
  } catch (cause) {
    const message = `The template ${ref} gave no resource for ${uri}: ${messageOf(cause)}`;
    throw new ToolkitError("TOOL_FAILED", message, {}, { cause, ref, phase: "resolve" });
  }
}

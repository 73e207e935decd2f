import { readDefinition } from "../core/definition.ts";
import { makeEntry } from "../core/entry.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import type { Resource } from "../core/resource.ts";

/**
 * The entry of the resource that a template makes of a URI.
 *
 * @throws ToolkitError `TOOL_FAILED` for whatever the template throws, `INVALID_INPUT` when it gives no resource
 */
export function entryFromTemplate(template: Entry<"template">, uri: string): Entry<"resource"> {
  const resource = resourceOf(template, uri);
  return makeEntry(readDefinition(resource, "remote"), resource, template.namespace, template.stale);
}

function resourceOf({ item, ref }: Entry<"template">, uri: string): Resource {
  try {
    return item.resource(uri);
  } catch (cause) {
    const message = `The template ${ref} gave no resource for ${uri}: ${messageOf(cause)}`;
    throw new ToolkitError("TOOL_FAILED", message, {}, { cause, ref, phase: "resolve" });
  }
}

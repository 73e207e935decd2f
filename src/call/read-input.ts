import { definitionOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import { isResource, type Resource } from "../core/resource.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { isJsonType } from "../resource/media-type.ts";
import type { CallState } from "./call-state.ts";

/**
 * The JSON value of what a caller gave as input: a JSON resource is its value, a text one its string, and nothing is `{}` where the
 * schema wants an object.
 */
export function readInput(entry: Entry, given: unknown, state: CallState): MaybePromise<unknown> {
  const { ref, kind } = entry;
  const { input } = definitionOf(entry);
  if (given === undefined) return kind === "tool" || input === undefined || input.type === "object" ? {} : undefined;
  if (!isResource(given)) return given;
  return readResource(ref, given, state);
}

/** True for an input that is not its own value already. */
export function needsReading(given: unknown): boolean {
  return given === undefined || isResource(given);
}

async function readResource(ref: string, resource: Resource, { signal }: CallState): Promise<unknown> {
  try {
    return await (isJsonType(resource.mediaType ?? "") ? resource.json({ signal }) : resource.text({ signal }));
  } catch (cause) {
    const message = `is the resource ${resource.uri}, which can be read neither as JSON nor as text`;
    throw new ToolkitError(
      "INVALID_INPUT",
      `The input of ${ref} ${message}.`,
      { issues: [{ pointer: "", message }] },
      { cause, ref, phase: "validate" },
    );
  }
}

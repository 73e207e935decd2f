import { ToolkitError } from "../core/error.ts";
import { isResource, type Resource } from "../core/resource.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { isJsonType } from "../resource/media-type.ts";
import type { CallState } from "./call-state.ts";
import type { Step, Target } from "./step.ts";

/**
 * Makes the JSON value of the input as it was given: a JSON resource is its value, a text one its string, and a missing input is `{}`
 * where the schema wants an object.
 */
export const readInput: Step = (target, next) => {
  if (target.isPlain) return next;
  return (call) => {
    if (!needsReading(call.input)) return next(call);
    const input = inputValueOf(call.input, target, call.state);
    return input instanceof Promise
      ? input.then((value) => next(call.with({ input: value })))
      : next(call.with({ input }));
  };
};

/** True for an input that is not its own value already. */
function needsReading(given: unknown): boolean {
  return given === undefined || isResource(given);
}

function inputValueOf(
  given: unknown,
  { entry, definition: { input } }: Target,
  state: CallState,
): MaybePromise<unknown> {
  if (isResource(given)) return readResource(entry.ref, given, state);
  return entry.kind === "tool" || input === undefined || input.type === "object" ? {} : undefined;
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

import { type Content, isContent, isResource } from "../core/resource.ts";
import { type ToContentOptions, toContent } from "../resource/normalise.ts";
import { toCallError } from "./call-error.ts";
import type { CallState } from "./call-state.ts";
import type { Receive, Target } from "./step.ts";

/** Makes a Content from the result of `run`. */
export function normaliseResult({ entry }: Target): Receive<Content> {
  const { name } = entry;
  const failed = toCallError(entry.ref, "result");
  const options = { name };
  const fail = (thrown: unknown): never => {
    throw failed(thrown);
  };
  return (value, state) => {
    try {
      const content = isStillToRead(value) ? toContent(value, readingIn(state, name)) : toContent(value, options);
      return content instanceof Promise ? content.catch(fail) : content;
    } catch (thrown) {
      return fail(thrown);
    }
  };
}

function readingIn(state: CallState, name: string): ToContentOptions {
  return { name, signal: state.signal, onPartial: (part) => state.emitPart(part) };
}

/** True for what takes I/O to become a Content, and must end with the call. A signal costs as much as a call: the rest gets none. */
function isStillToRead(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return isResource(value[0]) && value.some(isHandle);
  return Symbol.asyncIterator in value || isHandle(value) || value instanceof Blob;
}

function isHandle(value: unknown): boolean {
  return isResource(value) && !isContent(value);
}

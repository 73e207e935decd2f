import type { Content } from "../core/resource.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { toContent } from "../resource/normalise.ts";
import { toCallError } from "./call-error.ts";
import type { CallState } from "./state.ts";
import type { Receive, Target } from "./step.ts";

/** Makes a Content of whatever `run` gave. */
export function normalise({ entry }: Target): Receive {
  const { name } = entry;
  const failed = toCallError(entry.ref, "result");
  const options = { name };
  const convert = (value: unknown, state: CallState): MaybePromise<Content> =>
    isAsyncIterable(value)
      ? toContent(value, { name, signal: state.signal, onPartial: (part) => state.tellPart(part) })
      : toContent(value, options);
  const fail = (thrown: unknown): never => {
    throw failed(thrown);
  };
  return (value, state) => {
    try {
      const content = convert(value, state);
      return content instanceof Promise ? content.catch(fail) : content;
    } catch (thrown) {
      return fail(thrown);
    }
  };
}

function isAsyncIterable(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

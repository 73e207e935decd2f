import type { Content } from "../core/resource.ts";
import { type Awaitable, rescue } from "../lib/promise.ts";
import { toContent } from "../resource/normalise.ts";
import { toCallError } from "./call-error.ts";
import type { CallState } from "./state.ts";
import type { Receive, Target } from "./step.ts";

/** Makes a Content of whatever `run` gave. */
export function normalise({ entry }: Target): Receive {
  const { name } = entry;
  const failed = toCallError(entry.ref, "result");
  const options = { name };
  const convert = (value: unknown, state: CallState): Awaitable<Content> =>
    isAsyncIterable(value)
      ? toContent(value, { name, signal: state.signal, onPartial: (part) => state.tellPart(part) })
      : toContent(value, options);
  return (value, state) => rescue(() => convert(value, state), failed);
}

function isAsyncIterable(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

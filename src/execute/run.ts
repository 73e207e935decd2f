import type { Entry, Prompt, Tool } from "../core/item.ts";
import { genuine, isPromiseLike, rescue } from "../lib/promise.ts";
import { toCallError } from "./call-error.ts";
import type { CallState } from "./state.ts";
import type { Next, Receive, StepCall, Target } from "./step.ts";

/** Executes a prompt: what the delegates do. */
export type PromptRunner = (entry: Entry<"prompt">, input: unknown, context: CallState) => Promise<unknown>;

/** The innermost step: runs the tool as its own method, or hands the prompt to the delegates; `receive` gets what comes of it. */
export function run({ entry }: Target, runPrompt: PromptRunner, receive: Receive): Next {
  const failed = toCallError(entry.ref, "execute");
  const fail = (thrown: unknown): never => {
    throw failed(thrown);
  };
  const invoke = invocation(entry, runPrompt);
  return inTime((call) => {
    let result: unknown;
    try {
      result = invoke(call);
    } catch (thrown) {
      return fail(thrown);
    }
    const { state } = call;
    if (!isPromiseLike(result)) return receive(result, state);
    return genuine(result).then((value) => receive(value, state), fail);
  });
}

function invocation(entry: Target["entry"], runPrompt: PromptRunner): (call: StepCall) => unknown {
  if (entry.kind === "prompt") return ({ parsed, state }) => runPrompt(entry, parsed, state);
  const tool: Tool = entry.item;
  return ({ parsed, state }) => tool.run(parsed, state);
}

/** Renders a prompt as its own method. */
export function render({ entry }: Target): Next<unknown> {
  const failed = toCallError(entry.ref, "execute");
  return inTime(({ parsed, state }) => rescue(() => (entry.item as Prompt).render(parsed, state), failed));
}

/** A call that was ended while its input was read or validated runs nothing: its caller was told so. */
function inTime<R>(next: Next<R>): Next<R> {
  return (call) => {
    call.state.throwIfCut();
    return next(call);
  };
}

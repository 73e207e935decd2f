import type { Entry, Prompt, Tool } from "../core/item.ts";
import { rescue } from "../lib/promise.ts";
import { toCallError } from "./call-error.ts";
import type { CallState } from "./state.ts";
import type { Next, Target } from "./step.ts";

/** Executes a prompt: what the delegates do. */
export type PromptRunner = (entry: Entry<"prompt">, input: unknown, context: CallState) => Promise<unknown>;

/** The innermost step: runs the tool as its own method, or hands the prompt to the delegates. */
export function run({ entry }: Target, runPrompt: PromptRunner): Next<unknown> {
  const failed = toCallError(entry.ref, "execute");
  if (entry.kind === "prompt")
    return inTime(({ parsed, state }) => rescue(() => runPrompt(entry, parsed, state), failed));
  const tool: Tool = entry.item;
  return inTime(({ parsed, state }) => rescue(() => tool.run(parsed, state), failed));
}

/** Renders a prompt as its own method. */
export function render({ entry }: Target): Next<unknown> {
  const failed = toCallError(entry.ref, "execute");
  return inTime(({ parsed, state }) => rescue(() => (entry.item as Prompt).render(parsed, state), failed));
}

/** A call that was ended while its input was read or validated runs nothing: its caller was told so. */
function inTime(next: Next<unknown>): Next<unknown> {
  return (call) => {
    call.state.throwIfCut();
    return next(call);
  };
}

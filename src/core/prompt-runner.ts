import type { CallContext, Prompt } from "./item.ts";
import type { Resource } from "./resource.ts";

/** Executes a prompt in place of the toolkit's delegates. */
export type PromptRunner = (input: unknown, context: CallContext) => Promise<Resource>;

const runners = new WeakMap<Prompt, PromptRunner>();

/** Has a prompt executed by one of its own: an agent that was asked without a prompt file goes the way of every call so. */
export function withRunner(prompt: Prompt, runner: PromptRunner): Prompt {
  runners.set(prompt, runner);
  return prompt;
}

/** The function that executes the prompt in place of the delegates, if it has one. */
export function runnerOf(prompt: Prompt): PromptRunner | undefined {
  return runners.get(prompt);
}

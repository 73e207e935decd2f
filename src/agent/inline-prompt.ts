import type { CallContext, Prompt } from "../core/item.ts";
import { withRunner } from "../core/prompt-runner.ts";
import type { Content } from "../core/resource.ts";
import type { SchemaLike } from "../core/schema/types.ts";

/** A prompt of the agent's own, so that whatever it runs goes the way of every call: traced, bounded, in its session. */
export function inlinePrompt(
  { name, output }: { readonly name: string; readonly output?: SchemaLike | undefined },
  run: (input: unknown, context: CallContext) => Promise<Content>,
): Prompt {
  const prompt: Prompt = { kind: "prompt", name, output, render: async () => ({ messages: [] }) };
  return withRunner(prompt, run);
}

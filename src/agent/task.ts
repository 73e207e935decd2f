import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { definitionOf } from "../core/entry.ts";
import type { CallContext, Entry, Tool } from "../core/item.ts";
import type { ModelSettings } from "../core/model-settings.ts";
import type { SchemaLike } from "../core/schema/types.ts";
import { modelMessages } from "./message.ts";

/** What one run of an agent is to do. */
export interface Task {
  /** Of the prompt. */
  readonly ref: string;
  readonly name: string;
  readonly system?: string | undefined;
  /** What was said so far. */
  readonly messages: LanguageModelV4Prompt;
  /** Names and globs of what the model may use. Default: none. */
  readonly tools?: readonly string[] | undefined;
  /** Tools that are handed over, beside those that are named. */
  readonly ownTools?: readonly Tool[] | undefined;
  readonly output?: SchemaLike | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly thinking?: boolean | undefined;
  readonly thinkingBudget?: number | undefined;
  readonly settings?: ModelSettings | undefined;
}

/**
 * What a prompt asks for: rendered, its attachments read.
 *
 * @throws whatever rendering or reading an attachment throws
 */
export async function taskOf(entry: Entry<"prompt">, input: unknown, context: CallContext): Promise<Task> {
  const { item, ref, name } = entry;
  const { system, messages } = await item.render(input, context);
  const { attachments, signal } = context;
  return {
    ref,
    name,
    system,
    messages: await modelMessages(messages, { attachments, signal }),
    tools: item.tools,
    output: definitionOf(entry).outputSchema,
    model: item.model,
    provider: item.provider,
    thinking: item.thinking,
    thinkingBudget: item.thinkingBudget,
    settings: item.settings,
  };
}

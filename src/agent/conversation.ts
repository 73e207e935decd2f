import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";

/**
 * What was said between a user, a model and its tools: a plain value, which JSON holds and a later run goes on from. The messages are those
 * of the model port, without the system prompt.
 */
export interface Conversation {
  readonly messages: LanguageModelV4Prompt;
  /** How many tool calls it has made. */
  readonly toolCalls: number;
}

/** What the user says. */
export function userText(text: string): LanguageModelV4Message {
  return { role: "user", content: [{ type: "text", text }] };
}

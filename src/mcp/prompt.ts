import type { PromptMessage, RenderedPrompt } from "../core/item.ts";
import { blockContent } from "./content.ts";
import { isRecord } from "./rpc/message.ts";

/** MCP takes strings as the arguments of a prompt: what is none is sent as JSON, and what is undefined not at all. */
export function promptArguments(input: unknown): Readonly<Record<string, string>> {
  if (input === undefined || input === null) return {};
  // A prompt with a single value has one argument for it.
  if (!isRecord(input)) return { input: textOf(input) };
  const entries = Object.entries(input).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries.map(([name, value]) => [name, textOf(value)]));
}

/** The result of `prompts/get`. Messages that follow each other in the same role stay as they are. */
export function renderedPrompt(result: unknown, name: string): RenderedPrompt {
  const messages = isRecord(result) && Array.isArray(result.messages) ? result.messages : [];
  return { messages: messages.filter(isRecord).map((message) => promptMessage(message, name)) };
}

function promptMessage({ role, content }: Readonly<Record<string, unknown>>, name: string): PromptMessage {
  // Some servers send a list of blocks, as messages for sampling have it.
  const blocks = Array.isArray(content) ? content : [content];
  return {
    role: role === "assistant" ? "assistant" : "user",
    content: blocks.map((block) => blockContent(block, name, isRecord(block) ? { mcp: block } : undefined)),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { shown } from "../../core/options.ts";
import { isRecord } from "../../lib/value.ts";
import type { Conversation } from "../run/run-state.ts";

/**
 * Parses a conversation that a caller gives, such as one from its own database.
 *
 * @throws ToolkitError `INVALID_INPUT` for what is no conversation, or has a tool call without its result
 */
export function parseConversation(given: unknown): Conversation {
  if (!isRecord(given))
    throw invalidConversation("", `must be a conversation, or the id of one, and is ${shown(given)}`);
  const { messages, toolCalls = 0 } = given;
  if (typeof toolCalls !== "number" || !Number.isInteger(toolCalls) || toolCalls < 0)
    throw invalidConversation("/toolCalls", `must be a whole number from 0, and is ${shown(toolCalls)}`);
  const fault = faultOf(messages);
  if (fault !== undefined) throw invalidConversation("/messages", fault);
  return { messages: messages as LanguageModelV4Prompt, toolCalls };
}

function invalidConversation(pointer: string, message: string): ToolkitError<"INVALID_INPUT"> {
  const issues = [{ pointer: `/conversation${pointer}`, message }];
  return new ToolkitError("INVALID_INPUT", `The option conversation${pointer.replace("/", ".")} ${message}.`, {
    issues,
  });
}

/** The reason why these are no messages that a model can be sent; undefined where they are. */
export function faultOf(messages: unknown): string | undefined {
  if (!Array.isArray(messages)) return `must be a list of messages, and is ${shown(messages)}`;
  let open: readonly string[] = [];
  for (const [index, message] of messages.entries()) {
    if (!isMessage(message)) return `has no message of a user, an assistant or a tool at ${index}`;
    const answered = message.role === "tool" ? idsIn(message, "tool-result") : [];
    if (open.join("\n") !== answered.join("\n"))
      return `has at ${index} the results of [${answered}] where those of the calls [${open}] must be`;
    open = message.role === "assistant" ? idsIn(message, "tool-call") : [];
  }
  return open.length === 0 ? undefined : `ends with the calls [${open}], without their results`;
}

/** The ids of the calls, or of the results, in a message. */
function idsIn({ content }: LanguageModelV4Message, type: "tool-call" | "tool-result"): readonly string[] {
  if (typeof content === "string") return [];
  const ids: string[] = [];
  // A call that the provider executes itself has its result in the same message.
  for (const part of content) {
    if (part.type === type && "toolCallId" in part && !("providerExecuted" in part && part.providerExecuted === true))
      ids.push(part.toolCallId);
  }
  return ids;
}

function isMessage(message: unknown): message is LanguageModelV4Message {
  if (!isRecord(message) || !Array.isArray(message.content)) return false;
  const { role, content } = message;
  return (role === "user" || role === "assistant" || role === "tool") && content.every(isRecord);
}

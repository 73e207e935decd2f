import type { PromptMessage } from "../core/item.ts";
import type { Resource } from "../core/resource.ts";

/** The messages of a rendered prompt, with what was attached to the call behind what the user says last. */
export function withAttachments(
  messages: readonly PromptMessage[],
  attachments: readonly Resource[],
): readonly PromptMessage[] {
  if (attachments.length === 0) return messages;
  const index = messages.findLastIndex(({ role }) => role === "user");
  const last = messages[index];
  if (last === undefined) return [...messages, { role: "user", content: attachments }];
  return messages.with(index, { role: "user", content: [...last.content, ...attachments] });
}

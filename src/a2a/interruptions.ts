import type { Message } from "@a2a-js/sdk";
import type { ElicitRequest } from "../core/interaction.ts";
import { isRecord } from "../lib/value.ts";
import type { TaskRecord } from "./task-record.ts";
import { messageText } from "./task-result.ts";

const maxQuestionLength = 10_000;
const urlFields = [
  "url",
  "authorizationUrl",
  "authorization_url",
  "authUrl",
  "auth_url",
  "verification_uri_complete",
  "verification_uri",
];

/** The question of a task that waits for input, as a form with one text. */
export function inputRequest(task: TaskRecord): ElicitRequest {
  const message = questionOf(task.status) || "The agent needs more input to go on.";
  const answer = { type: "string", title: "Answer", description: "Sent to the agent as it is." } as const;
  const meta = { a2a: { taskId: task.id, contextId: task.contextId } };
  return { message, schema: { type: "object", properties: { answer }, required: ["answer"] }, meta };
}

/**
 * The page on which a person authorizes what a task waits for. Undefined where the agent names none: the protocol has no field for it, so that
 * it is a part of the message that is a link, a member of its data, or the one link in its text.
 */
export function authorizationRequest(task: TaskRecord): ElicitRequest | undefined {
  const url = pageOf(task.status);
  if (url === undefined) return undefined;
  const message = questionOf(task.status) || "The agent needs an authorization to go on.";
  const meta = { a2a: { taskId: task.id, contextId: task.contextId } };
  return { message, url, elicitationId: task.id, meta };
}

function questionOf(message: Message | undefined): string {
  return messageText(message).slice(0, maxQuestionLength);
}

function pageOf(message: Message | undefined): string | undefined {
  const found: string[] = [];
  for (const { content } of message?.parts ?? []) {
    if (content?.$case === "url") found.push(content.value);
    if (content?.$case === "data" && isRecord(content.value)) {
      const { value } = content;
      for (const field of urlFields) if (typeof value[field] === "string") found.push(value[field]);
    }
  }
  const [first] = found.filter(isPage);
  if (first !== undefined) return first;
  const texts = questionOf(message).match(/https?:\/\/[^\s<>"')\]]+/g) ?? [];
  const links = [...new Set(texts.map((text) => text.replace(/[.,;:!?]+$/, "")))].filter(isPage);
  // Of several links none is known to be the one.
  return links.length === 1 ? links[0] : undefined;
}

/** A page that a person may be sent to: https, or http of this machine, without credentials in its URL. */
function isPage(text: string): boolean {
  const url = text.length > 4_000 ? null : URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return false;
  return (
    url.protocol === "https:" || (url.protocol === "http:" && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname))
  );
}

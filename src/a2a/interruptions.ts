import type { Message, Part } from "@a2a-js/sdk";
import type { ElicitRequest } from "../core/interaction.ts";
import { isRecord } from "../lib/value.ts";
import { visible } from "../lib/visible-text.ts";
import type { TaskRecord } from "./task-record.ts";

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
/** The members of data that are shown to a person, by what they say. All others may be secrets, such as the code of a device or a state. */
const shownFields: Readonly<Record<string, readonly string[]>> = {
  scheme: ["scheme", "authScheme", "auth_scheme", "type", "grant_type"],
  for: ["provider", "service", "audience", "resource"],
  scopes: ["scope", "scopes"],
  code: ["user_code", "userCode"],
};
const wordFields = ["message", "description", "instructions", "reason"];
const shownLength = 300;

/** The question of a task that waits for input, as a form with one text. */
export function inputRequest(task: TaskRecord): ElicitRequest {
  const message = messageText(task.status).slice(0, maxQuestionLength) || "The agent needs more input to go on.";
  const answer = { type: "string", title: "Answer", description: "Sent to the agent as it is." } as const;
  const meta = { a2a: { taskId: task.id, contextId: task.contextId } };
  return { message, schema: { type: "object", properties: { answer }, required: ["answer"] }, meta };
}

/** The page on which a person authorizes what a task waits for. Undefined where the agent names none. */
export function authorizationRequest(task: TaskRecord): ElicitRequest | undefined {
  const url = authorizationPage(task.status);
  if (url === undefined) return undefined;
  const message = authorizationText(task.status).slice(0, maxQuestionLength);
  const meta = { a2a: { taskId: task.id, contextId: task.contextId } };
  return { message, url, elicitationId: task.id, meta };
}

/** The text of a message, for people and models. */
export function messageText(message: Message | undefined): string {
  return textOf(message, (value) => JSON.stringify(value) ?? "");
}

/** The text of a message that asks for an authorization: of its data, what a person needs, and nothing that may be a secret. */
export function authorizationText(message: Message | undefined): string {
  return textOf(message, neededText) || neededText(undefined);
}

/** Parts of such a message, each data as such a text. */
export function authorizationParts(parts: readonly Part[]): readonly Part[] {
  return parts.map((part) => {
    const { content } = part;
    if (content?.$case !== "data") return part;
    return { ...part, mediaType: "text/plain", content: { $case: "text", value: neededText(content.value) } };
  });
}

function textOf(message: Message | undefined, ofData: (value: unknown) => string): string {
  const texts = (message?.parts ?? []).map(({ content }) => {
    if (content?.$case === "text" || content?.$case === "url") return content.value;
    return content?.$case === "data" ? ofData(content.value) : "";
  });
  return texts.filter((text) => text !== "").join("\n");
}

/** `The agent needs an authorization: scheme oauth2, for calendar, at https://login.example/authorize` */
function neededText(data: unknown): string {
  const records = isRecord(data) ? [data, ...Object.values(data).filter(isRecord)] : [];
  const shown = (names: readonly string[]) => {
    const values = records.flatMap((record) => names.map((name) => record[name]));
    const found = values.map((value) => (Array.isArray(value) ? value.filter(isText).join(" ") : value)).find(isText);
    return found === undefined ? undefined : visible(found.slice(0, shownLength));
  };
  const words = shown(wordFields);
  const facts = Object.entries(shownFields).flatMap(([what, names]) => {
    const value = shown(names);
    return value === undefined ? [] : [`${what} ${value}`];
  });
  const [page] = records.flatMap(pagesIn);
  const needed = [...facts, ...(page === undefined ? [] : [`at ${page}`])].join(", ");
  // A full stop behind it would be taken for a part of the page.
  const sentence = `The agent needs an authorization${needed === "" ? "" : `: ${needed}`}${page === undefined ? "." : ""}`;
  return words === undefined ? sentence : `${words}\n${sentence}`;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/**
 * The page on which a person authorizes what a task waits for: the protocol has no field for it, so that it is a part of the message that is a link,
 * a member of its data, or the one link in its text. Undefined where there is none.
 */
function authorizationPage(message: Message | undefined): string | undefined {
  const found = (message?.parts ?? []).flatMap(({ content }) => {
    if (content?.$case === "url") return [content.value];
    return content?.$case === "data" && isRecord(content.value) ? pagesIn(content.value) : [];
  });
  const [first] = found.filter(isPage);
  if (first !== undefined) return first;
  const texts =
    messageText(message)
      .slice(0, maxQuestionLength)
      .match(/https?:\/\/[^\s<>"')\]]+/g) ?? [];
  const links = [...new Set(texts.map((text) => text.replace(/[.,;:!?]+$/, "")))].filter(isPage);
  // Of several links none is known to be the one.
  return links.length === 1 ? links[0] : undefined;
}

function pagesIn(data: Readonly<Record<string, unknown>>): readonly string[] {
  return urlFields
    .map((field) => data[field])
    .filter(isText)
    .filter(isPage);
}

/** A page that a person may be sent to: https, or http of this machine, without credentials in its URL. */
function isPage(text: string): boolean {
  const url = text.length > 4_000 ? null : URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return false;
  return (
    url.protocol === "https:" || (url.protocol === "http:" && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname))
  );
}

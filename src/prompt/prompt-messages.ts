import type { MediaEgress } from "../core/egress.ts";
import type { PromptMessage, RenderedPrompt } from "../core/item.ts";
import type { Resource } from "../core/resource.ts";
import { textContent } from "../resource/content.ts";
import { PromptMedia } from "./prompt-media.ts";
import { fileStart, promptProblem } from "./prompt-problem.ts";
import type { RenderedPiece } from "./template/rendering.ts";

/** The parts of the messages of a prompt that its text does not have. */
export interface PromptMessageOptions {
  /** Name of the prompt, and of its texts. */
  readonly name: string;
  readonly file: string | undefined;
  readonly system: string | undefined;
  /** Added to the last message of the user. */
  readonly attachments: readonly Resource[];
  /** Where the URL of a `{{media}}` may lead. */
  readonly egress: MediaEgress;
}

/**
 * Converts a rendered text to messages: one message of the user, unless helpers of dotprompt made several. Messages of the system
 * become the system prompt, wherever they were written.
 *
 * @throws ToolkitError `INVALID_INPUT` for a file that is no `data:`, `http:` or `https:` URL, and for an http(s) URL from the input, unless the
 *   toolkit fetches these; `LIMIT_EXCEEDED` for more files than are
 *   fetched; `INVALID_PROMPT` for a file in the system prompt, and for a prompt without a message of the user
 */
export function renderedMessages(pieces: readonly RenderedPiece[], options: PromptMessageOptions): RenderedPrompt {
  const { name, system, attachments } = options;
  const systemTexts = system === undefined ? [] : [system];
  const [only] = pieces;
  if (only !== undefined && "text" in only && pieces.length === 1) {
    const content = [textContent(only.text.trim(), { name }), ...attachments];
    return { ...systemOf(systemTexts), messages: [{ role: "user", content }] };
  }
  const turns = turnsOf(pieces, options);
  for (const { role, content } of turns) if (role === "system") systemTexts.push(...(content as string[]));
  const messages = turns.filter(({ role }) => role !== "system").map((turn) => toMessage(turn, name));
  assertMessages(messages, options);
  return { ...systemOf(systemTexts), messages: withAttachments(messages, attachments) };
}

/** The messages of a rendered prompt, with the attachments of the call at the end of the last message of the user. */
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

function systemOf(texts: readonly string[]): Pick<RenderedPrompt, "system"> {
  return texts.length === 0 ? {} : { system: texts.join("\n\n") };
}

/** The consecutive pieces of one role. */
interface PromptTurn {
  readonly role: PromptMessage["role"] | "system";
  readonly content: (string | Resource)[];
}

function turnsOf(pieces: readonly RenderedPiece[], options: PromptMessageOptions): readonly PromptTurn[] {
  const { file } = options;
  const media = new PromptMedia(options.name, options.egress);
  let current: PromptTurn = { role: "user", content: [] };
  const turns = [current];
  for (const piece of pieces) {
    if ("role" in piece) {
      current = { role: toRole(piece.role), content: [] };
      turns.push(current);
    } else if ("text" in piece) {
      const text = piece.text.trim();
      if (text !== "") current.content.push(text);
    } else if (current.role === "system") {
      const what = "A file stands in the system prompt, which holds text only.";
      throw promptProblem(file, fileStart, what, 'Write {{role "user"}} before {{media}}.');
    } else current.content.push(media.resource(piece));
  }
  return turns.filter(({ content }) => content.length > 0);
}

function toRole(role: string): PromptTurn["role"] {
  return role === "system" || role === "user" ? role : "assistant";
}

function toMessage({ role, content }: PromptTurn, name: string): PromptMessage {
  const resources = content.map((each) => (typeof each === "string" ? textContent(each, { name }) : each));
  return { role: role === "assistant" ? role : "user", content: resources };
}

/** @throws ToolkitError `INVALID_PROMPT` for a prompt without a message of the user */
function assertMessages(messages: readonly PromptMessage[], { file, attachments }: PromptMessageOptions): void {
  if (messages.length > 0 || attachments.length > 0) return;
  const what = "The prompt has a system prompt and no message of the user.";
  throw promptProblem(file, fileStart, what, 'Write {{role "user"}}, and the task after it.');
}

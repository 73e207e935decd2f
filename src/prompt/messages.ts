import { ToolkitError } from "../core/error.ts";
import type { PromptMessage, RenderedPrompt } from "../core/item.ts";
import type { Resource } from "../core/resource.ts";
import { textContent } from "../resource/content.ts";
import { resourceHandle } from "../resource/handle.ts";
import { readSource } from "../resource/read.ts";
import { withAttachments } from "./attached.ts";
import { promptProblem } from "./problem.ts";
import { piecesOf, type RenderedPiece } from "./template/marks.ts";

/** What the messages of a prompt are made with. */
export interface MessageOptions {
  /** Of the prompt, for the texts. */
  readonly name: string;
  readonly file: string | undefined;
  readonly system: string | undefined;
  /** They come after what the user says last. */
  readonly attachments: readonly Resource[];
}

/**
 * A rendered text as messages: one of the user, unless helpers of dotprompt said more. What the system is told stands above the
 * messages, wherever it was written.
 *
 * @throws ToolkitError `INVALID_INPUT` for a file that is no `data:`, `http:` or `https:` URL; `INVALID_PROMPT` for a file in what
 *   the system is told, and where the user says nothing
 */
export function messagesOf(rendered: string, options: MessageOptions): RenderedPrompt {
  const { name, system, attachments } = options;
  const above = system === undefined ? [] : [system];
  const [only, ...others] = piecesOf(rendered);
  if (only !== undefined && "text" in only && others.length === 0) {
    const content = [textContent(only.text.trim(), { name }), ...attachments];
    return { ...systemOf(above), messages: [{ role: "user", content }] };
  }
  const turns = turnsOf([only as RenderedPiece, ...others], options);
  for (const { role, content } of turns) if (role === "system") above.push(...(content as string[]));
  const messages = turns.filter(({ role }) => role !== "system").map((turn) => messageOf(turn, name));
  assertSaid(messages, options);
  return { ...systemOf(above), messages: withAttachments(messages, attachments) };
}

function systemOf(above: readonly string[]): Pick<RenderedPrompt, "system"> {
  return above.length === 0 ? {} : { system: above.join("\n\n") };
}

/** What somebody says without a break. */
interface Turn {
  readonly role: PromptMessage["role"] | "system";
  readonly content: (string | Resource)[];
}

function turnsOf(pieces: readonly RenderedPiece[], { name, file }: MessageOptions): readonly Turn[] {
  let current: Turn = { role: "user", content: [] };
  const turns = [current];
  for (const piece of pieces) {
    if ("role" in piece) {
      current = { role: roleOf(piece.role), content: [] };
      turns.push(current);
    } else if ("text" in piece) {
      const text = piece.text.trim();
      if (text !== "") current.content.push(text);
    } else if (current.role === "system") {
      const what = "A file stands in what the system is told.";
      throw promptProblem(file, { line: 1, column: 1 }, what, 'Write {{role "user"}} before {{media}}.');
    } else current.content.push(mediaOf(piece.url, piece.mediaType, name));
  }
  return turns.filter(({ content }) => content.length > 0);
}

function roleOf(role: string): Turn["role"] {
  return role === "system" || role === "user" ? role : "assistant";
}

function messageOf({ role, content }: Turn, name: string): PromptMessage {
  const resources = content.map((each) => (typeof each === "string" ? textContent(each, { name }) : each));
  return { role: role === "assistant" ? role : "user", content: resources };
}

/** @throws ToolkitError `INVALID_PROMPT` where there is nothing of the user */
function assertSaid(messages: readonly PromptMessage[], { file, attachments }: MessageOptions): void {
  if (messages.length > 0 || attachments.length > 0) return;
  const what = "The prompt tells the system something, and the user says nothing.";
  throw promptProblem(file, { line: 1, column: 1 }, what, 'Write {{role "user"}}, and what is to be done.');
}

/** A file to which a template gives the way; it is read when somebody asks for it. */
function mediaOf(url: string, mediaType: string | undefined, name: string): Resource {
  if (!/^(?:data:|https?:\/\/)/i.test(url) || !URL.canParse(url)) {
    const shown = JSON.stringify(url.length > 60 ? `${url.slice(0, 60)}...` : url);
    const message = `The prompt "${name}" shows the file ${shown}, which is no data:, http: or https: URL.`;
    throw new ToolkitError("INVALID_INPUT", `${message} Pass such a URL, or give the file as an attachment.`, {
      issues: [{ pointer: "", message: "must hold a data:, http: or https: URL for {{media}}" }],
    });
  }
  return resourceHandle({
    name,
    uri: url,
    mediaType: mediaType ?? /^data:([^;,]+)/i.exec(url)?.[1],
    bytes: async ({ signal }) => await (await readSource(new URL(url), { signal })).bytes(),
  });
}

import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4TextPart } from "@ai-sdk/provider";
import type { PromptMessage } from "../../core/item.ts";
import type { Content, ReadOptions, Resource } from "../../core/resource.ts";
import { textOf } from "../../resource/content.ts";
import { loadResource } from "../../resource/handle.ts";
import { bytesType, essenceOf, isTextType } from "../../resource/media-type.ts";

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** What tells a text that was attached from the text of the prompt. */
export interface MessageOptions extends ReadOptions {
  readonly attachments: readonly Resource[];
}

/**
 * The messages of a rendered prompt, for a model. Texts are text, and what was attached says its name; the rest are file parts by their media
 * type. A text as a file part is refused by most providers.
 *
 * @throws whatever reading an attachment throws
 */
export function modelMessages(
  messages: readonly PromptMessage[],
  options: MessageOptions,
): Promise<LanguageModelV4Message[]> {
  return Promise.all(
    messages.map(async ({ role, content }) => {
      const parts = await Promise.all(content.map((resource) => partOf(resource, options)));
      return { role, content: parts.filter((part) => part.type !== "text" || part.text !== "") };
    }),
  );
}

async function partOf(resource: Resource, { attachments, signal }: MessageOptions): Promise<UserPart> {
  const content = await loadResource(resource, { signal });
  const mediaType = essenceOf(content.mediaType);
  const text = isTextType(mediaType) ? await readText(content) : undefined;
  if (text !== undefined) {
    const isAttached = attachments.includes(resource);
    return { type: "text", text: isAttached ? attachedText(content.name, mediaType, text) : text };
  }
  const base64 = content.toJSON().base64 ?? Buffer.from(await content.bytes()).toString("base64");
  const filename = content.name;
  return { type: "file", mediaType: mediaType || bytesType, filename, data: { type: "data", data: base64 } };
}

async function readText(content: Content): Promise<string | undefined> {
  return textOf(content) ?? content.text().catch(() => undefined);
}

/** A text with its name, so that a model knows where it begins and ends. */
function attachedText(name: string, mediaType: string, text: string): string {
  const quoted = (value: string) => value.replaceAll('"', "'");
  return `<attachment name="${quoted(name)}" type="${quoted(mediaType)}">\n${text}\n</attachment>`;
}

import type { ArgumentValues } from "../core/argument-values.ts";
import { ToolkitError } from "../core/error.ts";
import type { RenderedPrompt } from "../core/item.ts";
import { type Content, isContent } from "../core/resource.ts";
import { mapTexts, stripInvisible } from "../lib/visible-text.ts";
import {
  type ContentFields,
  derivedContent,
  isEmptyContent,
  multipartContent,
  textContent,
  textOf,
} from "../resource/content.ts";
import { isJsonType, isTextType, withoutCharset } from "../resource/media-type.ts";

/** The result with no text that does not show, and with the mark by which models learn that it is not to be trusted. */
export async function untrustedContent(content: Content, namespace: string): Promise<Content> {
  const stripped = await strippedContent(content);
  return derivedContent(stripped, { meta: { ...stripped.meta, untrusted: namespace } });
}

/** The messages of a prompt, their contents as {@link untrustedContent} gives them. */
export async function untrustedPrompt(rendered: RenderedPrompt, namespace: string): Promise<RenderedPrompt> {
  const messages = rendered.messages.map(async (message) => ({
    ...message,
    content: await Promise.all(
      message.content.map((content) => (isContent(content) ? untrustedContent(content, namespace) : content)),
    ),
  }));
  return { ...rendered, messages: await Promise.all(messages) };
}

/** The values of an argument, without text that does not show. */
export async function untrustedValues(completed: ArgumentValues): Promise<ArgumentValues> {
  return { ...completed, values: completed.values.map(stripInvisible) };
}

/** The error with a message that says whose words it has, and with its content as {@link untrustedContent} gives it. */
export async function untrustedError(error: unknown, namespace: string): Promise<unknown> {
  if (!ToolkitError.is(error) || !["TOOL_FAILED", "REMOTE_ERROR", "NOT_FOUND"].includes(error.code)) return error;
  const { code, cause, ref, phase } = error;
  const message = `The untrusted server of ${namespace} reports: ${JSON.stringify(stripInvisible(error.message))}`;
  const details = { ...error.details };
  const content = "content" in error.details ? error.details.content : undefined;
  if (isContent(content)) Object.assign(details, { content: await untrustedContent(content, namespace) });
  return new ToolkitError(code, message, details, { cause, ref, phase });
}

const stripped = (value: unknown) => mapTexts(value, stripInvisible);

async function strippedContent(content: Content): Promise<Content> {
  const { name, title, description, uri, mediaType, meta } = content;
  const fields = { ...(stripped({ name, title, description, mediaType, meta }) as ContentFields), uri };
  if (content.parts !== undefined)
    return multipartContent(await Promise.all(content.parts.map(strippedContent)), fields);
  const isJson = isJsonType(mediaType);
  // Bytes that are no text, whatever they are called, have none to strip.
  const text = textOf(content) ?? (isTextType(mediaType) ? await content.text().catch(() => undefined) : undefined);
  if (text === undefined || isEmptyContent(content)) return derivedContent(content, fields);
  const shown = isJson ? strippedJson(text) : stripInvisible(text);
  return textContent(shown, { ...fields, mediaType: withoutCharset(mediaType) });
}

function strippedJson(text: string): string {
  try {
    return JSON.stringify(stripped(JSON.parse(text)));
  } catch {
    return stripInvisible(text);
  }
}

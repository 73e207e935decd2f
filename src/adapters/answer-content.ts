import type { Content } from "../core/resource.ts";
import { isRecord } from "../lib/value.ts";
import { isEmptyContent, textOf } from "../resource/content.ts";
import { essenceOf, isJsonType, isTextType } from "../resource/media-type.ts";
import type { ToolAnswer } from "../toolset/toolset-types.ts";

/** A piece of an answer. */
export type AnswerPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "json"; readonly text: string; readonly value: unknown }
  | MediaPart;

/** What is no text. */
export interface MediaPart {
  readonly kind: "media";
  readonly name: string;
  /** Without parameters. */
  readonly mediaType: string;
  readonly base64: string;
}

/** The pieces of an answer, in words a model can use where there is no result: one at least. */
export async function answerParts(answer: ToolAnswer): Promise<readonly AnswerPart[]> {
  if (answer.content === undefined) return [{ kind: "text", text: reasonOf(answer) }];
  const parts = [...(await contentParts(answer.content)), ...mediaBeside(answer.content)];
  return parts.length === 0 ? [{ kind: "text", text: "Done. It has no result." }] : parts;
}

/** Why there is no result, and what that means. */
export function reasonOf({ status, error, name }: ToolAnswer): string {
  const message = error?.message ?? `${name} gave no result.`;
  if (status === "denied") return `Not done, because it is not allowed: ${message}`;
  if (status !== "pending") return `Failed (${error?.code ?? "unknown"}): ${message}`;
  return `Not done yet: ${message} It goes on elsewhere. Do not call it again for now; say that it is waiting.`;
}

/** Pieces as one text; what is none is named. */
export function textOfParts(parts: readonly AnswerPart[]): string {
  return parts.map((part) => (part.kind === "media" ? mention(part) : part.text)).join("\n\n");
}

/** Something that cannot be shown, in words. */
export function mention({ name, mediaType, base64 }: MediaPart): string {
  return `[${name}: ${mediaType}, ${Buffer.byteLength(base64, "base64")} bytes, cannot be shown here]`;
}

/** All that can be shown of a result as one text. */
export async function textOfContent(content: Content): Promise<string> {
  return textOfParts(await contentParts(content));
}

/** What an MCP server gives a model to see or hear beside structured content, which as a result is the JSON alone. */
function mediaBeside({ meta, parts }: Content): readonly MediaPart[] {
  const mcp = meta?.mcp;
  if (!isRecord(mcp) || mcp.structuredContent === undefined || parts !== undefined) return [];
  const blocks = Array.isArray(mcp.content) ? mcp.content.filter(isRecord) : [];
  return blocks.flatMap(({ type, data, mimeType }) => {
    const isMedia = (type === "image" || type === "audio") && typeof data === "string" && typeof mimeType === "string";
    return isMedia ? [{ kind: "media", name: type, mediaType: essenceOf(mimeType), base64: data }] : [];
  });
}

async function contentParts(content: Content): Promise<readonly AnswerPart[]> {
  if (content.parts !== undefined) return (await Promise.all(content.parts.map(contentParts))).flat();
  if (isEmptyContent(content)) return [];
  const { name } = content;
  const mediaType = essenceOf(content.mediaType);
  const text = textOf(content) ?? (isTextType(mediaType) ? await content.text().catch(() => undefined) : undefined);
  if (text === undefined) return [{ kind: "media", name, mediaType, base64: content.toJSON().base64 ?? "" }];
  const value = isJsonType(mediaType) ? parsed(text) : undefined;
  return [value === undefined ? { kind: "text", text } : { kind: "json", text, value }];
}

/** Undefined for what is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { ToolkitError } from "../core/error.ts";
import type { Content } from "../core/resource.ts";
import { isRecord } from "../lib/value.ts";
import { isEmptyContent, textOf } from "../resource/content.ts";
import { contentFromJson } from "../resource/from-json.ts";
import { isJsonType } from "../resource/media-type.ts";
import { jsonValueOf } from "../resource/normalise.ts";
import { resource } from "../resource/resource-factory.ts";

/**
 * The result of a call as a JSON value: the structured value where there is one, JSON parsed where its media type says so, a text, null for
 * nothing. Bytes, and several parts without a text, are a Content as JSON.
 */
export async function resultOf(content: Content): Promise<unknown> {
  if (isEmptyContent(content)) return null;
  const text = textOf(content);
  if (content.parts !== undefined) {
    try {
      return (await content.json()) ?? null;
    } catch {
      const isText = text !== undefined && content.parts.every((part) => textOf(part) !== undefined);
      return isText ? text : content.toJSON();
    }
  }
  if (text !== undefined && !isJsonType(content.mediaType)) return text;
  try {
    return (await jsonValueOf(content)) ?? null;
  } catch (error) {
    if (text !== undefined || !ToolkitError.is(error, "INVALID_OUTPUT")) return text;
    return content.toJSON();
  }
}

/** A result as an attachment for a model: what is a Content as JSON is that Content, anything else is JSON. */
export function attachmentOf(name: string, result: unknown): Content {
  return revived(result) ?? resource.json(name, result);
}

/** The result of a workflow for its caller: a text is a text. */
export function contentOf(name: string, result: unknown): Content {
  return typeof result === "string" ? resource.text(name, result) : attachmentOf(name, result);
}

function revived(result: unknown): Content | undefined {
  if (!isRecord(result) || result.kind !== "resource") return undefined;
  try {
    return contentFromJson(result);
  } catch {
    // A value that only looks like one.
    return undefined;
  }
}

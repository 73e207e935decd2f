import { definitionOf } from "../../core/entry.ts";
import { extrasOf } from "../../core/extras.ts";
import type { Entry, RenderedPrompt } from "../../core/item.ts";
import { type Content, isContent, type Resource } from "../../core/resource.ts";
import { isRecord, present } from "../../lib/value.ts";
import { isEmptyContent } from "../../resource/content.ts";
import { loadResource } from "../../resource/handle.ts";
import { isJsonType, isTextType } from "../../resource/media-type.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The result of `tools/call`: that of the server it came from, as it was sent; of other tools made from the Content. */
export function callResult(content: Content, entry: Entry<"tool" | "prompt">): Fields {
  const sent = sentWith(content);
  if (sent !== undefined) return Array.isArray(sent.content) ? sent : { ...sent, content: [] };
  const blocks = blocksOf(content);
  const structured = entry.kind === "tool" ? structuredOf(content, entry) : undefined;
  return present({ content: blocks, structuredContent: structured, _meta: ownMeta(content.meta) });
}

/** The structured content of a tool that has an output schema: any JSON, of which revisions with a handshake take objects. */
function structuredOf(content: Content, entry: Entry<"tool">): unknown {
  const { output } = definitionOf(entry);
  if (output === undefined) return undefined;
  const { mediaType } = content;
  if (isJsonType(mediaType)) {
    const { text } = content.toJSON();
    return text === undefined ? undefined : JSON.parse(text);
  }
  return output.type !== "object" && isTextType(mediaType) ? content.toJSON().text : undefined;
}

/** The result of `resources/read`. @param uri - under which it was read */
export function readResult(content: Content, uri: string): Fields {
  const sent = sentWith(content);
  if (sent !== undefined) return Array.isArray(sent.contents) ? sent : { ...sent, contents: [] };
  const parts = content.parts ?? [content];
  return { contents: parts.map((part) => contentsOf(part, content.parts === undefined ? uri : part.uri)) };
}

/** The result of `prompts/get`. MCP knows no message of the system: a system prompt is the first message of the user. */
export async function promptResult(
  rendered: RenderedPrompt,
  entry: Entry<"prompt">,
  signal: AbortSignal,
): Promise<Fields> {
  const sent = isRecord(rendered.meta?.mcp) ? rendered.meta.mcp : undefined;
  const system =
    rendered.system === undefined ? [] : [{ role: "user", content: { type: "text", text: rendered.system } }];
  const messages = await Promise.all(
    rendered.messages.map(async ({ role, content }) => {
      const blocks = await Promise.all(content.map((each) => promptBlocks(each, signal)));
      return blocks.flat().map((block) => ({ role, content: block }));
    }),
  );
  // A server that says no more than its messages is not to say more here.
  const description = extrasOf(entry.item) === undefined ? definitionOf(entry).description : undefined;
  return { ...(sent ?? present({ description })), messages: [...system, ...messages.flat()] };
}

async function promptBlocks(resource: Resource, signal: AbortSignal): Promise<readonly Fields[]> {
  const content = isContent(resource) ? resource : await loadResource(resource, { signal });
  const sent = sentWith(content);
  return sent === undefined ? blocksOf(content) : [sent];
}

/** The result or block that a server sent, where the Content was made from it. */
export function sentWith({ meta }: Content): Fields | undefined {
  return isRecord(meta?.mcp) ? meta.mcp : undefined;
}

function ownMeta(meta: Content["meta"]): Fields | undefined {
  return meta === undefined || Object.keys(meta).length === 0 ? undefined : meta;
}

function blocksOf(content: Content): readonly Fields[] {
  if (content.parts !== undefined) return content.parts.flatMap(blocksOf);
  if (isEmptyContent(content)) return [];
  const { mediaType } = content;
  const { text, base64 } = content.toJSON();
  const isNamed = !ownSchemes.test(content.uri);
  if (text !== undefined && !isNamed && (isTextType(mediaType) || isJsonType(mediaType)))
    return [{ type: "text", text }];
  const [family] = mediaType.split("/");
  if (base64 !== undefined && (family === "image" || family === "audio"))
    return [{ type: family, data: base64, mimeType: mediaType }];
  return [{ type: "resource", resource: contentsOf(content, content.uri) }];
}

/** The schemes of a URI that was made up for a result. A result with another one is a resource, which the client may read again. */
const ownSchemes = /^(?:text|json|data|result):/;

function contentsOf(content: Content, uri: string): Fields {
  const { mediaType: mimeType } = content;
  const { text, base64 = "" } = content.toJSON();
  const _meta = ownMeta(content.meta);
  return present(text === undefined ? { uri, mimeType, blob: base64, _meta } : { uri, mimeType, text, _meta });
}

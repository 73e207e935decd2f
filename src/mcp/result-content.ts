import { type ArgumentValues, boundedValues } from "../core/argument-values.ts";
import { ToolkitError } from "../core/error.ts";
import type { PromptMessage, RenderedPrompt } from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import { isRecord } from "../lib/value.ts";
import {
  base64Content,
  emptyContent,
  isEmptyContent,
  joinParts,
  jsonContent,
  multipartContent,
  textContent,
} from "../resource/content.ts";
import { parseText } from "./rpc/rpc-message.ts";

type Fields = Readonly<Record<string, unknown>>;
type Meta = Readonly<Record<string, unknown>>;

/**
 * The result of `tools/call` as a Content: `structuredContent` gives JSON, else one block gives that block, several give
 * `multipart/mixed`, none gives nothing. The result as the server sent it, `content`, `structuredContent` and `_meta` included, is
 * `meta.mcp`, so that a gateway relays it unchanged.
 *
 * @throws ToolkitError `TOOL_FAILED` where the server says `isError`
 */
export function toolContent(
  result: unknown,
  {
    name,
    server,
    hasAnyStructure = false,
  }: { readonly name: string; readonly server: string; readonly hasAnyStructure?: boolean },
): Content {
  if (!isRecord(result)) return jsonContent(result, { name });
  const meta = { mcp: result };
  // The revision of October 2024 called it toolResult. Of servers with sessions null says that there is none.
  const structured = hasAnyStructure ? result.structuredContent : (result.structuredContent ?? result.toolResult);
  if (result.isError === true) {
    const blocks = blocksContent(result.content, name, meta);
    const content =
      structured === undefined || !isEmptyContent(blocks) ? blocks : jsonContent(structured, { name, meta });
    // Some servers say in structured content alone what went wrong.
    const text = errorText(result.content) || (structured === undefined ? "" : (JSON.stringify(structured) ?? ""));
    throw new ToolkitError(
      "TOOL_FAILED",
      text === "" ? `${server} says that its tool ${name} failed, without a reason.` : text,
      { content },
    );
  }
  if (structured !== undefined) return jsonContent(structured, { name, meta });
  return blocksContent(result.content, name, meta);
}

/** The result of `resources/read`: the one entry, or several as `multipart/mixed`. `meta.mcp` is the result as it was sent. */
export function readContent(result: unknown, uri: string): Content {
  const fields = isRecord(result) ? result : {};
  const entries = Array.isArray(fields.contents) ? fields.contents.filter(isRecord) : [];
  const meta = { mcp: fields };
  const [only] = entries;
  if (only !== undefined && entries.length === 1) return resourceContent(only, uri, meta);
  if (only === undefined) return emptyContent({ name: nameOf(uri), uri, meta });
  const parts = entries.map((entry) => resourceContent(entry, uri, metaOf(entry)));
  return multipartContent(parts, { name: nameOf(uri), uri, meta });
}

/** One content block (text, image, audio, embedded resource, link to a resource) as a Content. */
function blockContent(block: unknown, name: string, meta?: Meta): Content {
  if (!isRecord(block)) return jsonContent(block, { name, meta });
  switch (block.type) {
    case "text":
      if (typeof block.text === "string") return textContent(block.text, { name, meta });
      break;
    case "image":
    case "audio":
      if (typeof block.data === "string")
        return base64Content(block.data, { name, meta, mediaType: parseText(block.mimeType) });
      break;
    case "resource":
      if (isRecord(block.resource)) return resourceContent(block.resource, `text:${name}`, meta);
      break;
    case "resource_link":
      if (typeof block.uri === "string") return linkContent(block, block.uri, meta);
      break;
  }
  // A block of a kind we do not know is passed on as what it is.
  return jsonContent(block, { name, meta });
}

function blocksContent(blocks: unknown, name: string, meta: Meta): Content {
  if (!Array.isArray(blocks) || blocks.length === 0) return emptyContent({ name, meta });
  if (blocks.length === 1) return blockContent(blocks[0], name, meta);
  return joinParts(
    blocks.map((block) => blockContent(block, name, metaOf(block))),
    { name, meta },
  );
}

function resourceContent(entry: Fields, fallbackUri: string, meta: Meta | undefined): Content {
  const uri = parseText(entry.uri) ?? fallbackUri;
  const fields = { name: nameOf(uri), uri, meta, mediaType: parseText(entry.mimeType) };
  if (typeof entry.text === "string") return textContent(entry.text, fields);
  if (typeof entry.blob === "string") return base64Content(entry.blob, fields);
  return emptyContent(fields);
}

/** A link is the URI itself, as `text/uri-list` (RFC 2483); read it with `read(uri)`. */
function linkContent(block: Fields, uri: string, meta: Meta | undefined): Content {
  return textContent(uri, {
    name: parseText(block.name) ?? nameOf(uri),
    uri,
    title: parseText(block.title),
    description: parseText(block.description),
    mediaType: "text/uri-list",
    meta,
  });
}

function errorText(blocks: unknown): string {
  if (!Array.isArray(blocks)) return "";
  return blocks
    .filter((block) => isRecord(block) && block.type === "text" && typeof block.text === "string")
    .map((block) => block.text)
    .join("\n")
    .trim();
}

function metaOf(block: unknown): Meta | undefined {
  return isRecord(block) && isRecord(block._meta) ? block._meta : undefined;
}

/** The last segment of a URI. */
function nameOf(uri: string): string {
  const path = uri.replace(/[?#].*$/s, "").replace(/\/+$/, "");
  return path.slice(Math.max(path.lastIndexOf("/"), path.indexOf(":")) + 1) || uri;
}

/** MCP takes strings as the arguments of a prompt: another value is sent as JSON, and undefined not at all. */
export function promptArguments(input: unknown): Readonly<Record<string, string>> {
  if (input === undefined || input === null) return {};
  // A prompt with a single value has one argument for it.
  if (!isRecord(input)) return { input: argumentOf(input) };
  const entries = Object.entries(input).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries.map(([name, value]) => [name, argumentOf(value)]));
}

/**
 * The result of `prompts/get`. Messages that follow each other in the same role stay as they are. `meta.mcp` has the other fields, each
 * content the block as it was sent.
 */
export function renderedPrompt(result: unknown, name: string): RenderedPrompt {
  const { messages = [], ...others } = isRecord(result) ? result : {};
  const list = Array.isArray(messages) ? messages.filter(isRecord) : [];
  return {
    messages: list.map((message) => promptMessage(message, name)),
    ...(Object.keys(others).length === 0 ? {} : { meta: { mcp: others } }),
  };
}

/** The result of `completion/complete`. @throws ToolkitError `REMOTE_ERROR` for one without a list of texts */
export function completedValues(result: unknown, server: string): ArgumentValues {
  const { values, total, hasMore } = isRecord(result) && isRecord(result.completion) ? result.completion : {};
  if (!Array.isArray(values) || !values.every((value) => typeof value === "string")) {
    throw new ToolkitError("REMOTE_ERROR", `${server} completed an argument with something that is no list of texts.`, {
      server,
    });
  }
  return boundedValues(values, typeof total === "number" ? total : undefined, hasMore === true);
}

function promptMessage({ role, content }: Readonly<Record<string, unknown>>, name: string): PromptMessage {
  // Some servers send a list of blocks, as messages for sampling have it.
  const blocks = Array.isArray(content) ? content : [content];
  return {
    role: role === "assistant" ? "assistant" : "user",
    content: blocks.map((block) => blockContent(block, name, isRecord(block) ? { mcp: block } : undefined)),
  };
}

function argumentOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

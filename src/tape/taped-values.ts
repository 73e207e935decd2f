import type { ObservedTurn } from "../call/observers.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { errorFromJson, errorToJson } from "../core/error-json.ts";
import { isContent, isResource, type Resource } from "../core/resource.ts";
import { canonicalJson, digest } from "../lib/canonical.ts";
import { isRecord } from "../lib/value.ts";
import { contentFromJson } from "../resource/from-json.ts";
import type { TapeLine } from "./tape-format.ts";
import type { TapeMask } from "./tape-mask.ts";

/** A request to a model as it stands on a tape, its messages whole. */
export interface TapedRequest {
  readonly digest: string;
  readonly messages: readonly unknown[];
  /** The digest of each tool, by alias. */
  readonly tools: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, unknown>>;
}

/**
 * The request of a turn, masked. The same function writes tapes and compares with them.
 *
 * @param rename - changes names in the JSON of the messages that are others in each run
 */
export function tapedRequest(
  { request }: Pick<ObservedTurn, "request">,
  mask: TapeMask,
  rename: (text: string) => string = (text) => text,
): TapedRequest {
  const { prompt, tools: given, abortSignal: _, ...rest } = request;
  const masked = (Array.isArray(prompt) ? prompt : []).map((message) => mask.value(message));
  const messages = JSON.parse(rename(JSON.stringify(masked))) as readonly unknown[];
  const tools = Object.fromEntries(
    (Array.isArray(given) ? given : []).map((tool: { readonly name: string }) => [tool.name, toolDigest(tool)]),
  );
  const settings = mask.described(rest) as Readonly<Record<string, unknown>>;
  return { digest: digest([messages, tools, settings]), messages, tools, settings };
}

const digests = new WeakMap<object, string>();

/** The same definition is the same object from turn to turn. */
function toolDigest(tool: object): string {
  const known = digests.get(tool) ?? digest(tool);
  digests.set(tool, known);
  return known;
}

/** A value of a call as JSON: a Content whole, a resource that is not read by its URI. */
export function tapedValue(value: unknown): unknown {
  if (isContent(value)) return value.toJSON();
  if (isResource(value)) return { kind: "resource", name: value.name, uri: value.uri, mediaType: value.mediaType };
  if (isRecord(value) && Array.isArray(value.messages)) {
    const messages = value.messages.map((message: unknown) =>
      isRecord(message) && Array.isArray(message.content)
        ? { ...message, content: message.content.map(tapedValue) }
        : message,
    );
    return { ...value, messages };
  }
  return value;
}

/** An error as JSON. */
export function tapedError(error: unknown): { readonly message: string } {
  return ToolkitError.is(error) ? (errorToJson(error) as { message: string }) : { message: messageOf(error) };
}

/** The error that was written down. */
export function errorOnTape(error: { readonly message: string; readonly code?: string | undefined }): Error {
  try {
    return errorFromJson({ details: {}, ...error });
  } catch {
    return new Error(error.message);
  }
}

/** The body of an answer: what it took is another each time. */
export function answerBody(content: unknown): unknown {
  if (!isRecord(content)) return content;
  const { text, base64, parts } = content;
  return text ?? base64 ?? (Array.isArray(parts) ? parts.map(answerBody) : undefined);
}

/** A call for people. */
export function callText({ ref, input }: Pick<TapeLine<"call">, "ref" | "input">): string {
  return `${ref} ${canonicalJson(input ?? {})}`;
}

/** The messages of a prompt that were written down. */
export function renderedOnTape(value: unknown): unknown {
  if (!isRecord(value) || !Array.isArray(value.messages)) return value;
  const messages = value.messages.map((message: unknown) =>
    isRecord(message) && Array.isArray(message.content)
      ? { ...message, content: message.content.map((each: unknown) => contentFromJson(each)) }
      : message,
  );
  return { ...value, messages };
}

/** An attachment that was written down; undefined where its content was not. */
export function attachmentOnTape(json: unknown): Resource | undefined {
  const isWhole = isRecord(json) && ["text", "base64", "parts"].some((key) => key in json);
  return isWhole ? contentFromJson(json) : undefined;
}

import type { LanguageModelV4FilePart, LanguageModelV4Prompt, LanguageModelV4TextPart } from "@ai-sdk/provider";
import { callStateOf } from "../../call/call-port.ts";
import { definitionOf } from "../../core/entry.ts";
import { ToolkitError } from "../../core/error.ts";
import type { CallContext, Entry, Prompt, Tool } from "../../core/item.ts";
import type { ModelSettings } from "../../core/model-settings.ts";
import { type PromptRunner, withRunner } from "../../core/prompt-runner.ts";
import type { Content, Resource } from "../../core/resource.ts";
import type { SchemaLike } from "../../core/schema/types.ts";
import { textOf } from "../../resource/content.ts";
import { loadResource } from "../../resource/handle.ts";
import { bytesType, essenceOf, isTextType } from "../../resource/media-type.ts";
import type { Conversation } from "./run-state.ts";

/** The model of a run, its settings, and the form of its answer. */
export interface ModelOptions {
  /** The system prompt. */
  readonly system?: string | undefined;
  /** The schema of the answer. Default: the answer is a text. */
  readonly output?: SchemaLike | undefined;
  /** Its name, or `provider/name`. Default: that of the agent. */
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly thinking?: boolean | undefined;
  /** In tokens. */
  readonly thinkingBudget?: number | undefined;
  readonly settings?: ModelSettings | undefined;
}

/** The options of a request without a prompt, beside its text. */
export interface TextOptions extends ModelOptions {
  /** Names and globs of tools, and tools of the caller's own. Default: none. */
  readonly tools?: readonly (string | Tool)[] | undefined;
  /** An earlier conversation to continue: `conversationOf` gives that of an answer. */
  readonly conversation?: Conversation | undefined;
}

/** The work of one run. */
export interface Task extends ModelOptions {
  /** Of the prompt. */
  readonly ref: string;
  readonly name: string;
  /** The conversation so far. */
  readonly messages: LanguageModelV4Prompt;
  /** Names and globs of tools. Default: none. */
  readonly tools?: readonly string[] | undefined;
  /** Names of tools that the caller wants called in the first turn. Default: none. */
  readonly forced?: readonly string[] | undefined;
  /** Tools of the caller's own, beside the named ones. */
  readonly ownTools?: readonly Tool[] | undefined;
}

/**
 * The task of a prompt: it is rendered, and its attachments are read.
 *
 * @throws ToolkitError `INVALID_INPUT` for a rendering without content; errors of rendering, and of reading an attachment
 */
export async function taskOf(entry: Entry<"prompt">, input: unknown, context: CallContext): Promise<Task> {
  const { item, ref, name } = entry;
  const { system, messages } = await item.render(input, context);
  const written = await Promise.all(
    messages.map(async ({ role, content }) => ({ role, content: await partsOf(content, context) })),
  );
  const asked = written.filter(({ content }) => content.length > 0);
  if (asked.length === 0) throw emptyRequest(`The rendering of ${ref}`);
  const { tools, model, provider, thinking, thinkingBudget, settings } = item;
  const output = definitionOf(entry).outputSchema;
  const forced = callStateOf(context)?.options.forced;
  return {
    ref,
    name,
    system,
    messages: asked,
    tools,
    forced,
    output,
    model,
    provider,
    thinking,
    thinkingBudget,
    settings,
  };
}

/**
 * The task of a text: its attachments, those of the call, are read.
 *
 * @throws ToolkitError `INVALID_INPUT` for a blank text without attachments; errors of reading an attachment
 */
export async function textTask(text: string, options: TextOptions, context: CallContext): Promise<Task> {
  const { conversation, tools = [], output, system, model, provider, thinking, thinkingBudget, settings } = options;
  const { attachments } = context;
  const attached = attachments.length === 0 ? [] : await partsOf(attachments, context);
  if (text.trim() === "" && attached.length === 0) throw emptyRequest("The text");
  return {
    ref: "inline.generate",
    name: "generate",
    messages: [...(conversation?.messages ?? []), { role: "user", content: [{ type: "text", text }, ...attached] }],
    tools: tools.filter((tool) => typeof tool === "string"),
    forced: callStateOf(context)?.options.forced,
    ownTools: tools.filter((tool) => typeof tool !== "string"),
    ...{ output, system, model, provider, thinking, thinkingBudget, settings },
  };
}

/** A prompt for a run without one: called like any other, the run is traced, bounded and in the session of its call. */
export function inlinePrompt(
  { name, output }: { readonly name: string; readonly output?: SchemaLike | undefined },
  run: PromptRunner,
): Prompt {
  return withRunner({ kind: "prompt", name, output, render: async () => ({ messages: [] }) }, run);
}

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** Resources as parts of a message: texts as text, since most providers refuse text files; the rest as files by media type. */
async function partsOf(content: readonly Resource[], context: CallContext): Promise<UserPart[]> {
  const parts = await Promise.all(content.map((resource) => partOf(resource, context)));
  return parts.filter((part) => part.type !== "text" || part.text !== "");
}

async function partOf(resource: Resource, { attachments, signal }: CallContext): Promise<UserPart> {
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

/** A text between tags with its name, so that the model knows where it begins and ends. */
function attachedText(name: string, mediaType: string, text: string): string {
  const quoted = (value: string) => value.replaceAll('"', "'");
  return `<attachment name="${quoted(name)}" type="${quoted(mediaType)}">\n${text}\n</attachment>`;
}

/** Providers refuse an empty request, each with an error of its own. */
function emptyRequest(what: string): ToolkitError<"INVALID_INPUT"> {
  const message = `${what} is empty: there is nothing to ask a model.`;
  return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "", message }] });
}

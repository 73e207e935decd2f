import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { isRecord } from "../../../lib/value.ts";
import { resultText } from "../provider-quirks.ts";
import type { Fields } from "../wire/wire-fields.ts";
import { fileBlock, isAccepted } from "./messages-files.ts";

type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];
type Optioned = { readonly providerOptions?: SharedV4ProviderOptions | undefined };

/** The API accepts as many marks of the cache in a request. */
const maxMarks = 4;

/** Puts the marks of the cache where a request asks for them. */
export class CacheMarks {
  readonly #warnings: SharedV4Warning[];
  #count = 0;

  constructor(warnings: SharedV4Warning[]) {
    this.#warnings = warnings;
  }

  /** The block with the mark of the first of these that asks for one. */
  mark(block: Fields, ...askers: readonly Optioned[]): Fields {
    const asked = askers
      .map(optionsOf)
      .find((each) => each.cacheControl !== undefined || each.cache_control !== undefined);
    if (asked === undefined) return block;
    this.#count += 1;
    if (this.#count <= maxMarks) return { ...block, cache_control: asked.cacheControl ?? asked.cache_control };
    if (this.#count === maxMarks + 1) {
      const details = `A request has at most ${maxMarks} of them; those after it are not sent.`;
      this.#warnings.push({ type: "unsupported", feature: "cacheControl", details });
    }
    return block;
  }
}

/** The options that a caller has for Anthropic alone. */
export function optionsOf({ providerOptions }: Optioned): Fields {
  return providerOptions?.anthropic ?? {};
}

/** The settings of a conversation. */
interface PromptOptions {
  readonly marks: CacheMarks;
  readonly warnings: SharedV4Warning[];
  /** Thoughts of earlier answers are sent back. */
  readonly sendsThoughts: boolean;
}

/** A conversation: its system messages, and turns of user and assistant, each of one message. */
export interface MessagesPrompt {
  readonly system: readonly Fields[];
  readonly messages: readonly Fields[];
}

/** @throws UnsupportedFunctionalityError for a file that the API refuses */
export function messagesPrompt(prompt: LanguageModelV4Prompt, options: PromptOptions): MessagesPrompt {
  const system: Fields[] = [];
  const messages: { readonly role: string; readonly content: Fields[] }[] = [];
  for (const message of prompt) {
    if (message.role === "system") {
      if (message.content !== "") system.push(options.marks.mark({ type: "text", text: message.content }, message));
      continue;
    }
    const role = message.role === "assistant" ? "assistant" : "user";
    const blocks = blocksOf(message, options);
    const last = messages.at(-1);
    if (blocks.length === 0) continue;
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: blocks });
  }
  return {
    system,
    messages: messages.map(({ role, content }, at) => turnOf(role, content, at === messages.length - 1)),
  };
}

/** Results come first; a beginning of the answer that is asked for has no blank at its end. */
function turnOf(role: string, content: readonly Fields[], isLast: boolean): Fields {
  if (role === "user") {
    const results = content.filter(({ type }) => type === "tool_result");
    return { role, content: [...results, ...content.filter(({ type }) => type !== "tool_result")] };
  }
  const end = content.at(-1);
  if (!isLast || end?.type !== "text") return { role, content };
  const text = String(end.text).trimEnd();
  return { role, content: [...content.slice(0, -1), ...(text === "" ? [] : [{ ...end, text }])] };
}

function blocksOf(message: Exclude<LanguageModelV4Message, { role: "system" }>, options: PromptOptions): Fields[] {
  // The mark of a message is that of its last part.
  const askers = (part: Optioned, at: number) => (at === message.content.length - 1 ? [part, message] : [part]);
  switch (message.role) {
    case "user":
      return message.content.flatMap((part, at) =>
        userBlock(part).map((each) => options.marks.mark(each, ...askers(part, at))),
      );
    case "assistant":
      return message.content.flatMap((part, at) => assistantBlock(part, askers(part, at), options));
    case "tool":
      return message.content.flatMap((part, at) =>
        part.type === "tool-result" ? [options.marks.mark(resultBlock(part), ...askers(part, at))] : [],
      );
  }
}

/** The API refuses an empty text. */
function userBlock(part: LanguageModelV4TextPart | LanguageModelV4FilePart): Fields[] {
  if (part.type === "text") return part.text === "" ? [] : [{ type: "text", text: part.text }];
  return [fileBlock(part, optionsOf(part))];
}

/** Parts that other providers made, such as files and calls of their own tools, cannot be sent back. */
function assistantBlock(part: AssistantPart, askers: readonly Optioned[], options: PromptOptions): Fields[] {
  const { marks, warnings, sendsThoughts } = options;
  if (part.type === "text") return part.text === "" ? [] : [marks.mark({ type: "text", text: part.text }, ...askers)];
  if (part.type === "reasoning") return sendsThoughts ? thoughtBlock(part, warnings) : [];
  if (part.type !== "tool-call" || part.providerExecuted === true) return [];
  const input = isRecord(part.input) ? part.input : {};
  return [marks.mark({ type: "tool_use", id: wireId(part.toolCallId), name: part.toolName, input }, ...askers)];
}

/** A thought that Anthropic signed. It refuses any other. */
function thoughtBlock(part: Extract<AssistantPart, { type: "reasoning" }>, warnings: SharedV4Warning[]): Fields[] {
  const { signature, redactedData } = optionsOf(part);
  if (typeof redactedData === "string") return [{ type: "redacted_thinking", data: redactedData }];
  if (typeof signature === "string") return [{ type: "thinking", thinking: part.text, signature }];
  warnings.push({ type: "other", message: "A thought without a signature of Anthropic is not sent back." });
  return [];
}

function resultBlock({ toolCallId, output }: LanguageModelV4ToolResultPart): Fields {
  const isError = output.type.startsWith("error") || output.type === "execution-denied";
  const block = { type: "tool_result", tool_use_id: wireId(toolCallId), content: resultContent(output) };
  return isError ? { ...block, is_error: true } : block;
}

function resultContent(output: LanguageModelV4ToolResultPart["output"]): unknown {
  if (output.type !== "content") return resultText(output);
  return output.value.flatMap((part): Fields[] => {
    if (part.type === "file" && isAccepted(part)) return [fileBlock(part, optionsOf(part))];
    const text = resultText({ type: "content", value: [part] });
    return text === "" ? [] : [{ type: "text", text }];
  });
}

/** The API refuses other characters, which ids of other providers may have. */
function wireId(id: string): string {
  return id.replace(/[^\w-]/g, "_") || "call";
}

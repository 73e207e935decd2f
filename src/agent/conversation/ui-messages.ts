import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { type ErrorCode, errorCatalog } from "../../core/error-catalog.ts";
import { isRecord, present } from "../../lib/value.ts";
import type { AwaitedCall } from "../response/event-writer.ts";
import { type Conversation, isRepairRequest } from "../run/run-state.ts";

/** A message of a conversation for a chat of the AI SDK, one of its `UIMessage`. */
export interface UiMessage {
  /** Unique in the conversation; that of a message stays when others follow. */
  readonly id: string;
  readonly role: "user" | "assistant";
  /** `run`: the id of the suspended run that continues the conversation, for `resume`. */
  readonly metadata?: { readonly run?: string };
  readonly parts: UiPart[];
}

/** A part of a message for a chat of the AI SDK. */
export type UiPart =
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly state?: "done" }
  | { readonly type: "file"; readonly mediaType: string; readonly filename?: string; readonly url: string }
  | { readonly type: "step-start" }
  | { readonly type: "data-pending"; readonly id: string; readonly data: PendingData }
  | UiToolPart;

/** A suspended run, and what it waits for. */
export interface PendingData {
  readonly id: string;
  readonly waitsFor: readonly AwaitedCall[];
}

/** A tool call in a message for a chat of the AI SDK. */
export type UiToolPart = {
  readonly type: "dynamic-tool";
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly providerExecuted?: boolean;
} & UiToolState;

/** The state of a tool call in a message. */
export type UiToolState =
  | { readonly state: "input-available" }
  | {
      readonly state: "approval-requested";
      readonly approval: { readonly id: string; readonly requestReason?: string };
    }
  | { readonly state: "approval-responded"; readonly approval: { readonly id: string; readonly approved: boolean } }
  | { readonly state: "output-available"; readonly output: unknown; readonly preliminary?: boolean }
  | { readonly state: "output-error"; readonly errorText: string };

/** A call of a suspended run that has no result yet. */
export interface UnansweredCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly state: UiToolState;
}

/** A suspended run, as the last part of a conversation. */
export interface WaitingPart {
  readonly run: string;
  readonly waitsFor: readonly AwaitedCall[];
  /** All its messages, those of the conversation before it too. */
  readonly messages: LanguageModelV4Prompt;
  /** The results of its last turn so far. */
  readonly results: readonly LanguageModelV4ToolResultPart[];
  /** The calls that wait, each with those of its sub-agent behind it. */
  readonly calls: readonly UnansweredCall[];
}

/**
 * A conversation as messages for `useChat` of the AI SDK, to show it again: one for each question, and one for each answer with its steps,
 * tool calls and results. Results are as the model got them: of a long one its beginning. Of an error there is the summary of its code.
 *
 * For a conversation that is kept by id use `conversations.uiMessages`, which has the calls that wait too.
 *
 * @example
 * ```ts
 * const messages: UIMessage[] = toUiMessages(conversation);
 * ```
 */
export function toUiMessages({ messages }: Conversation): UiMessage[] {
  return shownMessages(messages);
}

/** The messages of a conversation in which a run waits. */
export function waitingUiMessages({ run, waitsFor, messages, results, calls }: WaitingPart): UiMessage[] {
  const shown = shownMessages([...messages, { role: "tool", content: [...results] }]);
  const last = shown.at(-1);
  const parts = last?.role === "assistant" ? [...last.parts] : [];
  for (const call of calls) {
    const at = callIn(parts, call.toolCallId);
    parts.splice(at < 0 ? parts.length : at, at < 0 ? 0 : 1, toolPart(call, call.state));
  }
  parts.push({ type: "data-pending", id: run, data: { id: run, waitsFor } });
  const id = last?.role === "assistant" ? last.id : messageId(messages.length);
  return [
    ...(last?.role === "assistant" ? shown.slice(0, -1) : shown),
    { id, role: "assistant", metadata: { run }, parts },
  ];
}

function messageId(index: number): string {
  return `message-${index}`;
}

function shownMessages(messages: LanguageModelV4Prompt): UiMessage[] {
  const shown: UiMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const last = shown.at(-1);
    if (message.role === "user") {
      // The text before it did not fit, and is void.
      if (isRepairRequest(message)) dropLastStep(last);
      else shown.push({ id: messageId(index), role: "user", parts: message.content.flatMap(contentPart) });
    } else if (message.role === "assistant") {
      const answer = last?.role === "assistant" ? last : newAnswer(index, shown);
      answer.parts.push({ type: "step-start" }, ...stepParts(message));
    } else if (message.role === "tool" && last !== undefined) {
      addResults(last, message.content);
    }
  }
  return shown.filter(({ parts }) => parts.length > 0);
}

function newAnswer(index: number, shown: UiMessage[]): UiMessage {
  const answer: UiMessage = { id: messageId(index), role: "assistant", parts: [] };
  shown.push(answer);
  return answer;
}

function dropLastStep(answer: UiMessage | undefined): void {
  const at = answer?.parts.findLastIndex(({ type }) => type === "step-start") ?? -1;
  if (at >= 0) answer?.parts.splice(at);
}

type Part = Exclude<LanguageModelV4Message["content"], string>[number];

function contentPart(part: Part): UiPart[] {
  if (part.type === "text" || part.type === "reasoning")
    return part.text === "" ? [] : [{ type: part.type, text: part.text, state: "done" }];
  if (part.type !== "file") return [];
  const { mediaType, filename, data } = part;
  const url = fileUrl(mediaType, data);
  return url === undefined ? [] : [{ type: "file", mediaType, ...present({ filename }), url }];
}

/** The URL of a file in a message; undefined for one that only its provider can read. */
function fileUrl(mediaType: string, data: unknown): string | undefined {
  if (!isRecord(data)) return undefined;
  if (data.type === "url") return String(data.url);
  if (data.type !== "data") return undefined;
  const base64 = data.data instanceof Uint8Array ? Buffer.from(data.data).toString("base64") : String(data.data);
  return `data:${mediaType};base64,${base64}`;
}

function stepParts({ content }: LanguageModelV4Message): UiPart[] {
  if (typeof content === "string") return [];
  const parts: UiPart[] = [];
  for (const part of content) {
    if (part.type === "tool-call") parts.push(toolPart(part, { state: "input-available" }));
    else if (part.type === "tool-result") settle(parts, part);
    else parts.push(...contentPart(part));
  }
  return parts;
}

type NamedCall = Pick<UiToolPart, "toolCallId" | "toolName" | "input"> & {
  readonly providerExecuted?: boolean | undefined;
};

function toolPart({ toolCallId, toolName, input, providerExecuted }: NamedCall, state: UiToolState): UiToolPart {
  return { type: "dynamic-tool", toolCallId, toolName, input, ...present({ providerExecuted }), ...state };
}

function addResults({ parts }: UiMessage, results: readonly Part[] | string): void {
  if (typeof results === "string") return;
  for (const result of results) if (result.type === "tool-result") settle(parts, result);
}

/** The index of a call. Some models use an id again: it is that of the last call. */
function callIn(parts: readonly UiPart[], toolCallId: string): number {
  return parts.findLastIndex((part) => part.type === "dynamic-tool" && part.toolCallId === toolCallId);
}

/** Gives a call its result. */
function settle(parts: UiPart[], { toolCallId, output }: LanguageModelV4ToolResultPart): void {
  const at = callIn(parts, toolCallId);
  const part = parts[at];
  if (part?.type === "dynamic-tool") parts[at] = toolPart(part, stateOf(output));
}

function stateOf(output: LanguageModelV4ToolResultPart["output"]): UiToolState {
  switch (output.type) {
    case "text":
    case "json":
      return { state: "output-available", output: output.value };
    case "error-text":
      return { state: "output-error", errorText: summaryIn(output.value) };
    case "error-json":
      return { state: "output-error", errorText: errorCatalog.TOOL_FAILED.summary };
    case "execution-denied":
      return { state: "output-error", errorText: errorCatalog.DENIED.summary };
    default: {
      const values = output.value.map((part) => (part.type === "text" ? part.text : fileIn(part)));
      return { state: "output-available", output: values.length === 1 ? values[0] : values };
    }
  }
}

/** The text that a model gets of an error may name hosts and paths: a chat gets the summary of its code. */
function summaryIn(text: string): string {
  const code = /^Failed \(([A-Z_]+)\)/.exec(text)?.[1] ?? "";
  const known = Object.hasOwn(errorCatalog, code) ? (code as ErrorCode) : "TOOL_FAILED";
  return errorCatalog[known].summary;
}

function fileIn(part: { readonly type: string; readonly mediaType?: unknown; readonly data?: unknown }): unknown {
  const { mediaType, data } = part;
  return { mediaType, base64: isRecord(data) ? data.data : data };
}

import type { AgentEvent, AgentSource, FinishReason } from "../../core/agent-event.ts";
import type { ToolkitError } from "../../core/error.ts";
import type { Content } from "../../core/resource.ts";
import { present } from "../../lib/value.ts";
import { textOf } from "../../resource/content.ts";
import {
  type AwaitedCall,
  awaitedCalls,
  type ErrorText,
  type EventWriter,
  frame,
  isJsonContent,
  shownValue,
} from "./event-writer.ts";

/** A chunk of the UI message stream of the AI SDK, version 1 of the protocol. */
type Chunk = { readonly type: string } & Readonly<Record<string, unknown>>;
type ToolResult = AgentEvent<"toolResult">;

const done = "data: [DONE]\n\n";

/**
 * Sends a run as the UI message stream that `useChat` reads. Runs of sub-agents are the tool calls that they are, without their own events but
 * for the calls that wait: a person has to see what is asked.
 */
export class UiMessageWriter implements EventWriter {
  readonly headers = { "x-vercel-ai-ui-message-stream": "v1" };
  readonly #errorText: ErrorText;
  /** Calls of this stream: another one belongs to a message of before, which has waited for it. */
  readonly #called = new Set<string>();
  /** The calls that sub-agents make in this stream, by their ids in it. One that is not among them was shown when it began to wait. */
  readonly #inner = new Map<string, AgentEvent<"toolCall">>();
  /** The id of the run whose events are sent. */
  #run: string | undefined;
  #step: number | undefined;
  #open: { readonly kind: "text" | "reasoning"; readonly id: string } | undefined;
  #count = 0;
  #hasText = false;
  #finish: AgentEvent<"finish"> | undefined;

  constructor(errorText: ErrorText, run: string | undefined) {
    this.#errorText = errorText;
    this.#run = run;
  }

  begin(): string {
    return written([{ type: "start" }]);
  }

  event(event: AgentEvent): string {
    this.#run ??= event.run;
    return written(event.run === this.#run ? this.#chunks(event) : this.#innerChunks(event));
  }

  answer(content: Content): string {
    const { finishReason, usage, steps, run } = this.#finish ?? {};
    const messageMetadata = present({ run, usage, steps });
    return `${written([
      ...this.#close(),
      ...this.#answerParts(content),
      ...this.#endStep(),
      { type: "finish", finishReason: reasonOf(finishReason), messageMetadata },
    ])}${done}`;
  }

  pending(error: ToolkitError<"PENDING">): string {
    const data: { readonly id: string; readonly waitsFor: readonly AwaitedCall[] } = {
      id: error.details.id,
      waitsFor: awaitedCalls(error),
    };
    return `${written([
      ...this.#close(),
      { type: "data-pending", id: data.id, data },
      ...this.#endStep(),
      { type: "finish", finishReason: "tool-calls", messageMetadata: { run: data.id } },
    ])}${done}`;
  }

  failure(error: ToolkitError): string {
    return `${written([...this.#close(), ...this.#endStep(), { type: "error", errorText: this.#errorText(error) }])}${done}`;
  }

  aborted(): string {
    return `${written([...this.#close(), { type: "abort" }])}${done}`;
  }

  #chunks(event: AgentEvent): readonly Chunk[] {
    switch (event.type) {
      case "textDelta":
        return this.#text(event);
      case "reasoningDelta":
        return [...this.#begin(event.step), ...this.#delta("reasoning", event.delta)];
      case "step":
        return [...this.#begin(event.step), ...this.#close()];
      case "toolCall": {
        this.#called.add(event.id);
        return [...this.#begin(event.step), calledChunk(event)];
      }
      case "toolResult":
        return [this.#result(event)];
      case "source":
        return [...this.#begin(event.step), sourceChunk(event)];
      case "repair":
        this.#hasText = false;
        return [...this.#close(), { type: "reset-step" }];
      case "finish":
        this.#finish = event;
        return [];
      default:
        return [];
    }
  }

  /** A call of a sub-agent that waits, and its result once it has waited. Ids of calls are unique in one run alone. */
  #innerChunks(event: AgentEvent): readonly Chunk[] {
    if (event.type !== "toolCall" && event.type !== "toolResult") return [];
    const id = `${event.run}/${event.id}`;
    if (event.type === "toolCall") {
      this.#inner.set(id, event);
      return [];
    }
    const call = this.#inner.get(id);
    this.#inner.delete(id);
    const isWaiting = event.status === "pending";
    if (call === undefined) return isWaiting ? [] : [this.#result({ ...event, id })];
    return isWaiting ? [calledChunk({ ...call, id }), this.#result({ ...event, id })] : [];
  }

  #text({ step, delta }: AgentEvent<"textDelta">): readonly Chunk[] {
    const begun = this.#begin(step);
    this.#hasText = true;
    return [...begun, ...this.#delta("text", delta)];
  }

  #begin(step: number): readonly Chunk[] {
    if (step === this.#step) return [];
    const ended = this.#endStep();
    this.#step = step;
    this.#hasText = false;
    return [...ended, { type: "start-step" }];
  }

  #endStep(): readonly Chunk[] {
    if (this.#step === undefined) return [];
    this.#step = undefined;
    return [...this.#close(), { type: "finish-step" }];
  }

  #delta(kind: "text" | "reasoning", delta: string): readonly Chunk[] {
    if (this.#open?.kind === kind) return [{ type: `${kind}-delta`, id: this.#open.id, delta }];
    const ended = this.#close();
    this.#count += 1;
    const id = `${kind}-${this.#count}`;
    this.#open = { kind, id };
    return [...ended, { type: `${kind}-start`, id }, { type: `${kind}-delta`, id, delta }];
  }

  #close(): readonly Chunk[] {
    const open = this.#open;
    this.#open = undefined;
    return open === undefined ? [] : [{ type: `${open.kind}-end`, id: open.id }];
  }

  #result({ id: toolCallId, status, content, error }: ToolResult): Chunk {
    if (status === "ok" && content !== undefined)
      return { type: "tool-output-available", toolCallId, output: shownValue(content), dynamic: true };
    if (status === "pending" && error?.code === "PENDING") return this.#waiting(toolCallId, error);
    // A call that a person has denied has asked in an earlier message; one that a policy denies has never asked.
    if (status === "denied" && !this.#called.has(toolCallId)) return { type: "tool-output-denied", toolCallId };
    const errorText = error === undefined ? "It gave no result." : this.#errorText(error);
    return { type: "tool-output-error", toolCallId, errorText, dynamic: true };
  }

  #waiting(toolCallId: string, error: ToolkitError): Chunk {
    const { id, message, metadata } = (error as ToolkitError<"PENDING">).details;
    const isSubAgent = metadata?.run !== undefined;
    if (error.phase === "policy" && !isSubAgent)
      return { type: "tool-approval-request", toolCallId, approvalId: id, reason: message };
    const output = { status: "pending", id, message };
    const chunk = { type: "tool-output-available", toolCallId, output, dynamic: true };
    // A chat sends no decision while a result is preliminary, and what a sub-agent waits for is asked beside it.
    return isSubAgent ? chunk : { ...chunk, preliminary: true };
  }

  /** The answer beside what was streamed: a JSON value, files, and the text of a tool that took control. */
  #answerParts(content: Content): readonly Chunk[] {
    if (content.parts !== undefined) return content.parts.flatMap((part) => this.#answerParts(part));
    if (isJsonContent(content)) return [{ type: "data-answer", data: shownValue(content) }];
    const text = textOf(content);
    if (text === undefined) {
      const { mediaType } = content;
      return [{ type: "file", mediaType, url: `data:${mediaType};base64,${content.toJSON().base64 ?? ""}` }];
    }
    return this.#hasText || text === "" ? [] : [...this.#delta("text", text), ...this.#close()];
  }
}

function written(chunks: readonly Chunk[]): string {
  return chunks.map((chunk) => frame(chunk)).join("");
}

function calledChunk({ id: toolCallId, name: toolName, input }: AgentEvent<"toolCall">): Chunk {
  return { type: "tool-input-available", toolCallId, toolName, input, dynamic: true };
}

function sourceChunk({ sourceType, id: sourceId, url = "", title, mediaType, filename }: AgentSource): Chunk {
  if (sourceType === "url") return { type: "source-url", sourceId, url, ...present({ title }) };
  const fields = present({ filename });
  return { type: "source-document", sourceId, mediaType: mediaType ?? "", title: title ?? "", ...fields };
}

function reasonOf(reason: FinishReason | undefined): string {
  if (reason === undefined || reason === "control") return "stop";
  return reason === "interrupted" ? "other" : reason;
}

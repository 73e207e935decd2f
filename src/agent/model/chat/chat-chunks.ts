import type { LanguageModelV4StreamPart, SharedV4Warning } from "@ai-sdk/provider";
import { isRecord } from "../../../lib/value.ts";
import { IncompleteAnswer } from "../part-reader.ts";
import { type AnswerHead, formError, reportedError } from "../wire/answer-errors.ts";
import type { WireForm } from "../wire/answer-reader.ts";
import { type Fields, textIn } from "../wire/wire-fields.ts";
import {
  callsIn,
  finishReasonOf,
  isRefusal,
  metadataOf,
  predictionOf,
  rawUsageIn,
  type SpokenPiece,
  spokenIn,
  usageOf,
} from "./chat-answer.ts";
import { type ChatCallLimits, ChatCalls } from "./chat-calls.ts";

/** The answers that a request wants. */
export interface ChunkOptions {
  /** The name under which metadata is kept. */
  readonly provider: string;
  readonly warnings: readonly SharedV4Warning[];
  /** Emit each chunk as it is, too. */
  readonly includeRaw: boolean;
  readonly limits: ChatCallLimits;
}

/** Turns the chunks of a streamed answer into parts of the port. */
export class ChatChunks implements WireForm {
  readonly api = "Chat Completions";
  readonly #options: ChunkOptions;
  readonly #head: AnswerHead;
  readonly #calls: ChatCalls;
  /** The piece that is open, and the number of pieces so far. */
  #open: SpokenPiece["type"] | undefined;
  #pieces = 0;
  #hasMetadata = false;
  #refused = false;
  #finish: string | undefined;
  #usage: Fields | undefined;
  /** Its end was emitted. */
  isOver = false;

  constructor(head: AnswerHead, options: ChunkOptions) {
    this.#head = head;
    this.#options = options;
    this.#calls = new ChatCalls(options.provider, options.limits);
  }

  /** The first part. */
  start(parts: LanguageModelV4StreamPart[]): void {
    parts.push({ type: "stream-start", warnings: [...this.#options.warnings] });
  }

  /** Takes the data of an event. @throws APICallError for what is no chunk, and beyond the limits */
  add(type: string, data: string, parts: LanguageModelV4StreamPart[]): void {
    if (this.isOver || data === "") return;
    if (data.startsWith("[DONE]")) {
      this.end(parts, true);
      return;
    }
    const value = this.#parsed(type, data);
    if (this.#options.includeRaw) parts.push({ type: "raw", rawValue: value });
    const error = reportedError(value, this.#head, type === "error");
    if (error !== undefined) this.#fail(error, parts);
    else if (isRecord(value)) this.#addChunk(value, parts);
  }

  /** Takes an answer that came whole. @throws APICallError where it is none */
  addWhole(text: string, parts: LanguageModelV4StreamPart[]): void {
    const value = this.#parsed("message", text);
    if (this.#options.includeRaw) parts.push({ type: "raw", rawValue: value });
    const error = reportedError(value, this.#head, false);
    if (error !== undefined) {
      this.#fail(error, parts);
      return;
    }
    const choice = choiceIn(value);
    const message = isRecord(choice?.message) ? choice.message : undefined;
    if (!isRecord(value) || message === undefined) throw formError(this.#head, "the answer has no choice", text);
    // Calls of one list need no correlation, and may share what identifies them in a stream.
    const tool_calls = callsIn(message).map((call, index) => ({ ...call, index }));
    this.#addChunk({ ...value, choices: [{ ...choice, delta: { ...message, tool_calls } }] }, parts);
    this.end(parts, true);
  }

  /** The stream has ended. @throws IncompleteAnswer where the answer has not */
  end(parts: LanguageModelV4StreamPart[], isComplete = false): void {
    if (this.isOver) return;
    if (!isComplete && this.#finish === undefined) throw new IncompleteAnswer();
    this.#close(parts);
    this.#calls.end(parts);
    const finishReason = finishReasonOf(this.#finish, { refused: this.#refused, calls: this.#calls.count });
    const usage = usageOf(this.#usage);
    const providerMetadata = predictionOf(this.#usage, this.#options.provider);
    const metadata = providerMetadata === undefined ? {} : { providerMetadata };
    parts.push({ type: "finish", finishReason, usage, ...metadata });
    this.isOver = true;
  }

  #addChunk(chunk: Fields, parts: LanguageModelV4StreamPart[]): void {
    if (!this.#hasMetadata) this.#addMetadata(chunk, parts);
    this.#usage = rawUsageIn(chunk) ?? this.#usage;
    const choice = choiceIn(chunk);
    if (choice === undefined) return;
    // Some servers send an empty one until the end.
    this.#finish = textIn(choice.finish_reason) || this.#finish;
    const { delta } = choice;
    if (!isRecord(delta)) return;
    for (const { type, text } of spokenIn(delta)) this.#speak(type, text, parts);
    this.#refused ||= isRefusal(delta);
    const calls = callsIn(delta);
    if (calls.length === 0) return;
    if (this.#open === "reasoning") this.#close(parts);
    for (const call of calls) this.#calls.add(call, parts);
  }

  #addMetadata(chunk: Fields, parts: LanguageModelV4StreamPart[]): void {
    const metadata = metadataOf(chunk);
    this.#hasMetadata = Object.keys(metadata).length > 0;
    if (this.#hasMetadata) parts.push({ type: "response-metadata", ...metadata });
  }

  #speak(type: SpokenPiece["type"], delta: string, parts: LanguageModelV4StreamPart[]): void {
    if (this.#open !== type) {
      this.#close(parts);
      this.#open = type;
      this.#pieces += 1;
      parts.push({ type: `${type}-start`, id: this.#id(type) });
    }
    parts.push({ type: `${type}-delta`, id: this.#id(type), delta });
  }

  #close(parts: LanguageModelV4StreamPart[]): void {
    if (this.#open !== undefined) parts.push({ type: `${this.#open}-end`, id: this.#id(this.#open) });
    this.#open = undefined;
  }

  #id(type: SpokenPiece["type"]): string {
    return `${type}-${this.#pieces - 1}`;
  }

  #fail(error: unknown, parts: LanguageModelV4StreamPart[]): void {
    parts.push({ type: "error", error });
    const finishReason = { unified: "error" as const, raw: undefined };
    parts.push({ type: "finish", finishReason, usage: usageOf(this.#usage) });
    this.isOver = true;
  }

  #parsed(type: string, data: string): unknown {
    try {
      return JSON.parse(data);
    } catch {
      // An error may be a plain text.
      if (type === "error") return data;
      throw formError(this.#head, "the answer is not in the form of Chat Completions", data);
    }
  }
}

function choiceIn(value: unknown): Fields | undefined {
  const choices = isRecord(value) ? value.choices : undefined;
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isRecord(first) ? first : undefined;
}

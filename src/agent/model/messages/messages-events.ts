import { randomUUID } from "node:crypto";
import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata, SharedV4Warning } from "@ai-sdk/provider";
import { isRecord } from "../../../lib/value.ts";
import { IncompleteAnswer } from "../part-reader.ts";
import { type AnswerHead, formError, reportedError } from "../wire/answer-errors.ts";
import type { WireForm } from "../wire/answer-reader.ts";
import { countIn, type Fields, textIn } from "../wire/wire-fields.ts";
import type { WireAnswerOptions } from "../wire/wire-model.ts";
import { addUsage, type BlockKind, blockKind, messagesUsage, stopReasonOf } from "./messages-answer.ts";

type Part = LanguageModelV4StreamPart;

/** The answers that a request wants. */
interface EventOptions extends WireAnswerOptions {
  readonly warnings: readonly SharedV4Warning[];
  /** The tool whose arguments are the text of the answer. */
  readonly answerTool: string | undefined;
}

/** A block of an answer that has begun. */
interface Block {
  readonly kind: BlockKind;
  readonly id: string;
  readonly name: string;
  /** The arguments of a call so far. */
  input: string;
  signature: string;
}

/**
 * Turns the events of Anthropic's Messages into parts of the port.
 *
 * @see https://docs.claude.com/en/docs/build-with-claude/streaming
 */
export class MessagesEvents implements WireForm {
  readonly api = "Anthropic Messages";
  isOver = false;
  readonly #head: AnswerHead;
  readonly #options: EventOptions;
  /** The open ones, by index. */
  readonly #blocks = new Map<number, Block>();
  #begun = 0;
  #calls = 0;
  #characters = 0;
  #held = "";
  #isAnswered = false;
  #stop: string | undefined;
  #stopSequence: string | undefined;
  #usage: Record<string, number> = {};

  constructor(head: AnswerHead, options: EventOptions) {
    this.#head = head;
    this.#options = options;
  }

  start(parts: Part[]): void {
    parts.push({ type: "stream-start", warnings: [...this.#options.warnings] });
  }

  add(type: string, data: string, parts: Part[]): void {
    if (this.isOver || data === "") return;
    const event = this.#parsed(type, data, parts);
    if (isRecord(event)) this.#take(event, textIn(event.type) || type, parts);
  }

  addWhole(text: string, parts: Part[]): void {
    const message = this.#parsed("message", text, parts);
    if (this.isOver) return;
    if (!isRecord(message) || !Array.isArray(message.content))
      throw formError(this.#head, "the answer has no content", text);
    this.#begin(message, parts);
    for (const [index, block] of message.content.entries()) {
      this.#open(index, block, parts);
      this.#close(index, parts);
    }
    this.#takeEnd(message);
    this.#finish(parts);
  }

  end(parts: Part[]): void {
    if (this.isOver) return;
    if (this.#stop === undefined) throw new IncompleteAnswer();
    this.#finish(parts);
  }

  #take(event: Fields, type: string, parts: Part[]): void {
    const index = countIn(event.index) ?? 0;
    switch (type) {
      case "message_start":
        if (isRecord(event.message)) this.#begin(event.message, parts);
        break;
      case "content_block_start":
        this.#open(index, event.content_block, parts);
        break;
      case "content_block_delta":
        if (isRecord(event.delta)) this.#extend(index, event.delta, parts);
        break;
      case "content_block_stop":
        this.#close(index, parts);
        break;
      case "message_delta":
        if (isRecord(event.delta)) this.#takeEnd(event.delta);
        addUsage(this.#usage, event.usage);
        break;
      case "message_stop":
        this.#finish(parts);
        break;
      case "ping":
        // One is enough: it says that the server lives.
        if (parts.length === 0) parts.push({ type: "ping" });
        break;
      // Events that come with a later version of the API.
      default:
    }
  }

  #begin({ id, model, usage }: Fields, parts: Part[]): void {
    addUsage(this.#usage, usage);
    const metadata = {
      ...(textIn(id) === "" ? {} : { id: textIn(id) }),
      ...(textIn(model) === "" ? {} : { modelId: textIn(model) }),
    };
    if (Object.keys(metadata).length > 0) parts.push({ type: "response-metadata", ...metadata });
  }

  #open(index: number, given: unknown, parts: Part[]): void {
    this.#close(index, parts);
    const fields = isRecord(given) ? given : {};
    const { limits, answerTool } = this.#options;
    this.#begun += 1;
    if (this.#begun > limits.maxCalls) throw this.#beyond(`more than ${limits.maxCalls} blocks`);
    const kind = blockKind(fields, answerTool);
    const id = kind === "call" ? textIn(fields.id) || `call-${randomUUID()}` : `${kind}-${this.#begun - 1}`;
    const block: Block = { kind, id, name: textIn(fields.name).trim(), input: "", signature: "" };
    this.#blocks.set(index, block);
    if (kind === "call") {
      this.#calls += 1;
      parts.push({ type: "tool-input-start", id, toolName: block.name });
    } else if (kind === "text" || kind === "answer") parts.push({ type: "text-start", id });
    else if (kind === "reasoning") {
      const redactedData = fields.type === "redacted_thinking" ? textIn(fields.data) : undefined;
      const metadata = redactedData === undefined ? {} : { providerMetadata: { anthropic: { redactedData } } };
      parts.push({ type: "reasoning-start", id, ...metadata });
    }
    this.#isAnswered ||= kind === "answer";
    // A block that comes whole.
    this.#speak(block, kind === "reasoning" ? textIn(fields.thinking) : textIn(fields.text), parts);
    block.signature = textIn(fields.signature);
    const { input } = fields;
    if (isRecord(input) && Object.keys(input).length > 0) this.#argue(block, this.#jsonOf(input), parts);
  }

  #extend(index: number, delta: Fields, parts: Part[]): void {
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    const { type } = delta;
    if (type === "text_delta") this.#speak(block, textIn(delta.text), parts);
    else if (type === "thinking_delta") this.#speak(block, textIn(delta.thinking), parts);
    else if (type === "signature_delta") block.signature += textIn(delta.signature);
    else if (type === "input_json_delta") this.#argue(block, textIn(delta.partial_json), parts);
  }

  #speak({ kind, id }: Block, delta: string, parts: Part[]): void {
    if (delta === "") return;
    if (kind === "held") this.#held += delta;
    else if (kind === "text" || kind === "reasoning") parts.push({ type: `${kind}-delta`, id, delta });
  }

  #argue(block: Block, delta: string, parts: Part[]): void {
    const { kind, id } = block;
    if (delta === "" || (kind !== "call" && kind !== "answer")) return;
    const { maxArguments } = this.#options.limits;
    this.#characters += delta.length;
    if (this.#characters > maxArguments) throw this.#beyond(`arguments of more than ${maxArguments} characters`);
    block.input += delta;
    parts.push({ type: kind === "answer" ? "text-delta" : "tool-input-delta", id, delta });
  }

  #close(index: number, parts: Part[]): void {
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    this.#blocks.delete(index);
    const { kind, id, name, signature } = block;
    if (kind === "answer" && block.input === "") this.#argue(block, "{}", parts);
    if (kind === "text" || kind === "answer") parts.push({ type: "text-end", id });
    else if (kind === "reasoning") {
      const metadata = signature === "" ? {} : { providerMetadata: { anthropic: { signature } } };
      parts.push({ type: "reasoning-end", id, ...metadata });
    } else if (kind === "call") {
      parts.push({ type: "tool-input-end", id });
      parts.push({ type: "tool-call", toolCallId: id, toolName: name, input: block.input || "{}" });
    }
  }

  #takeEnd({ stop_reason: reason, stop_sequence: sequence }: Fields): void {
    this.#stop = textIn(reason) || this.#stop;
    this.#stopSequence = textIn(sequence) || this.#stopSequence;
  }

  #finish(parts: Part[]): void {
    for (const index of [...this.#blocks.keys()]) this.#close(index, parts);
    if (!this.#isAnswered && this.#held !== "") {
      const id = `text-${this.#begun}`;
      parts.push({ type: "text-start", id }, { type: "text-delta", id, delta: this.#held }, { type: "text-end", id });
    }
    const stopSequence = this.#stopSequence;
    const metadata: { providerMetadata?: SharedV4ProviderMetadata } =
      stopSequence === undefined ? {} : { providerMetadata: { anthropic: { stopSequence } } };
    const finishReason = stopReasonOf(this.#stop, this.#calls > 0);
    parts.push({ type: "finish", finishReason, usage: messagesUsage(this.#usage), ...metadata });
    this.isOver = true;
  }

  /** The value of an event; the parts of an error are added. */
  #parsed(type: string, data: string, parts: Part[]): unknown {
    let value: unknown = data;
    try {
      value = JSON.parse(data);
    } catch {
      // An error may be a plain text.
      if (type !== "error") throw formError(this.#head, `the answer is not in the form of ${this.api}`, data);
    }
    if (this.#options.includeRaw) parts.push({ type: "raw", rawValue: value });
    const isError = type === "error" || (isRecord(value) && value.type === "error");
    const error = reportedError(value, this.#head, isError);
    if (error === undefined) return value;
    parts.push({ type: "error", error });
    parts.push({
      type: "finish",
      finishReason: { unified: "error", raw: undefined },
      usage: messagesUsage(this.#usage),
    });
    this.isOver = true;
    return undefined;
  }

  #jsonOf(input: Fields): string {
    try {
      return JSON.stringify(input);
    } catch {
      throw this.#beyond("arguments that are nested too deep");
    }
  }

  #beyond(what: string): Error {
    return formError(this.#head, `the answer has ${what}`);
  }
}

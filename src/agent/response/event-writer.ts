import type { AgentEvent } from "../../core/agent-event.ts";
import type { ToolkitError } from "../../core/error.ts";
import { errorCatalog } from "../../core/error-catalog.ts";
import type { Content } from "../../core/resource.ts";
import { parseJson } from "../../lib/nesting.ts";
import { isRecord, present } from "../../lib/value.ts";
import { textOf } from "../../resource/content.ts";
import { essenceOf, isJsonType } from "../../resource/media-type.ts";

/** Writes the events of a run in one form, as Server-Sent Events. */
export interface EventWriter {
  /** Of the response. */
  readonly headers: Readonly<Record<string, string>>;
  begin(): string;
  event(event: AgentEvent): string;
  answer(content: Content): string;
  /** The run waits for approvals, or for work elsewhere. */
  pending(error: ToolkitError<"PENDING">): string;
  failure(error: ToolkitError): string;
  aborted(): string;
}

/** The text of an error for a user. */
export type ErrorText = (error: ToolkitError) => string;

/** The summary of the code: the message may name paths, hosts and what a server wrote. */
export const summaryOf: ErrorText = ({ code }) => errorCatalog[code].summary;

/** A call that a suspended run waits for, for its user. */
export interface AwaitedCall {
  /** To resolve or complete it by. */
  readonly id: string;
  readonly tool: string;
  readonly reason: string;
  readonly message: string;
}

/** The calls that the run of an error waits for. */
export function awaitedCalls({ details }: ToolkitError<"PENDING">): readonly AwaitedCall[] {
  const waitsFor: unknown = details.metadata?.waitsFor;
  if (!Array.isArray(waitsFor)) return [];
  return waitsFor
    .filter(isRecord)
    .map(({ id, tool, reason, message }) => ({ id, tool, reason, message })) as AwaitedCall[];
}

/** A result for a browser: a text, a JSON value, the parts of several, a file as base64. */
export function shownValue(content: Content): unknown {
  if (content.parts !== undefined) return content.parts.map(shownValue);
  const text = textOf(content);
  if (text === undefined) return { mediaType: content.mediaType, base64: content.toJSON().base64 ?? "" };
  return isJsonContent(content) ? parseJson(text) : text;
}

/** True for a JSON value. */
export function isJsonContent(content: Content): boolean {
  return content.parts === undefined && isJsonType(essenceOf(content.mediaType)) && textOf(content) !== undefined;
}

/** One Server-Sent Event. JSON has no raw line break, so its data is one line. */
export function frame(data: unknown, event?: string): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}data: ${JSON.stringify(data)}\n\n`;
}

/** An error as it is sent. */
export interface SentError {
  readonly code: string;
  /** For users: the text of `errorText`. */
  readonly message: string;
}

/** Sends each event as it is, with its type as the name, and the outcome last: `answer`, `pending`, `error` or `abort`. */
export class PlainWriter implements EventWriter {
  readonly headers = {};
  readonly #errorText: ErrorText;

  constructor(errorText: ErrorText) {
    this.#errorText = errorText;
  }

  begin(): string {
    return "";
  }

  event(event: AgentEvent): string {
    if (event.type !== "toolResult") return frame(event, event.type);
    const { content, error, ...fields } = event;
    const sent = { content: content && shownValue(content), error: error && this.#sent(error) };
    return frame({ ...fields, ...present(sent) }, event.type);
  }

  answer(content: Content): string {
    const { run, finishReason } = isRecord(content.meta) ? content.meta : {};
    const { mediaType } = content;
    return frame({ type: "answer", run, finishReason, mediaType, content: shownValue(content) }, "answer");
  }

  pending(error: ToolkitError<"PENDING">): string {
    return frame({ type: "pending", id: error.details.id, waitsFor: awaitedCalls(error) }, "pending");
  }

  failure(error: ToolkitError): string {
    return frame({ type: "error", ...this.#sent(error) }, "error");
  }

  aborted(): string {
    return frame({ type: "abort" }, "abort");
  }

  #sent(error: ToolkitError): SentError {
    return { code: error.code, message: this.#errorText(error) };
  }
}

import type { AgentEvent } from "../../core/agent-event.ts";
import type { ToolkitError } from "../../core/error.ts";
import { errorCatalog } from "../../core/error-catalog.ts";
import type { Content } from "../../core/resource.ts";
import { parseJson } from "../../lib/nesting.ts";
import { isRecord } from "../../lib/value.ts";
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
export interface PendingCall {
  /** To resolve or complete it by. */
  readonly id: string;
  readonly tool: string;
  readonly reason: string;
  readonly message: string;
}

/** The calls that the run of an error waits for. */
export function pendingCalls({ details }: ToolkitError<"PENDING">): readonly PendingCall[] {
  const waitsFor: unknown = details.metadata?.waitsFor;
  if (!Array.isArray(waitsFor)) return [];
  return waitsFor
    .filter(isRecord)
    .map(({ id, tool, reason, message }) => ({ id, tool, reason, message })) as PendingCall[];
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

import type { AgentEvent } from "../../core/agent-event.ts";
import type { ToolkitError } from "../../core/error.ts";
import type { Content } from "../../core/resource.ts";
import { isRecord, present } from "../../lib/value.ts";
import { type ErrorText, type EventWriter, frame, pendingCalls, shownValue } from "./event-writer.ts";

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
    return frame({ type: "pending", id: error.details.id, waitsFor: pendingCalls(error) }, "pending");
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

import type { UnderlyingSource } from "node:stream/web";
import type { AgentEvent, AgentEventType } from "../../core/agent-event.ts";
import { ToolkitError } from "../../core/error.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import type { Content } from "../../core/resource.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { type ErrorText, type EventWriter, PlainWriter, summaryOf } from "./event-writer.ts";
import { UiMessageWriter } from "./ui-message-writer.ts";

/** Options of a stream as an HTTP response. */
export interface StreamResponseOptions {
  /**
   * - `events`: the events of the run, and its outcome
   * - `ai-sdk`: the UI message stream of the AI SDK (version 1 of the protocol), which `useChat` reads
   *
   * Default `events`.
   */
  readonly format?: "events" | "ai-sdk" | undefined;
  /** The types of events that are sent, such as all but `reasoningDelta` and `usage`. Default: all. */
  readonly events?: readonly AgentEventType[] | undefined;
  /** The text of an error for the user. Default: the summary of its code, since a message may name hosts, paths and what a server wrote. */
  readonly errorText?: ((error: ToolkitError) => string) | undefined;
  /** Interval of comments that keep a silent connection open, in milliseconds. Default 15,000. */
  readonly keepAliveMs?: number | undefined;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const optionNames: OptionNames<StreamResponseOptions> = {
  format: true,
  events: true,
  errorText: true,
  keepAliveMs: true,
  headers: true,
};

/** Proxies must neither keep the events back nor change them. */
const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** The events of a run and its answer, to be read once. */
export interface ReadableRun {
  /** Undefined for one that has only begun: its first event has it. */
  readonly id: string | undefined;
  readonly events: AsyncIterator<AgentEvent, undefined>;
  readonly result: Promise<Content>;
  readonly clock: Clock;
}

/**
 * A run as an HTTP response of Server-Sent Events. The run goes no faster than the body is read; where the reader goes away it is aborted.
 *
 * @throws ToolkitError `INVALID_CONFIG`
 */
export function streamResponse(run: ReadableRun, options: StreamResponseOptions): Response {
  assertOptionNames(options, optionNames, "of toResponse");
  const { format = "events", events, errorText = summaryOf, keepAliveMs = 15_000, headers } = options;
  if (format !== "events" && format !== "ai-sdk") throw invalidOption("format", '"events" or "ai-sdk"', format);
  if (events !== undefined && !Array.isArray(events))
    throw invalidOption("events", "a list of types of events", events);
  if (typeof errorText !== "function") throw invalidOption("errorText", "a function", errorText);
  if (!(Number.isFinite(keepAliveMs) && keepAliveMs > 0))
    throw invalidOption("keepAliveMs", "a finite number above 0", keepAliveMs);
  const safeText = guarded(errorText);
  const writer = format === "ai-sdk" ? new UiMessageWriter(safeText, run.id) : new PlainWriter(safeText);
  const types = events === undefined ? undefined : new Set(events);
  // A client of the AI SDK fails on a result without its call.
  if (format === "ai-sdk" && types?.has("toolCall") === false) types.delete("toolResult");
  const body = new ReadableStream(new RunBody(run, writer, { types, keepAliveMs }), { highWaterMark: 1 });
  return new Response(body, { headers: { ...streamHeaders, ...writer.headers, ...headers } });
}

/** An error in the text of an error would lose the error. */
function guarded(errorText: ErrorText): ErrorText {
  return (error) => {
    try {
      return String(errorText(error));
    } catch {
      return summaryOf(error);
    }
  };
}

interface BodyOptions {
  readonly types: ReadonlySet<AgentEventType> | undefined;
  readonly keepAliveMs: number;
}

/** The body of a response, which is read event by event. */
class RunBody implements UnderlyingSource<Uint8Array> {
  readonly #run: ReadableRun;
  readonly #writer: EventWriter;
  readonly #options: BodyOptions;
  readonly #encoder = new TextEncoder();
  #timer: Timer | undefined;
  #isQuiet = true;

  constructor(run: ReadableRun, writer: EventWriter, options: BodyOptions) {
    this.#run = run;
    this.#writer = writer;
    this.#options = options;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const begin = this.#writer.begin();
    if (begin !== "") controller.enqueue(this.#encoder.encode(begin));
    this.#keepAlive(controller);
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    for (;;) {
      const { text, isLast } = await this.#next();
      if (isLast) this.#timer?.cancel();
      if (text !== "") controller.enqueue(this.#encoder.encode(text));
      this.#isQuiet = false;
      if (isLast) return controller.close();
      if (text !== "") return;
    }
  }

  /** The reader has gone away: the run is aborted. */
  async cancel(): Promise<void> {
    this.#timer?.cancel();
    await this.#run.events.return?.();
  }

  async #next(): Promise<{ readonly text: string; readonly isLast: boolean }> {
    const { types } = this.#options;
    try {
      const { done, value } = await this.#run.events.next();
      if (done === true) return { text: this.#writer.answer(await this.#run.result), isLast: true };
      const isSent = types === undefined || types.has(value.type);
      return { text: isSent ? this.#writer.event(value) : "", isLast: false };
    } catch (error) {
      return { text: this.#outcome(error), isLast: true };
    }
  }

  #outcome(error: unknown): string {
    if (ToolkitError.is(error, "PENDING")) return this.#writer.pending(error);
    return ToolkitError.is(error) ? this.#writer.failure(error) : this.#writer.aborted();
  }

  /** A comment for each interval without an event; none while earlier ones are unread. */
  #keepAlive(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#timer = this.#run.clock.setTimer(() => {
      if (this.#isQuiet && (controller.desiredSize ?? 0) > 0)
        controller.enqueue(this.#encoder.encode(": keep-alive\n\n"));
      this.#isQuiet = true;
      this.#keepAlive(controller);
    }, this.#options.keepAliveMs);
  }
}

import { randomUUID } from "node:crypto";
import { messageOf } from "../core/error.ts";
import type { ListChange, ToolkitEvent } from "../core/event.ts";
import type { Host } from "../core/host.ts";
import { visible } from "../lib/visible-text.ts";
import type { EventSink } from "../server/http/http-exchange-port.ts";
import type { EventBatch, ShownEvent } from "./inspection-face.ts";

/** The most events that are kept for a page that opens later. */
const maxEvents = 500;
/** Events are sent together this often: a thousand calls a second are twenty messages. */
const batchMs = 50;
const keepAliveMs = 15_000;
/** A stream that is read too slowly is ended: the browser opens another one, which begins with the latest events. */
const maxUnreadBytes = 4 * 1024 * 1024;
/** The most characters of the text of an event. */
const maxText = 500;

/** The latest events, and the streams that follow them. */
export class EventFeed {
  readonly #process = randomUUID();
  /** They are described when they are sent: without a page an event costs next to nothing. */
  readonly #events: { readonly id: number; readonly at: number; readonly event: ToolkitEvent }[] = [];
  readonly #sinks = new Map<EventSink, number>();
  readonly #stop: () => void;
  readonly #keepAlive: NodeJS.Timeout;
  #batch: NodeJS.Timeout | undefined;
  #last = 0;

  /** @param isOperator - the errors of connectors are for operators alone */
  constructor(host: Host, isOperator: boolean, onEvent: (event: ToolkitEvent) => void) {
    this.#stop = host.on("*", (event) => {
      onEvent(event);
      this.#add(isOperator ? event : withoutErrors(event));
    });
    this.#keepAlive = setInterval(() => this.#sendAll(": \n\n"), keepAliveMs).unref();
  }

  /** The number of streams that are open. */
  get streams(): number {
    return this.#sinks.size;
  }

  /** Sends the latest events and those that follow, until the returned function is called. */
  follow(sink: EventSink): () => void {
    this.#sinks.set(sink, this.#last);
    sink.write(`retry: 500\n${this.#message(0)}`);
    return () => void this.#sinks.delete(sink);
  }

  close(): void {
    this.#stop();
    clearInterval(this.#keepAlive);
    clearTimeout(this.#batch);
    for (const sink of this.#sinks.keys()) sink.end();
    this.#sinks.clear();
  }

  #add(event: ToolkitEvent): void {
    this.#last += 1;
    this.#events.push({ id: this.#last, at: Date.now(), event });
    if (this.#events.length > maxEvents) this.#events.shift();
    if (this.#sinks.size > 0) this.#batch ??= setTimeout(() => this.#flush(), batchMs).unref();
  }

  #flush(): void {
    this.#batch = undefined;
    for (const [sink, sent] of this.#sinks) {
      this.#sinks.set(sink, this.#last);
      this.#send(sink, this.#message(sent));
    }
  }

  /** The events after one. */
  #message(sent: number): string {
    const fresh = this.#events.filter(({ id }) => id > sent);
    const events = fresh.map(({ id, at, event }): ShownEvent => ({ id, at, type: event.type, ...described(event) }));
    const batch: EventBatch = { process: this.#process, events };
    return `data: ${JSON.stringify(batch)}\n\n`;
  }

  #sendAll(text: string): void {
    for (const sink of this.#sinks.keys()) this.#send(sink, text);
  }

  #send(sink: EventSink, text: string): void {
    if (sink.unread <= maxUnreadBytes) sink.write(text);
    else {
      this.#sinks.delete(sink);
      sink.destroy();
    }
  }
}

function withoutErrors(event: ToolkitEvent): ToolkitEvent {
  switch (event.type) {
    case "connectorDisconnected":
    case "connectorRemoved":
      return { ...event, error: undefined };
    case "connectorConnecting":
      return { ...event, hint: undefined };
    default:
      return event;
  }
}

type Description = Pick<ShownEvent, "about" | "text" | "isProblem">;

function described(event: ToolkitEvent): Description {
  const { about, text, isProblem = false } = describe(event);
  return { about: visible(about), text: visible(text.slice(0, maxText)), isProblem };
}

/** An event in words. */
function describe(event: ToolkitEvent): Omit<Description, "isProblem"> & { readonly isProblem?: boolean } {
  switch (event.type) {
    case "toolListChanged":
    case "promptListChanged":
    case "resourceListChanged":
      return { about: event.namespace, text: changeText(event) };
    case "resourceUpdated":
      return { about: event.uri, text: "its content changed" };
    case "connectorConnecting":
      return { about: event.namespace, text: `connecting for ${seconds(event.elapsedMs)}. ${event.hint ?? ""}`.trim() };
    case "connectorConnected":
      return { about: event.namespace, text: `connected to ${event.server.name} ${event.server.version ?? ""}`.trim() };
    case "connectorDisconnected": {
      const { namespace, error, retryInMs } = event;
      const next = retryInMs === undefined ? "" : ` The next attempt is in ${seconds(retryInMs)}.`;
      return { about: namespace, text: `disconnected${reason(error)}${next}`, isProblem: error !== undefined };
    }
    case "connectorRemoved":
      return { about: event.namespace, text: `removed${reason(event.error)}`, isProblem: event.error !== undefined };
    case "contractChanged": {
      const count = event.changes.length + event.omitted;
      return {
        about: event.namespace,
        text: `${count} changes of its contract${event.quarantined ? "; quarantined" : ""}`,
        isProblem: true,
      };
    }
    default:
      return describeCall(event);
  }
}

type ListedType = "toolListChanged" | "promptListChanged" | "resourceListChanged" | "resourceUpdated";
type ConnectorType = Extract<ToolkitEvent["type"], `connector${string}` | "contractChanged">;

function describeCall(
  event: Exclude<ToolkitEvent, { readonly type: ListedType | ConnectorType }>,
): Omit<Description, "isProblem"> & { readonly isProblem?: boolean } {
  switch (event.type) {
    case "ambiguousName":
      return {
        about: event.name,
        text: `means ${event.chosen}, and might mean ${event.candidates.slice(1).join(", ")}`,
      };
    case "eventsLost":
      return { about: "", text: `${event.count} events were lost`, isProblem: true };
    case "approvalRequested":
      return { about: event.ref, text: `waits for ${event.kind}: ${event.reason}` };
    case "approvalResolved":
      return { about: event.ref, text: `${event.status}${event.by === undefined ? "" : ` by ${event.by}`}` };
    case "agentStep": {
      const { usage, model, step, finishReason } = event;
      const tokens = usage.inputTokens + usage.outputTokens;
      return { about: event.ref, text: `step ${step + 1} of ${model}: ${finishReason}, ${tokens} tokens` };
    }
    case "callStarted":
      return { about: event.ref, text: "called" };
    case "callFinished": {
      const { ref, durationMs, error } = event;
      return { about: ref, text: `answered in ${seconds(durationMs)}${reason(error)}`, isProblem: error !== undefined };
    }
  }
}

function changeText({ added, removed, changed }: ListChange): string {
  const parts = Object.entries({ added, removed, changed }).filter(([, refs]) => refs.length > 0);
  const some = (refs: readonly string[]) => refs.slice(0, 3).join(", ") + (refs.length > 3 ? ", ..." : "");
  return parts.map(([name, refs]) => `${refs.length} ${name}: ${some(refs)}`).join("; ");
}

const reason = (error: Error | undefined) => (error === undefined ? "" : `: ${messageOf(error)}`);
const seconds = (ms: number) => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);

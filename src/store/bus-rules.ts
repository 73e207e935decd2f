import { messageOf, ToolkitError } from "../core/error.ts";
import type { BusEvent, MessageBus } from "../core/message-bus.ts";
import { shown } from "../core/options.ts";
import { parseJson } from "../lib/nesting.ts";
import { runDetached } from "../lib/promise.ts";

/** The most characters of a message as JSON. */
export const maxMessageLength = 32 * 2 ** 20;

/** @throws ToolkitError `INVALID_INPUT` */
export function assertChannel(channel: unknown): asserts channel is string {
  if (typeof channel === "string" && /^[\w./:-]{1,120}$/.test(channel)) return;
  throw invalid("/channel", "must have 1 to 120 letters, digits and _ - . : /", `is ${shown(channel)}`);
}

/** The message as JSON. @throws ToolkitError `INVALID_INPUT`, `LIMIT_EXCEEDED` */
export function messageText(message: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(message);
  } catch (cause) {
    throw invalid("/message", "must be JSON", messageOf(cause), cause);
  }
  if (text === undefined) throw invalid("/message", "must be JSON", `is ${shown(message)}`);
  const { length: actual } = text;
  if (actual <= maxMessageLength) return text;
  const details = { limit: "message", max: maxMessageLength, actual };
  throw new ToolkitError(
    "LIMIT_EXCEEDED",
    `The message was not sent: it has ${actual} characters, and ${maxMessageLength} are allowed.`,
    details,
  );
}

function invalid(pointer: string, wanted: string, found: string, cause?: unknown): ToolkitError<"INVALID_INPUT"> {
  const message = `The ${pointer.slice(1)} on the bus of a store ${wanted}, and ${found}.`;
  return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer, message: wanted }] }, { cause });
}

type Listen = (event: BusEvent) => void;

/** The listeners of each channel. */
export class ChannelListeners {
  readonly #byChannel = new Map<string, Set<Listen>>();

  get channels(): readonly string[] {
    return [...this.#byChannel.keys()];
  }

  /**
   * A bus between these listeners alone.
   *
   * @param begin - called first; throws where nothing may begin any more
   */
  local(begin: () => void): MessageBus {
    return {
      publish: async (channel, message) => {
        begin();
        assertChannel(channel);
        const text = messageText(message);
        if (!this.has(channel)) return false;
        queueMicrotask(() => this.receive(channel, `[${text}]`));
        return true;
      },
      subscribe: (channel, listener) => {
        begin();
        assertChannel(channel);
        const end = this.add(channel, listener);
        return { ready: Promise.resolve(), end: () => void end() };
      },
    };
  }

  has(channel: string): boolean {
    return this.#byChannel.has(channel);
  }

  /** @returns ends it, once; it gives true where the channel has no other listener */
  add(channel: string, listener: Listen): () => boolean {
    const own: Listen = (event) => listener(event);
    const listeners = this.#byChannel.get(channel) ?? new Set();
    listeners.add(own);
    this.#byChannel.set(channel, listeners);
    return () => {
      if (!listeners.delete(own) || listeners.size > 0) return false;
      // After `clear` it may be another set.
      if (this.#byChannel.get(channel) === listeners) this.#byChannel.delete(channel);
      return true;
    };
  }

  /** @param text - messages, as an array in JSON; each listener gets copies of its own. What is none was written by hand, and is nothing */
  receive(channel: string, text: string): void {
    for (const listener of [...(this.#byChannel.get(channel) ?? [])])
      for (const message of messagesIn(text)) quietly(() => listener({ type: "message", message }));
  }

  missed(): void {
    for (const channel of this.channels)
      for (const listener of [...(this.#byChannel.get(channel) ?? [])]) quietly(() => listener({ type: "gap" }));
  }

  clear(): void {
    this.#byChannel.clear();
  }
}

function messagesIn(text: string): readonly unknown[] {
  try {
    const messages = parseJson(text);
    return Array.isArray(messages) ? messages : [];
  } catch {
    return [];
  }
}

function quietly(run: () => void): void {
  runDetached(run, () => undefined);
}

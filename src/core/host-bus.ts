import type { MessageBus } from "./message-bus.ts";

const buses = new WeakMap<object, MessageBus>();

/** Notes the bus through which the processes that share the store of a host work together. */
export function setBus(host: object, bus: MessageBus | undefined): void {
  if (bus !== undefined) buses.set(host, bus);
}

/** The bus of a host; undefined where it shares nothing with other processes. */
export function busOf(host: object): MessageBus | undefined {
  return buses.get(host);
}

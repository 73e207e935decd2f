import type { Timer } from "../../lib/clock.ts";
import type { FaultName } from "./faults.ts";
import type { FaultyState } from "./faulty-state.ts";

/** A message of a flood. */
export interface FloodMessage {
  readonly jsonrpc: "2.0";
  readonly id?: string;
  readonly method: string;
  readonly params?: object;
}

type MessageOf = (number: number) => FloodMessage;

const lists = ["tools", "prompts", "resources"];
const tickMs = 10;
const defaultPerSecond = 10_000;

/** The messages of each flood. */
export const floods: { readonly [N in FaultName]?: MessageOf } = {
  flood: (number) => ({
    jsonrpc: "2.0",
    method: "notifications/message",
    params: { level: "info", logger: "flood", data: `message ${number}` },
  }),
  "list-storm": (number) => ({ jsonrpc: "2.0", method: `notifications/${lists[number % lists.length]}/list_changed` }),
  "request-flood": (number) => ({
    jsonrpc: "2.0",
    id: `flood-${number}`,
    method: number % 2 === 0 ? "ping" : "flood/unknown",
  }),
};

/** The parts of a flood. */
export interface FloodParts {
  readonly name: FaultName;
  readonly state: FaultyState;
  readonly message: MessageOf;
  write(message: FloodMessage): void;
}

/** Sends messages to one client, until it is stopped or its fault is off. */
export class Flood {
  readonly #parts: FloodParts;
  #timer: Timer | undefined;
  #number = 0;

  constructor(parts: FloodParts) {
    this.#parts = parts;
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    const { name, state } = this.#parts;
    const { perSecond = defaultPerSecond } = state.faults.find(name) ?? {};
    const delayMs = Math.max(tickMs, 1_000 / perSecond);
    this.#timer = state.clock.setTimer(() => this.#burst(Math.round((perSecond * delayMs) / 1_000)), delayMs);
  }

  #burst(count: number): void {
    const { name, state, write, message } = this.#parts;
    this.#schedule();
    for (let left = count; left > 0; left--) {
      if (state.faults.take(name) === undefined) {
        this.stop();
        return;
      }
      write(message(this.#number++));
    }
  }
}

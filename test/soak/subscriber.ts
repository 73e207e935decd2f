import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../../src/core/connection.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { SoakServer } from "./server.ts";

const hearMs = 500;
const lookMs = 10;
/** A connection that comes back says that all may have changed: one event proves nothing. */
const times = 2;

/** Subscribed to a resource of a server for as long as the soak lasts, it can tell whether it still hears of changes. */
export class Subscriber {
  readonly #toolkit: Toolkit;
  readonly #server: SoakServer;
  #heard = 0;

  constructor(toolkit: Toolkit, server: SoakServer, connection: Connection) {
    this.#toolkit = toolkit;
    this.#server = server;
    toolkit.on("resourceUpdated", (event) => {
      if (event.connection === connection) this.#heard++;
    });
  }

  async subscribe(): Promise<void> {
    if (this.#server.touch !== undefined) await this.#toolkit.subscribe(`memo://one#${this.#server.name}`);
  }

  /** @throws Error where it hears nothing of a change */
  async check(): Promise<void> {
    const { touch } = this.#server;
    if (touch === undefined) return;
    for (let time = 0; time < times; time++) {
      const before = this.#heard;
      const untilAt = performance.now() + hearMs;
      if (touch() === 0) throw new Error("the server knows nothing of the subscription");
      while (this.#heard === before) {
        if (performance.now() > untilAt) throw new Error("a change of a resource that is subscribed to is not heard");
        await sleep(lookMs);
      }
    }
  }
}

import type { Connector } from "../../src/core/connector.ts";
import type { ToolkitEvent, ToolkitEventType } from "../../src/core/event.ts";
import type { Logger } from "../../src/core/session.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";

/** A toolkit whose time, chance, log and events are in the hands of the test. */
export class Bench {
  readonly clock = virtualClock();
  readonly events: ToolkitEvent[] = [];
  readonly logged: { readonly level: keyof Logger; readonly message: string; readonly details: unknown }[] = [];
  readonly toolkit: Toolkit;
  /** The random number: 1 makes each wait as long as it may be. */
  chance = 1;

  constructor(options: ToolkitOptions = {}) {
    const log = (level: keyof Logger) => (message: string, details?: unknown) =>
      void this.logged.push({ level, message, details });
    this.toolkit = new Toolkit({
      clock: this.clock,
      random: () => this.chance,
      logger: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
      ...options,
    });
    this.toolkit.on("*", (event) => void this.events.push(event));
  }

  /** Adds connectors under the names given, starts, and lets all that is ready happen. */
  async start(connectors: Readonly<Record<string, Connector>> = {}): Promise<void> {
    for (const [namespace, connector] of Object.entries(connectors))
      this.toolkit.addConnector(connector, { namespace });
    await this.toolkit.start();
    await this.clock.advance(0);
  }

  /** The types of the events there were, and forgets them. */
  take(): ToolkitEventType[] {
    return this.events.splice(0).map(({ type }) => type);
  }

  /** The events of a type. */
  of<T extends ToolkitEventType>(type: T): ToolkitEvent<T>[] {
    return this.events.filter((event) => event.type === type) as unknown as ToolkitEvent<T>[];
  }

  warnings(): string[] {
    return this.logged.filter(({ level }) => level === "warn").map(({ message }) => message);
  }

  errors(): string[] {
    return this.logged.filter(({ level }) => level === "error").map(({ message }) => message);
  }
}

import type { Clock } from "../../lib/clock.ts";
import { defaultOffer } from "./default-offer.ts";
import type { FaultyOffer, FaultyServerOptions } from "./definition.ts";
import { Switchboard } from "./switchboard.ts";

/** What a faulty server is and remembers, whoever is connected. */
export class Script {
  readonly name: string;
  readonly pageSize: number;
  readonly capabilities: object;
  readonly clock: Clock;
  readonly faults = new Switchboard();
  offer: Required<FaultyOffer>;
  readonly #runs = new Map<string, number>();

  constructor(options: FaultyServerOptions, clock: Clock) {
    const { name = "faulty", pageSize = Number.POSITIVE_INFINITY, capabilities = allCapabilities } = options;
    this.name = name;
    this.pageSize = pageSize;
    this.capabilities = capabilities;
    this.clock = clock;
    const defaults = defaultOffer({ clock, runs: (id) => this.runs(id) });
    this.offer = {
      tools: options.tools ?? defaults.tools,
      prompts: options.prompts ?? defaults.prompts,
      resources: options.resources ?? defaults.resources,
    };
  }

  /** How often a tool was run with this id. */
  runs(id: string): number {
    return this.#runs.get(id) ?? 0;
  }

  /** A tool begins to run. */
  ran(id: unknown): void {
    if (typeof id === "string") this.#runs.set(id, this.runs(id) + 1);
  }
}

const allCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
};

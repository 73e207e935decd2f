import { ToolkitError } from "../../core/error.ts";
import type { Clock } from "../../lib/clock.ts";
import { modernVersion } from "../../mcp/modern/revision.ts";
import { ActiveFaults } from "./active-faults.ts";
import { defaultOffer } from "./default-offer.ts";
import type { FaultyOffer, FaultyServerOptions } from "./faulty-offer.ts";

/** The state of a faulty server that all its connections share. */
export class FaultyState {
  readonly name: string;
  readonly pageSize: number;
  readonly capabilities: object;
  readonly clock: Clock;
  /** Without sessions: the second era. */
  readonly isStateless: boolean;
  readonly faults = new ActiveFaults();
  offer: Required<FaultyOffer>;
  readonly #runs = new Map<string, number>();

  constructor(options: FaultyServerOptions, clock: Clock) {
    const { name = "faulty", pageSize = Number.POSITIVE_INFINITY, capabilities = allCapabilities, protocol } = options;
    if (protocol !== undefined && protocol !== "2025-11-25" && protocol !== modernVersion) {
      const message = `The option protocol of a faulty server is "2025-11-25" or "${modernVersion}", and not ${JSON.stringify(protocol)}.`;
      throw new ToolkitError("INVALID_CONFIG", message, { path: "protocol" });
    }
    this.name = name;
    this.pageSize = pageSize;
    this.capabilities = capabilities;
    this.clock = clock;
    this.isStateless = protocol === modernVersion;
    const defaults = defaultOffer({ clock, runs: (id) => this.runs(id) });
    this.offer = {
      tools: options.tools ?? defaults.tools,
      prompts: options.prompts ?? defaults.prompts,
      resources: options.resources ?? defaults.resources,
    };
  }

  /** The number of runs with this id. */
  runs(id: string): number {
    return this.#runs.get(id) ?? 0;
  }

  /** Counts a run. */
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

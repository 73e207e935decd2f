import type { Connection } from "../../src/core/connection.ts";
import {
  type Fault,
  type FaultName,
  type FaultyServer,
  faultyServer,
  type Listening,
} from "../../src/testing/index.ts";
import { countedTools } from "./counted-tools.ts";
import type { Ledger } from "./ledger.ts";
import type { PlannedTrouble } from "./plan.ts";
import { type RunningTrouble, type SoakServer, signalProcess } from "./server.ts";
import { describeTrouble, type Place } from "./trouble.ts";

const happenMs = 4_000;
const lists = ["tools", "prompts", "resources"] as const;
const immediate = { happened: Promise.resolve(), end: async () => undefined };

/** The transport to a faulty server. */
export type Way = "in-memory" | "stdio" | "sse" | "json";

/** The transport and the era of a faulty server. */
export interface Spoken {
  readonly way: Way;
  /** Without sessions: the second era. */
  readonly isStateless: boolean;
}

/** A server that fails as it is told to, and knows what it ran. */
export class FaultySoakServer implements SoakServer {
  readonly name: string;
  readonly place: Place;
  readonly target: SoakServer["target"];
  readonly #server: FaultyServer;
  readonly #tools: ReturnType<typeof countedTools>;
  #changes = 0;

  private constructor(name: string, place: Place, parts: Pick<FaultySoakServer, "target"> & Parts) {
    this.name = name;
    this.place = place;
    this.target = parts.target;
    this.#server = parts.server;
    this.#tools = parts.tools;
  }

  static async open(name: string, { way, isStateless }: Spoken, ledger: Ledger): Promise<FaultySoakServer> {
    const tools = countedTools(ledger, isStateless);
    const server = faultyServer({ name, tools, pageSize: 3, protocol: isStateless ? "2026-07-28" : "2025-11-25" });
    const http = isStateless ? "stateless-http" : "http";
    const place = way === "sse" || way === "json" ? http : way;
    return new FaultySoakServer(name, place, { target: await targetOf(server, way), server, tools });
  }

  readonly touch = (): number => this.#server.touch("memo://one");

  offers(): FaultyServer["offers"] {
    return this.#server.offers;
  }

  readonly running = (): readonly string[] => this.#server.running();

  async begin({ trouble, options, forMs }: PlannedTrouble, connection: Connection): Promise<RunningTrouble> {
    if (trouble === "kill" || trouble === "freeze") {
      signalProcess(connection.processId, trouble === "kill" ? "SIGKILL" : "SIGSTOP");
      return immediate;
    }
    if (trouble === "change") return this.#change();
    const fault = await this.#server.fault(trouble, options);
    const { atHandshake, atLists } = describeTrouble(trouble);
    if (atHandshake) connection.reconnect();
    if (atLists) this.#announce();
    if (trouble === "close-stream") this.#change();
    if (forMs === 0) return { happened: happens(fault), end: () => fault.off() };
    return { happened: Promise.resolve(), end: () => this.#end(trouble, fault, connection) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  async #end(trouble: FaultName, fault: Fault, connection: Connection): Promise<void> {
    await fault.off();
    // A fault of a list is seen when it is read again, and a server is trusted to say so; of a list that could not be read at
    // all we must ask again by ourselves.
    if (describeTrouble(trouble).atLists && trouble !== "cursor-loop") this.#announce();
    // A child keeps its fault, and a server of an unknown revision is not tried again by itself.
    if (describeTrouble(trouble).atHandshake) connection.reconnect();
  }

  #announce(): void {
    for (const list of lists) this.#server.notify(`notifications/${list}/list_changed`);
  }

  /** Offers another tool, prompt and resource than before. */
  #change(): RunningTrouble {
    const number = ++this.#changes;
    const { echo } = this.#tools;
    this.#server.change({
      tools: echo === undefined ? this.#tools : { ...this.#tools, [`season_${number}`]: echo },
      prompts: {
        greet: { arguments: [{ name: "name", required: true }], text: "Greet {name}." },
        [`say_${number}`]: { text: "!" },
      },
      resources: { "memo://one": { text: "A memo." }, [`memo://season/${number}`]: { text: "Another." } },
    });
    return immediate;
  }
}

interface Parts {
  readonly server: FaultyServer;
  readonly tools: ReturnType<typeof countedTools>;
}

async function targetOf(server: FaultyServer, way: Way): Promise<SoakServer["target"]> {
  if (way === "in-memory") return server.connector();
  if (way === "stdio") return server.stdio();
  const { url }: Listening = await server.listen({ answers: way });
  return url;
}

/** Resolves when a fault has happened, or had time enough to. */
async function happens(fault: Fault): Promise<void> {
  const limit = AbortSignal.timeout(happenMs);
  await fault.happens(1, { signal: limit }).catch(() => undefined);
}

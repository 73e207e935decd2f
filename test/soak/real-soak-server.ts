import type { Connection } from "../../src/core/connection.ts";
import type { StdioTarget } from "../../src/core/target.ts";
import { everything, freePort, ListeningChild } from "../e2e/support.ts";
import type { PlannedTrouble } from "./plan.ts";
import { type RunningTrouble, type SoakServer, signalProcess } from "./server.ts";

const happened = Promise.resolve();

/** A server people use, as a child of ours. */
export class ChildSoakServer implements SoakServer {
  readonly name: string;
  readonly place = "child";
  readonly target: StdioTarget;

  constructor(name: string, target: StdioTarget) {
    this.name = name;
    this.target = target;
  }

  static everything(name: string): ChildSoakServer {
    return new ChildSoakServer(name, { command: process.execPath, args: [everything, "stdio"] });
  }

  offers(): undefined {
    return undefined;
  }

  readonly running = (): readonly string[] => [];

  async begin({ trouble }: PlannedTrouble, { processId }: Connection): Promise<RunningTrouble> {
    signalProcess(processId, trouble === "freeze" ? "SIGSTOP" : "SIGKILL");
    return { happened, end: async () => undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Its connection ends it.
  }
}

/** A server people use that listens on a port, which it keeps when it is started anew. */
export class ServiceSoakServer implements SoakServer {
  readonly name: string;
  readonly place = "service";
  readonly target: string;
  readonly #transport: "streamableHttp" | "sse";
  #child: ListeningChild;

  private constructor(name: string, transport: "streamableHttp" | "sse", child: ListeningChild) {
    this.name = name;
    this.target = `http://127.0.0.1:${child.port}/${transport === "sse" ? "sse" : "mcp"}`;
    this.#transport = transport;
    this.#child = child;
  }

  static async open(name: string, transport: "streamableHttp" | "sse"): Promise<ServiceSoakServer> {
    return new ServiceSoakServer(name, transport, await ListeningChild.everything(transport, await freePort()));
  }

  offers(): undefined {
    return undefined;
  }

  readonly running = (): readonly string[] => [];

  async begin({ trouble }: PlannedTrouble): Promise<RunningTrouble> {
    if (trouble === "freeze") {
      this.#child.signal("SIGSTOP");
      return { happened, end: async () => this.#child.signal("SIGCONT") };
    }
    await this.#child.kill();
    return {
      happened,
      end: async () => {
        this.#child = await ListeningChild.everything(this.#transport, this.#child.port);
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill();
  }
}

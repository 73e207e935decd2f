import type { Connector } from "../../core/connector.ts";
import { inMemoryConnector } from "../../mcp/mcp-connector.ts";
import type { ConnectorOptions } from "../../mcp/open-session.ts";
import type { ServerTransport } from "../../mcp/transport/in-memory-transport.ts";
import { Conversation } from "./conversation.ts";
import type { Endpoint } from "./endpoint.ts";
import type { FaultName } from "./faults.ts";
import type { Line } from "./line.ts";
import type { Script } from "./script.ts";

/** Clients in this process. */
export class InMemoryEndpoint implements Endpoint {
  readonly transport = "in-memory";
  readonly #script: Script;
  readonly #conversations = new Set<Conversation>();
  #closed = false;

  constructor(script: Script) {
    this.#script = script;
  }

  get conversations(): Iterable<Conversation> {
    return this.#conversations;
  }

  connector(options: ConnectorOptions): Connector {
    return inMemoryConnector((transport) => this.#connect(transport), { label: this.#script.name, ...options });
  }

  running(): readonly string[] {
    return [...this.#conversations].map(() => "an in-memory connection");
  }

  async faultChanged(name: FaultName): Promise<void> {
    if (name === "down" && this.#script.faults.find(name) !== undefined) this.#endAll();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#endAll();
  }

  #endAll(): void {
    for (const { line } of [...this.#conversations]) line.kill();
  }

  async #connect(transport: ServerTransport): Promise<void> {
    const down = this.#closed || this.#script.faults.take("down") !== undefined;
    if (down) throw new Error(`${this.#script.name} is down`);
    const conversation = new Conversation(this.#script, lineOf(transport));
    this.#conversations.add(conversation);
    transport.onmessage = (message) => conversation.receive(message);
    transport.onclose = () => {
      conversation.end();
      this.#conversations.delete(conversation);
    };
    await transport.start();
  }
}

function lineOf(transport: ServerTransport): Line {
  const ignore = () => undefined;
  return {
    transport: "in-memory",
    write: (text) => void transport.send(parsed(text)).catch(ignore),
    done: ignore,
    freeze: ignore,
    kill: () => void transport.close().catch(ignore),
  };
}

/** What is no JSON is handed over as the text it is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

import type { Connector } from "../../core/connector.ts";
import { jsonIn } from "../../lib/value.ts";
import { inMemoryConnector } from "../../mcp/mcp-connector.ts";
import type { ConnectorOptions } from "../../mcp/open-session.ts";
import type { ServerTransport } from "../../mcp/transport/in-memory-transport.ts";
import type { ClientChannel } from "./client-channel.ts";
import { ClientConversation, type Endpoint } from "./client-conversation.ts";
import type { FaultName } from "./faults.ts";
import type { FaultyState } from "./faulty-state.ts";

/** Serves clients in this process. */
export class InMemoryEndpoint implements Endpoint {
  readonly transport = "in-memory";
  readonly #state: FaultyState;
  readonly #conversations = new Set<ClientConversation>();
  #closed = false;

  constructor(state: FaultyState) {
    this.#state = state;
  }

  get conversations(): Iterable<ClientConversation> {
    return this.#conversations;
  }

  connector(options: ConnectorOptions): Connector {
    return inMemoryConnector((transport) => this.#connect(transport), { label: this.#state.name, ...options });
  }

  running(): readonly string[] {
    return [...this.#conversations].map(() => "an in-memory connection");
  }

  async faultChanged(name: FaultName): Promise<void> {
    if (name === "down" && this.#state.faults.find(name) !== undefined) this.#endAll();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#endAll();
  }

  #endAll(): void {
    for (const { channel } of [...this.#conversations]) channel.kill();
  }

  async #connect(transport: ServerTransport): Promise<void> {
    const down = this.#closed || this.#state.faults.take("down") !== undefined;
    if (down) throw new Error(`${this.#state.name} is down`);
    const conversation = new ClientConversation(this.#state, channelOf(transport));
    this.#conversations.add(conversation);
    transport.onmessage = (message) => conversation.receive(message);
    transport.onclose = () => {
      conversation.end();
      this.#conversations.delete(conversation);
    };
    await transport.start();
  }
}

function channelOf(transport: ServerTransport): ClientChannel {
  const ignore = () => undefined;
  return {
    transport: "in-memory",
    write: (text) => void transport.send(parsed(text)).catch(ignore),
    done: ignore,
    freeze: ignore,
    kill: () => void transport.close().catch(ignore),
  };
}

/** Text that is no JSON is passed on as text. */
function parsed(text: string): unknown {
  const value = jsonIn(text);
  return value === undefined ? text : value;
}

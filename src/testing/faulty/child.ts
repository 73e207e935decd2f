import type { Socket } from "node:net";
import { LineReader } from "../../lib/child/child-output.ts";
import { jsonIn } from "../../lib/value.ts";
import type { ClientChannel } from "./client-channel.ts";
import { ClientConversation } from "./client-conversation.ts";
import type { FaultyState } from "./faulty-state.ts";

/** A child process that relays to a server in this process. */
export class Child {
  readonly pid: number;
  readonly #control: Socket;
  #conversation: ClientConversation | undefined;

  constructor(pid: number, control: Socket) {
    this.pid = pid;
    this.#control = control;
  }

  get conversation(): ClientConversation | undefined {
    return this.#conversation;
  }

  /** Sends orders to the child. */
  order(orders: object): void {
    if (this.#control.writable) this.#control.write(`${JSON.stringify(orders)}\n`);
  }

  /** Connects the stdin and stdout of the child, which it relays through this socket. */
  relay(data: Socket, state: FaultyState): (chunk: Buffer) => void {
    const conversation = new ClientConversation(state, this.#channel(data));
    this.#conversation = conversation;
    data.on("close", () => this.end());
    const lines = new LineReader({
      maxBytes: Number.POSITIVE_INFINITY,
      onLine: (line) => conversation.receive(jsonIn(line)),
    });
    return (chunk) => lines.push(chunk);
  }

  /** The child is gone. */
  end(): void {
    this.#conversation?.end();
  }

  kill(): void {
    end(this.pid);
  }

  #channel(data: Socket): ClientChannel {
    const ignore = () => undefined;
    return {
      transport: "stdio",
      write: (text) => {
        if (data.writable) data.write(`${text}\n`);
      },
      done: ignore,
      freeze: () => this.order({ freeze: true }),
      kill: () => this.kill(),
    };
  }
}

/** Kills a process, if it still runs. */
export function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

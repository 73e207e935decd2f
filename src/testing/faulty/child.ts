import type { Socket } from "node:net";
import { LineReader } from "../../mcp/transport/stdio/child-output.ts";
import { Conversation } from "./conversation.ts";
import type { Line } from "./line.ts";
import type { Script } from "./script.ts";

/** A child process that relays to a server in this process. */
export class Child {
  readonly pid: number;
  readonly #control: Socket;
  #conversation: Conversation | undefined;

  constructor(pid: number, control: Socket) {
    this.pid = pid;
    this.#control = control;
  }

  get conversation(): Conversation | undefined {
    return this.#conversation;
  }

  /** Tells the child what to be from now on. */
  order(orders: object): void {
    if (this.#control.writable) this.#control.write(`${JSON.stringify(orders)}\n`);
  }

  /** What the child reads comes by this socket, and what it is to write goes there. */
  relay(data: Socket, script: Script): (chunk: Buffer) => void {
    const conversation = new Conversation(script, this.#line(data));
    this.#conversation = conversation;
    data.on("close", () => this.end());
    const lines = new LineReader({
      maxBytes: Number.POSITIVE_INFINITY,
      onLine: (line) => conversation.receive(parsed(line)),
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

  #line(data: Socket): Line {
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

/** Ends a process without asking, where it is still there. */
export function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

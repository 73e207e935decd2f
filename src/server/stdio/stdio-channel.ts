import type { Readable, Writable } from "node:stream";
import { messageOf } from "../../core/error.ts";
import { LineReader } from "../../lib/child/child-output.ts";
import { rpcCodes } from "../../mcp/rpc/rpc-error.ts";
import { parseMessages, type RpcMessage } from "../../mcp/rpc/rpc-message.ts";
import { answeredBy } from "../../mcp/transport/stdio/answered-by.ts";
import type { Transport, TransportEvents } from "../../mcp/transport/transport.ts";

/** The streams of a client that started this process, and the limit of what it writes. */
export interface StdioChannelOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxMessageBytes: number;
}

/** So many bytes wait for a client that does not read; then it counts as gone. */
const maxUnreadBytes = 64 * 1024 * 1024;

/** Messages to and from the client that started this process: one a line. It ends with the input, or when the output is closed. */
export class StdioChannel implements Transport {
  readonly name = "stdio";
  readonly silenceMs = Number.POSITIVE_INFINITY;
  readonly #options: StdioChannelOptions;
  readonly #reader: LineReader;
  #events: TransportEvents | undefined;
  #isOpen = true;

  constructor(options: StdioChannelOptions) {
    this.#options = options;
    this.#reader = new LineReader({
      maxBytes: options.maxMessageBytes,
      onLine: (line) => this.#line(line),
      onOverlong: (line) => {
        const answered = answeredBy(line);
        const message = `A message is larger than maxMessageBytes (${options.maxMessageBytes}).`;
        if (answered !== undefined) this.#events?.unreadable(new Error(message), answered);
        else this.#refuse(rpcCodes.invalidRequest, message);
      },
    });
  }

  async start(events: TransportEvents): Promise<void> {
    const { input, output } = this.#options;
    this.#events = events;
    input.on("data", this.#data);
    input.on("end", this.#inputEnded);
    input.on("close", this.#inputEnded);
    input.on("error", this.#failed);
    output.on("close", this.#inputEnded);
    output.on("error", this.#failed);
  }

  send(message: RpcMessage): Promise<void> | undefined {
    const { output } = this.#options;
    if (!this.#isOpen || output.destroyed || output.writableEnded) return undefined;
    if (output.writableLength > maxUnreadBytes) {
      this.#end(new Error(`The client does not read: ${output.writableLength} bytes wait for it.`));
      return undefined;
    }
    if (output.write(`${textOf(message)}\n`)) return undefined;
    return new Promise((resolve) => {
      const done = () => {
        output.off("drain", done);
        output.off("close", done);
        resolve();
      };
      output.on("drain", done);
      output.on("close", done);
    });
  }

  async close(): Promise<void> {
    this.#end(undefined);
  }

  readonly #data = (chunk: Buffer | string) => {
    this.#reader.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  };

  readonly #inputEnded = () => this.#end(new Error("the client closed the connection"));

  readonly #failed = (error: Error) => this.#end(error);

  #line(line: string): void {
    if (!this.#isOpen || line.trim() === "") return;
    const messages = parseMessages(line);
    if (messages === undefined) this.#refuse(rpcCodes.parseError, "This line is no JSON-RPC message.");
    else for (const message of messages) this.#events?.message(message);
  }

  #refuse(code: number, message: string): void {
    void this.send({ jsonrpc: "2.0", id: null, error: { code, message } });
  }

  #end(error: Error | undefined): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { input, output } = this.#options;
    input.off("data", this.#data);
    input.off("end", this.#inputEnded);
    input.off("close", this.#inputEnded);
    output.off("close", this.#inputEnded);
    // An input that is not read keeps no process alive.
    input.pause();
    this.#events?.closed(error);
  }
}

/** A message as JSON. An answer that JSON cannot hold is an error instead: its client waits for it. */
export function textOf(message: RpcMessage): string {
  try {
    return JSON.stringify(message);
  } catch (error) {
    if (message.id === undefined || message.method !== undefined) throw error;
    const failure = {
      code: rpcCodes.internalError,
      message: `The result cannot be written as JSON: ${messageOf(error)}`,
    };
    return JSON.stringify({ jsonrpc: "2.0", id: message.id, error: failure });
  }
}

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { StdioTarget } from "../../../src/core/target.ts";

/** A message as it came. */
export type RawMessage = Readonly<Record<string, unknown>> & {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number };
};

/** A client that knows nothing of MCP but its envelope, so that it sees what a server really sends. */
export abstract class RawClient {
  /** Every text that came for a message, in order. */
  readonly received: string[] = [];
  #id = 0;
  #waiting: (() => void)[] = [];

  /** Shakes hands. */
  async open(): Promise<RawMessage> {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    const hello = await this.request("initialize", params);
    await this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    // Answered, the server has read what came before it.
    await this.request("ping");
    return hello;
  }

  /** Resolves with the answer. Rejects when the connection, or the answer's own stream, ends without one. */
  request(method: string, params?: object): Promise<RawMessage> {
    const id = ++this.#id;
    return this.exchange({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) }, id);
  }

  call(name: string, input: object = {}): Promise<RawMessage> {
    return this.request("tools/call", { name, arguments: input, _meta: { progressToken: "token" } });
  }

  /** Resolves when a text that came has this in it. */
  async hears(part: string, times = 1): Promise<void> {
    while (this.received.filter((text) => text.includes(part)).length < times) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The messages that came so far, without what is none. */
  get messages(): readonly RawMessage[] {
    return this.received.flatMap((text) => {
      try {
        return [JSON.parse(text) as RawMessage];
      } catch {
        return [];
      }
    });
  }

  abstract send(message: object): Promise<void>;
  abstract close(): Promise<void>;
  protected abstract exchange(message: object, id: number): Promise<RawMessage>;

  protected took(text: string): void {
    this.received.push(text);
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** Over stdio, to a child of its own. */
export class StdioRawClient extends RawClient {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly exited: Promise<number | NodeJS.Signals | null>;
  stderr = "";
  readonly #answers = new Map<number, (error?: Error) => void>();
  #rest = "";

  constructor({ command, args = [] }: StdioTarget) {
    super();
    this.child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.child.stdin.on("error", () => undefined);
    this.exited = new Promise((resolve) => {
      this.child.once("exit", (code, signal) => {
        for (const answer of this.#answers.values()) answer(new Error(`exited: ${code ?? signal}`));
        resolve(signal ?? code);
      });
    });
  }

  async send(message: object): Promise<void> {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  protected exchange(message: object, id: number): Promise<RawMessage> {
    return new Promise((resolve, reject) => {
      this.#answers.set(id, (error) => {
        const answer = this.messages.find((each) => String(each.id) === String(id) && each.method === undefined);
        if (answer !== undefined) resolve(answer);
        else if (error !== undefined) reject(error);
      });
      void this.send(message);
    });
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.took(line);
    if (lines.length > 0) for (const answer of this.#answers.values()) answer();
  }
}

/** Over Streamable HTTP. */
export class HttpRawClient extends RawClient {
  session: string | undefined;
  readonly #url: string;
  readonly #abort = new AbortController();

  constructor(url: string) {
    super();
    this.#url = url;
  }

  async send(message: object): Promise<void> {
    await this.#post(message);
  }

  /** Reads what the server says unasked; resolves, with why it ended, when it ends. */
  async listen(opened: () => void = () => undefined): Promise<Error | undefined> {
    try {
      const response = await fetch(this.#url, { headers: this.#headers(), signal: this.#abort.signal });
      opened();
      await this.#events(response);
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }

  async close(): Promise<void> {
    this.#abort.abort();
  }

  protected async exchange(message: object, id: number): Promise<RawMessage> {
    await this.#post(message);
    const answer = this.messages.find((each) => String(each.id) === String(id) && each.method === undefined);
    if (answer === undefined) throw new Error("ended without a result");
    return answer;
  }

  async #post(message: object): Promise<void> {
    const headers = { ...this.#headers(), "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(message), signal: this.#abort.signal };
    const response = await fetch(this.#url, init);
    if (!response.ok) throw new Error(`answered ${response.status}: ${await response.text()}`);
    this.session ??= response.headers.get("mcp-session-id") ?? undefined;
    if (response.headers.get("content-type") === "text/event-stream") await this.#events(response);
    else if (response.status === 200) this.took(await response.text());
  }

  async #events(response: Response): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const events = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) this.took(event.split("\ndata: ")[1] ?? event);
    }
  }

  #headers(): Record<string, string> {
    return { accept: "application/json, text/event-stream", ...(this.session && { "mcp-session-id": this.session }) };
  }
}

import type { Writable } from "node:stream";
import { ToolkitError } from "../../../core/error.ts";
import { withServerOutput } from "../../../core/server-output.ts";
import { LineReader, OutputTail } from "../../../lib/child/child-output.ts";
import {
  type ChildParameters,
  endChild,
  type PipedChild,
  SpawnError,
  spawnChild,
} from "../../../lib/child/spawn-child.ts";
import { isRecord } from "../../../lib/value.ts";
import type { Redactor } from "../../redact.ts";
import { ConnectionLostError, messageTooLarge } from "../../rpc/rpc-error.ts";
import { parseMessages, type RpcMessage } from "../../rpc/rpc-message.ts";
import { commandName } from "../../target/target-label.ts";
import { OddTexts } from "../odd-texts.ts";
import type { Diagnosis, Transport, TransportEvents } from "../transport.ts";
import { answeredBy } from "./answered-by.ts";

/** The command of a child, and the limits of its output. */
export interface StdioParameters extends ChildParameters {
  readonly maxMessageBytes: number;
  readonly maxStderrBytes: number;
  readonly redactor: Redactor;
}

// After the child has exited, what it wrote is read; a grandchild may keep the pipe open for ever.
const drainMs = 100;

/**
 * A child process that speaks MCP over its stdin and stdout, one message a line. It leads a process group of its own, which ends
 * with it.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
 */
export class StdioTransport implements Transport {
  readonly name = "stdio";
  readonly network = { "network.transport": "pipe" };
  // The end of a process is reported by the system. One that is silent computes.
  readonly silenceMs = 60_000;
  readonly #parameters: StdioParameters;
  readonly #stderr: OutputTail;
  readonly #lines: LineReader;
  readonly #oddLines: OddTexts;
  #child: PipedChild | undefined;
  #events: TransportEvents | undefined;
  #ending: Promise<void> | undefined;
  #exit: string | undefined;
  #leaving = false;
  #draining: Promise<void> | undefined;
  /** The number of messages written in this turn. */
  #turnSize = 0;
  /** Lines that the child has no room for, in order: of requests by id, of other messages by the message. */
  readonly #waiting = new Map<unknown, string>();

  constructor(parameters: StdioParameters) {
    this.#parameters = parameters;
    const { maxMessageBytes, maxStderrBytes } = parameters;
    this.#stderr = new OutputTail(maxStderrBytes);
    this.#oddLines = new OddTexts(parameters.redactor, { verb: "wrote something to stdout", noun: "lines" });
    this.#lines = new LineReader({
      maxBytes: maxMessageBytes,
      onLine: (line) => this.#line(line),
      onOverlong: (line) => this.#events?.unreadable(messageTooLarge(maxMessageBytes, line.size), answeredBy(line)),
    });
  }

  get processId(): number | undefined {
    return this.#ending === undefined ? this.#child?.pid : undefined;
  }

  async start(events: TransportEvents, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted();
    this.#events = events;
    const namespace = commandName(this.#parameters.command);
    try {
      const started = (child: PipedChild) => {
        this.#child = child;
      };
      this.#listen(await spawnChild(this.#parameters, namespace, started));
    } catch (error) {
      if (!(error instanceof SpawnError)) throw error;
      throw new ToolkitError("UNAVAILABLE", error.message, { namespace }, { cause: error.cause });
    }
  }

  send(message: RpcMessage): Promise<void> | undefined {
    const stdin = this.#child?.stdin;
    if (this.#ending !== undefined || !stdin?.writable) {
      throw new ConnectionLostError("the server's process is not running", { sent: false });
    }
    const line = `${JSON.stringify(message)}\n`;
    if (this.#draining === undefined) {
      if (this.#write(stdin, line)) return undefined;
      // One promise for all who wait, for each listener counts.
      this.#draining = this.#drain(stdin).finally(() => {
        this.#draining = undefined;
      });
      return this.#draining;
    }
    if (this.#isWithdrawal(message)) return undefined;
    this.#waiting.set(message.method === undefined ? message : (message.id ?? message), line);
    return this.#draining;
  }

  /**
   * Writes the first message of a turn at once, and the next ones in batches of two, four and so on: the child works on those while the others
   * are made, and a write for each would cost both sides more than the message. Gives what `write` gives.
   */
  #write(stdin: Writable, line: string): boolean {
    if (this.#turnSize === 0) process.nextTick(this.#endTurn, stdin);
    this.#turnSize += 1;
    // 1, 3, 7, 15 and so on.
    const isLastOfBatch = (this.#turnSize & (this.#turnSize + 1)) === 0;
    if (!isLastOfBatch && stdin.writableCorked === 0) stdin.cork();
    const hasRoom = stdin.write(line);
    if (isLastOfBatch) stdin.uncork();
    return hasRoom;
  }

  readonly #endTurn = (stdin: Writable): void => {
    this.#turnSize = 0;
    stdin.uncork();
  };

  /** Takes a request off those that wait to be written, where the message cancels one of them. */
  #isWithdrawal({ method, params }: RpcMessage): boolean {
    const id = method === "notifications/cancelled" && isRecord(params) ? params.requestId : undefined;
    return id !== undefined && this.#waiting.delete(id);
  }

  /** Writes what waits, as the child reads. */
  async #drain(stdin: Writable): Promise<void> {
    do {
      await drained(stdin);
      for (const [key, line] of this.#waiting) {
        this.#waiting.delete(key);
        if (!stdin.write(line)) break;
      }
    } while (this.#waiting.size > 0 || stdin.writableNeedDrain);
  }

  stderr(): string {
    const text = this.#parameters.redactor.text(this.#stderr.text());
    const { cutBytes } = this.#stderr;
    if (cutBytes === 0) return text;
    // At a cut may be the end of a secret.
    return `[${cutBytes} bytes before this are left out: maxStderrBytes]\n${text.slice(this.#parameters.redactor.longest)}`;
  }

  diagnosis(): Diagnosis {
    const firstOddLine = this.#oddLines.first;
    const wrote = firstOddLine === undefined ? undefined : "it wrote to stdout what is no message";
    const began = firstOddLine === undefined ? undefined : `stdout began with ${JSON.stringify(firstOddLine)}`;
    return { reason: joined(this.#exit, wrote), output: joined(began, this.#stderrQuote()) };
  }

  close(): Promise<void> {
    return this.#end(undefined);
  }

  #listen(child: PipedChild): void {
    child.stdout.on("data", (chunk: Buffer) => this.#lines.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      // A broken pipe shows by the exit that follows, or by a send that finds it closed.
      stream.on("error", () => {});
    }
    child.stdin.on("close", () => this.#lost("it closed its stdin"));
    child.stdout.on("end", () => this.#lost("it closed its stdout"));
    child.on("error", (error) => this.#lost(error.message));
    const exited = (code: number | null, signal: NodeJS.Signals | null) => {
      this.#exit = signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
      this.#lost(this.#exit);
    };
    child.on("exit", exited);
    // One that was started ahead may have ended before.
    if (child.exitCode !== null || child.signalCode !== null) exited(child.exitCode, child.signalCode);
  }

  #line(line: string): void {
    const messages = parseMessages(line);
    if (messages !== undefined) for (const message of messages) this.#events?.message(message);
    else if (line.trim() !== "") this.#odd(line);
  }

  #odd(line: string): void {
    const warning = this.#oddLines.warningOf(line);
    if (warning !== undefined) this.#events?.warning(warning);
  }

  /** The server ended it. Output that can still be read is read first. */
  #lost(why: string): void {
    const child = this.#child;
    if (this.#leaving || this.#ending !== undefined || child === undefined) return;
    this.#leaving = true;
    const finish = () => {
      clearTimeout(timer);
      const error = new Error(`the server's process ended: ${this.#exit ?? why}`);
      void this.#end(withServerOutput(error, this.#stderrQuote()));
    };
    // A turn later: on a busy machine what can be read already is read first.
    const timer = setTimeout(() => setImmediate(finish), drainMs);
    // Pipes and process have ended: no more output can come.
    const check = () => {
      if (child.stdout.readableEnded && child.stderr.readableEnded && this.#exit !== undefined) finish();
    };
    child.stdout.once("end", check);
    child.stderr.once("end", check);
    child.once("exit", check);
    check();
  }

  #end(error: Error | undefined): Promise<void> {
    if (this.#ending === undefined) {
      this.#ending = this.#dispose();
      this.#events?.closed(error);
    }
    return this.#ending;
  }

  async #dispose(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#waiting.clear();
    await endChild(child);
  }

  #stderrQuote(): string | undefined {
    const text = this.stderr().trim();
    return text === "" ? undefined : `stderr ended with ${JSON.stringify(text.slice(-1_000))}`;
  }
}

function joined(...texts: readonly (string | undefined)[]): string | undefined {
  const given = texts.filter((text) => text !== undefined);
  return given.length === 0 ? undefined : given.join("; ");
}

function drained(stdin: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      stdin.off("drain", settle);
      stdin.off("close", settle);
      if (stdin.destroyed) reject(new ConnectionLostError("the server's process closed its stdin", { sent: true }));
      else resolve();
    };
    stdin.on("drain", settle);
    stdin.on("close", settle);
  });
}

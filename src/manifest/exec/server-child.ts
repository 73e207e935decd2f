import { ToolkitError } from "../../core/error.ts";
import { LineReader, type OutputTail } from "../../lib/child/child-output.ts";
import type { PipedChild } from "../../lib/child/spawn-child.ts";
import { parseJson } from "../../lib/nesting.ts";
import { abortable, PendingWork } from "../../lib/promise.ts";
import { isRecord } from "../../lib/value.ts";
import { childFailure, endChild, exitOf, type ManifestCommand, startChild } from "./run-child.ts";

/** A request that is not answered yet. */
interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * A program that answers many calls, as `runtime: server` has it: a request of JSON-RPC 2.0 a line on its stdin, an answer a line on its stdout.
 * It is started with the first call, and again with the next one after it ended.
 */
export class ServerChild {
  readonly #command: ManifestCommand;
  readonly #args: readonly string[];
  readonly #waiting = new Map<number, Waiting>();
  readonly #endings = new PendingWork();
  #starting: Promise<PipedChild> | undefined;
  /** The one that runs. */
  #current: PipedChild | undefined;
  #nextId = 1;
  #isClosed = false;

  constructor(command: ManifestCommand, args: readonly string[]) {
    this.#command = command;
    this.#args = args;
  }

  /** @throws ToolkitError `TOOL_FAILED`, `UNAVAILABLE`; `OUTCOME_UNKNOWN` where it ended with the request; the reason of an abort */
  async call(args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown> {
    if (this.#isClosed) throw new ToolkitError("CLOSED", "The manifest of this tool is gone.", { what: "manifest" });
    this.#starting ??= this.#start();
    const child = await abortable(this.#starting, signal);
    // It ended meanwhile, and nothing was sent.
    if (this.#current !== child) return await this.call(args, signal);
    const id = this.#nextId++;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    answer.catch(() => undefined);
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "execute", params: { args } })}\n`);
    try {
      return await abortable(answer, signal);
    } finally {
      this.#waiting.delete(id);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const child = await this.#starting?.catch(() => undefined);
    if (child !== undefined) this.#endings.add(endChild(child));
    await this.#endings.settled();
  }

  async #start(): Promise<PipedChild> {
    try {
      const { child, stderr } = await startChild(this.#command, this.#args, () => {});
      this.#current = child;
      this.#listen(child, stderr);
      return child;
    } catch (error) {
      this.#starting = undefined;
      throw error;
    }
  }

  #listen(child: PipedChild, stderr: OutputTail): void {
    const { maxOutputBytes: maxBytes, shown } = this.#command;
    let isLost = false;
    const lost = (why: string) => {
      if (!isLost) this.#lost(child, why, stderr);
      isLost = true;
    };
    const tooLong = () => lost(`it wrote a line of more than ${maxBytes} bytes`);
    const lines = new LineReader({ maxBytes, onLine: (line) => this.#answered(line), onOverlong: tooLong });
    let lineBytes = 0;
    child.stdout.on("data", (chunk: Buffer) => {
      lines.push(chunk);
      const end = chunk.lastIndexOf("\n");
      lineBytes = end === -1 ? lineBytes + chunk.length : chunk.length - end - 1;
      // Its line may never end.
      if (lineBytes > maxBytes) tooLong();
    });
    child.once("exit", () => setImmediate(() => lost(exitOf(child) ?? `${shown} ended`)));
    child.stdout.once("close", () => lost("it closed its stdout"));
  }

  #answered(line: string): void {
    const message = lineValue(line);
    if (!isRecord(message) || typeof message.id !== "number") return;
    const waiting = this.#waiting.get(message.id);
    const { error, result } = message;
    if (!isRecord(error)) waiting?.resolve({ result: result ?? null });
    else waiting?.reject(childFailure(this.#command, String(error.message ?? "it answered with an error"), ""));
  }

  /** Ends a child. A request that it was sent may have been done. */
  #lost(child: PipedChild, why: string, stderr: OutputTail): void {
    this.#starting = undefined;
    this.#current = undefined;
    this.#endings.add(endChild(child));
    const cause = childFailure(this.#command, why, stderr.text());
    const namespace = this.#command.shown;
    const message = `The program ${namespace} ended before it answered: ${why}. The call may have run.`;
    for (const { reject } of this.#waiting.values())
      reject(new ToolkitError("OUTCOME_UNKNOWN", message, { namespace }, { cause }));
    this.#waiting.clear();
  }
}

function lineValue(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}

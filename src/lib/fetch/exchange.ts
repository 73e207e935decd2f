import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Agents } from "./agents.ts";
import type { NodeRequest } from "./request.ts";

/** Requests that come to the same when they are made twice (RFC 9110, section 9.2.2). */
const repeatable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"]);
// So much goes to an unused connection in one piece, or not at all.
const wholeBytes = 16 * 1024;

/**
 * Sends a request and gives the head of its answer; the body is still to be read.
 *
 * @throws what Node says went wrong
 */
export async function exchange(request: NodeRequest, agents: Agents): Promise<IncomingMessage> {
  for (;;) {
    request.signal?.throwIfAborted();
    const sending = new Sending(request, agents);
    try {
      return await sending.answer;
    } catch (error) {
      // Each time one connection less is left that the server may have closed.
      if (!sending.mayRepeat(error)) throw error;
    }
  }
}

/** One request on one connection. */
class Sending {
  readonly answer: Promise<IncomingMessage>;
  readonly #request: NodeRequest;
  readonly #client: ClientRequest;

  constructor(request: NodeRequest, agents: Agents) {
    this.#request = request;
    const { url, method, headers, signal } = request;
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    this.#client = send(url, { method, headers, agent: agents.for(url) });
    this.answer = new Promise((resolve, reject) => {
      const onAbort = () =>
        this.#client.destroy(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
      this.#client.once("response", (message) => {
        // The abort goes on as long as the body does.
        if (signal !== undefined) message.once("close", () => signal.removeEventListener("abort", onAbort));
        resolve(message);
      });
      // Not once: what comes after the answer began is told by its body.
      this.#client.on("error", (error) => {
        signal?.removeEventListener("abort", onAbort);
        reject(error);
      });
      signal?.addEventListener("abort", onAbort);
    });
    this.#client.once("socket", (socket) => limitConnecting(socket, agents.connectTimeoutMs));
    this.#write();
  }

  /** True where the server had closed the connection before, and nothing is done twice by sending it again. */
  mayRepeat(error: unknown): boolean {
    const { code, syscall } = error as NodeJS.ErrnoException;
    const { method, body } = this.#request;
    if (!this.#client.reusedSocket || (code !== "ECONNRESET" && code !== "EPIPE")) return false;
    if (body !== undefined && !(typeof body === "string" || body instanceof Uint8Array)) return false;
    if (repeatable.has(method)) return true;
    // What the system refused to write was not sent. What it wrote may have been read, even where no answer came.
    return syscall === "write" && (body === undefined || body.length <= wholeBytes);
  }

  #write(): void {
    const { body } = this.#request;
    if (body === undefined || typeof body === "string" || body instanceof Uint8Array) this.#client.end(body);
    else pipeline(Readable.fromWeb(body), this.#client).catch((error) => this.#client.destroy(error));
  }
}

/** Ends a socket that takes longer than this to connect; the error says that nothing was sent. */
export function limitConnecting(socket: Socket, limitMs: number): void {
  if (!socket.connecting) return;
  const expire = () =>
    socket.destroy(
      Object.assign(new Error(`no connection within ${limitMs} ms`), { code: "ETIMEDOUT", syscall: "connect" }),
    );
  const timer = setTimeout(expire, limitMs);
  const clear = () => clearTimeout(timer);
  socket.once("encrypted" in socket ? "secureConnect" : "connect", clear).once("close", clear);
}

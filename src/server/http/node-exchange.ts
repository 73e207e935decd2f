import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type BodyLimits,
  ClientGone,
  type EventSink,
  type ServedExchange,
  tooLarge,
  tooSlow,
  urlOf,
} from "./http-exchange-port.ts";

type Headers = Readonly<Record<string, string>>;

/** Time in which a client that still sends may read why it is refused, in milliseconds. */
const lingerMs = 500;
/** An answer of more characters may wait for its client, which has to take it. */
const maxBuffered = 64 * 1024;

/** An exchange of `node:http`, or of a framework over it, which may have parsed the body already. */
export class NodeExchange implements ServedExchange {
  readonly method: string;
  readonly path: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  /** The longest that a client may take nothing of its answer, in milliseconds. Undefined before the body is asked for. */
  #idleMs: number | undefined;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
    this.method = request.method ?? "GET";
    // A framework cuts off the path at which it mounts a handler.
    const { originalUrl } = request as { readonly originalUrl?: unknown };
    this.path = typeof originalUrl === "string" ? originalUrl : (request.url ?? "/");
  }

  header(name: string): string | undefined {
    const { headers } = this.#request;
    const value = name === "host" ? (headers.host ?? headers[":authority"]) : headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  toRequest(): Request {
    const headers = Object.entries(this.#request.headers).filter(([name]) => !name.startsWith(":"));
    const pairs = headers.map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")]);
    return new Request(urlOf(this.path, this.header("host")), {
      method: this.method === "GET" || this.method === "DELETE" ? this.method : "POST",
      headers: pairs as [string, string][],
    });
  }

  body({ maxBytes, timeoutMs }: BodyLimits): Promise<string> {
    const request = this.#request;
    this.#idleMs = timeoutMs;
    const { body } = request as { readonly body?: unknown };
    if (body !== undefined) return Promise.resolve(typeof body === "string" ? body : JSON.stringify(body));
    if (Number(this.header("content-length") ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
    const whole = bodyOf(request);
    if (whole !== undefined) return Promise.resolve(whole.toString("utf8"));
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        request.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
        finish();
      };
      const refuse = (error: Error) =>
        settle(() => {
          request.pause();
          reject(error);
        });
      const onData = (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > maxBytes) refuse(tooLarge(maxBytes));
      };
      const onEnd = () => settle(() => resolve(Buffer.concat(chunks).toString("utf8")));
      const onClose = () => settle(() => reject(new ClientGone("The client went while it sent its request.")));
      const timer = setTimeout(() => refuse(tooSlow(timeoutMs)), timeoutMs);
      request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
    });
  }

  reply(status: number, headers: Headers, body = ""): void {
    const response = this.#response;
    if (response.headersSent || response.destroyed) return;
    response.writeHead(status, { ...headers, "content-length": String(Buffer.byteLength(body)) });
    // Less is in the buffers of the socket.
    if (body.length > maxBuffered && this.#idleMs !== undefined)
      response.setTimeout(this.#idleMs, () => response.destroy());
    response.end(body);
    if (headers.connection !== "close") return;
    // It may go on to send what is not read.
    const { socket } = this.#request;
    setTimeout(() => socket.destroy(), lingerMs).unref();
  }

  stream(headers: Headers): EventSink {
    const response = this.#response;
    response.writeHead(200, headers);
    response.flushHeaders();
    return {
      get unread() {
        return response.writableLength;
      },
      write: (text) => void response.write(text),
      end: () => void response.end(),
      destroy: () => void response.destroy(),
    };
  }

  onGone(listener: () => void): void {
    const response = this.#response;
    // The errors of a client that has gone are no more than that.
    response.on("error", () => undefined);
    if (response.destroyed && !response.writableFinished) listener();
    else response.once("close", () => !response.writableFinished && listener());
  }
}

/** The body of a request that is here already, as most are by now. Undefined where it is to be awaited, or another reads it. */
function bodyOf(request: IncomingMessage): Buffer | undefined {
  const { readableLength, readableFlowing, readableEncoding } = request;
  if (readableLength === 0 || readableFlowing !== null || readableEncoding !== null) return undefined;
  if (request.headers["content-length"] !== String(readableLength)) return undefined;
  const body: Buffer | null = request.read();
  // The end of the request is still to be read.
  request.resume();
  return body ?? undefined;
}

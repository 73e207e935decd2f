import {
  type BodyLimits,
  ClientGone,
  type EventSink,
  type ServedExchange,
  tooLarge,
  tooSlow,
} from "./http-exchange-port.ts";

type Headers = Readonly<Record<string, string>>;

/** An exchange of the Fetch standard, as Hono, Next, Bun and Deno have it. */
export class FetchExchange implements ServedExchange {
  readonly method: string;
  readonly path: string;
  readonly #request: Request;
  readonly #host: string;
  readonly #response = Promise.withResolvers<Response>();
  #gone: (() => void) | undefined;

  constructor(request: Request) {
    const { pathname, search, host } = new URL(request.url);
    this.#request = request;
    this.#host = host;
    this.method = request.method;
    this.path = `${pathname}${search}`;
  }

  get response(): Promise<Response> {
    return this.#response.promise;
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? (name === "host" ? this.#host : undefined);
  }

  toRequest(): Request {
    const { url, method, headers } = this.#request;
    return new Request(url, { method: method === "GET" || method === "DELETE" ? method : "POST", headers });
  }

  async body({ maxBytes, timeoutMs }: BodyLimits): Promise<string> {
    if (Number(this.header("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
    const reader = this.#request.body?.getReader();
    if (reader === undefined) return "";
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(tooSlow(timeoutMs)), timeoutMs);
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for (;;) {
        const read = reader.read().catch(() => {
          throw new ClientGone("The client went while it sent its request.");
        });
        const { done, value } = await Promise.race([read, late.promise]);
        if (done) return Buffer.concat(chunks).toString("utf8");
        chunks.push(value);
        size += value.byteLength;
        if (size > maxBytes) throw tooLarge(maxBytes);
      }
    } catch (error) {
      reader.cancel().catch(() => undefined);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  reply(status: number, headers: Headers, body?: string): void {
    this.#response.resolve(
      new Response(body === undefined || body === "" ? null : body, { status, headers: { ...headers } }),
    );
  }

  stream(headers: Headers): EventSink {
    const encoder = new TextEncoder();
    let isOpen = true;
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const queueBytes = 1;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (given) => {
          controller = given;
        },
        cancel: () => {
          isOpen = false;
          this.#gone?.();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: queueBytes }),
    );
    this.#response.resolve(new Response(body, { status: 200, headers: { ...headers } }));
    const close = (finish: () => void) => {
      if (!isOpen) return;
      isOpen = false;
      finish();
    };
    return {
      get unread() {
        return isOpen ? queueBytes - (controller?.desiredSize ?? queueBytes) : 0;
      },
      write: (text) => isOpen && controller?.enqueue(encoder.encode(text)),
      end: () => close(() => controller?.close()),
      destroy: () => close(() => controller?.error(new Error("The client does not read."))),
    };
  }

  onGone(listener: () => void): void {
    let isTold = false;
    this.#gone = () => {
      if (isTold) return;
      isTold = true;
      listener();
    };
    const { signal } = this.#request;
    if (signal.aborted) this.#gone();
    else signal.addEventListener("abort", () => this.#gone?.(), { once: true });
  }
}

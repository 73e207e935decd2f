import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { pipeline, Readable, type Transform } from "node:stream";
import type { Dispatcher } from "undici";

/** One request as it goes over the wire. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The head of an answer whose body is still to be read, or discarded. */
export interface HttpResponse {
  readonly status: number;
  readonly statusText: string;
  /** A header by its name in lower case; several of a name are joined. */
  header(name: string): string | undefined;
  /**
   * Passes the body on as it comes, decoded, to its end. Once.
   *
   * @throws the signal's reason; the error that broke it off; what `take` throws, which ends the exchange
   */
  read(take: (chunk: Uint8Array) => void): Promise<void>;
  /** Ends an exchange whose body is not read to its end. A connection whose answer is complete is kept. */
  discard(): void;
}

/** An answer of a client, for an object of the platform. */
export interface ClientResponse extends HttpResponse {
  readonly headers: IncomingHttpHeaders;
  /** Makes the server wait. */
  pause(): void;
  resume(): void;
}

/** A request has no answer. Its cause says why, with Node's or undici's code. */
export class HttpSendError extends Error {
  override readonly name = "HttpSendError";
  /** False where the request surely never left, so that it is safe to send it again. */
  readonly sent: boolean;

  constructor(cause: unknown, { sent }: { readonly sent: boolean }) {
    super("the request failed", { cause });
    this.sent = sent;
  }
}

/** The connections that an exchange is sent over. */
export interface ClientConnections {
  readonly dispatcher: Dispatcher;
  /** True while a new connection, or the reason why there is none, is handed over to the requests that wait for it. */
  readonly isFresh: boolean;
  /** One request more, or less, waits for a connection. */
  waits(change: 1 | -1): void;
}

type Zlib = typeof import("node:zlib");

const maxCodings = 5;

/** The headers of every request, unless it says otherwise. */
export const clientHeaders = { "user-agent": "node", "accept-encoding": "gzip, deflate, br" };

/** Methods that come to the same when they are sent twice (RFC 9110, section 9.2.2). */
const idempotent: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"]);
const closedCodes: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);
// The system takes so much of a request as a whole, or refuses it.
const wholeBytes = 16 * 1024;
// So much of a body is held for a reader that has not begun.
const earlyBytes = 64 * 1024;

/** One request on one connection, and its answer: the handler that undici reports to. */
export class Exchange implements ClientResponse, Dispatcher.DispatchHandler {
  status = 0;
  statusText = "";
  headers: IncomingHttpHeaders = {};
  readonly answered: Promise<ClientResponse>;
  readonly #request: HttpRequest;
  readonly #client: ClientConnections;
  readonly #answer = Promise.withResolvers<ClientResponse>();
  #body: PromiseWithResolvers<void> | undefined;
  #take: ((chunk: Uint8Array) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #paused: PromiseWithResolvers<void> | undefined;
  #reused = false;
  #early: Uint8Array[] = [];
  #earlySize = 0;
  #over = false;
  #error: unknown;

  constructor(request: HttpRequest, client: ClientConnections) {
    const { url, method, headers, body, signal } = request;
    this.#request = request;
    this.#client = client;
    this.answered = this.#answer.promise;
    client.waits(1);
    signal?.addEventListener("abort", this.#abort);
    const path = url.pathname + url.search;
    const options = { origin: url.origin, path, method: method as Dispatcher.HttpMethod, headers, body: body ?? null };
    try {
      // Said again for a proxy, which gives its own connections undici's defaults.
      client.dispatcher.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** True where the server had closed the connection before, and nothing is done twice by sending the request again. */
  mayRepeat(error: unknown): boolean {
    if (!(error instanceof HttpSendError) || !this.#reused) return false;
    const { code, syscall } = error.cause as NodeJS.ErrnoException;
    if (!closedCodes.has(code)) return false;
    const { method, body = "" } = this.#request;
    // A request the system refused to write was not sent. One it wrote may have been read, even where no answer came.
    return !error.sent || idempotent.has(method) || (syscall === "write" && body.length <= wholeBytes);
  }

  header(name: string): string | undefined {
    const value = this.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  read(take: (chunk: Uint8Array) => void): Promise<void> {
    const coding = this.headers["content-encoding"];
    return coding === undefined ? this.#read(take) : this.#readDecoded(codingsOf(coding), take);
  }

  pause(): void {
    this.#paused ??= Promise.withResolvers();
    this.#controller?.pause();
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
    this.#controller?.resume();
  }

  discard(): void {
    this.#take = undefined;
    this.#early = [];
    if (!this.#over) this.#end(new Error("the answer was discarded"));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const isFirst = this.#controller === undefined;
    this.#controller = controller;
    this.#reused = !this.#client.isFresh;
    if (this.#over) controller.abort(new Error("the request was aborted"));
    else if (isFirst) this.#client.waits(-1);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText = "",
  ): void {
    if (status < 200) return;
    this.status = status;
    this.statusText = statusText;
    this.headers = headers;
    this.#answer.resolve(this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#over) return;
    if (this.#take !== undefined) this.#pass(chunk);
    else {
      this.#early.push(chunk);
      this.#earlySize += chunk.length;
      if (this.#earlySize > earlyBytes) this.#controller?.pause();
    }
  }

  onResponseEnd(): void {
    this.#finish();
    this.#body?.resolve();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #read(take: (chunk: Uint8Array) => void): Promise<void> {
    this.#take = take;
    this.#body = Promise.withResolvers();
    const early = this.#early;
    this.#early = [];
    for (const chunk of early) this.#pass(chunk);
    if (this.#error !== undefined) this.#body.reject(this.#error);
    else if (this.#over) this.#body.resolve();
    else this.#controller?.resume();
    return this.#body.promise;
  }

  async #readDecoded(codings: readonly string[], take: (chunk: Uint8Array) => void): Promise<void> {
    if (codings.length === 0) return this.#read(take);
    const source = new Readable({ read: () => this.#controller?.resume() });
    // Its error is that of the last of its decoders.
    source.on("error", () => {});
    const reading = this.#read((chunk) => {
      if (!source.push(chunk)) this.#controller?.pause();
    });
    reading.then(
      () => source.push(null),
      (error) => source.destroy(error),
    );
    try {
      for await (const chunk of await decoded(source, codings)) {
        take(chunk);
        await this.#paused?.promise;
      }
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  #pass(chunk: Uint8Array): void {
    try {
      this.#take?.(chunk);
    } catch (error) {
      this.#end(error);
    }
  }

  readonly #abort = (): void => this.#end(this.#request.signal?.reason);

  /** Ends it from this side. */
  #end(reason: unknown): void {
    this.#fail(reason);
    this.#controller?.abort(reason instanceof Error ? reason : new Error("aborted"));
  }

  #fail(error: unknown): void {
    if (this.#error !== undefined) return;
    this.#take = undefined;
    this.#paused?.resolve();
    this.#error = error;
    const { signal } = this.#request;
    const sent = this.#controller !== undefined;
    if (!sent) this.#reused = !this.#client.isFresh;
    if (!sent && !this.#over) this.#client.waits(-1);
    this.#finish();
    this.#answer.reject(signal?.aborted === true ? signal.reason : new HttpSendError(error, { sent }));
    this.#body?.reject(error);
  }

  #finish(): void {
    this.#over = true;
    this.#request.signal?.removeEventListener("abort", this.#abort);
  }
}

/** The codings in a header `Content-Encoding`; none where one of them is unknown: then a body is read as it is. */
function codingsOf(header: string | undefined): readonly string[] {
  const codings = header?.split(",").map((coding) => coding.trim().toLowerCase()) ?? [];
  return codings.every((coding) => Object.hasOwn(decoders, coding)) ? codings : [];
}

/** A body without its codings. @throws Error for more than five, or an error of the source */
async function decoded(source: Readable, codings: readonly string[]): Promise<Readable> {
  if (codings.length > maxCodings) throw new Error(`the answer is encoded more than ${maxCodings} times`);
  const zlib = process.getBuiltinModule("node:zlib");
  const isRaw = codings.at(-1) === "deflate" && (await isRawDeflate(source));
  const chain = codings.toReversed().flatMap((coding, at) => decoders[coding]?.(zlib, isRaw && at === 0) ?? []);
  pipeline([source, ...chain], () => {});
  return chain.at(-1) ?? source;
}

// Bytes are passed on as they come, and a missing end is no error, as browsers have it.
const decoders: Readonly<Record<string, (zlib: Zlib, isRaw: boolean) => Transform>> = {
  gzip: (zlib) => zlib.createGunzip(flushed(zlib)),
  "x-gzip": (zlib) => zlib.createGunzip(flushed(zlib)),
  deflate: (zlib, isRaw) => (isRaw ? zlib.createInflateRaw(flushed(zlib)) : zlib.createInflate(flushed(zlib))),
  br: (zlib) => {
    const { BROTLI_OPERATION_FLUSH: flush } = zlib.constants;
    return zlib.createBrotliDecompress({ flush, finishFlush: flush });
  },
};

function flushed({ constants: { Z_SYNC_FLUSH } }: Zlib): { readonly flush: number; readonly finishFlush: number } {
  return { flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH };
}

/** `deflate` is two formats in the wild: with the header of zlib, as it should be, and without. The first byte tells them apart. */
async function isRawDeflate(source: Readable): Promise<boolean> {
  if (source.readableLength === 0) await once(source, "readable");
  const start: Uint8Array | null = source.read();
  if (start !== null) source.unshift(start);
  return ((start?.[0] ?? 8) & 0x0f) !== 8;
}

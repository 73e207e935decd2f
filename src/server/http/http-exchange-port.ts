import type { RpcId } from "../../mcp/rpc/rpc-message.ts";

/** A reason to refuse a request, with the status of HTTP. */
export class RequestRefusal extends Error {
  override readonly name = "RequestRefusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Code of JSON-RPC in the body. */
  readonly rpcCode: number;
  /** The id of the request, where it was read; and the data of the error. */
  readonly rpcId: RpcId | undefined;
  readonly data: unknown;

  constructor(
    status: number,
    message: string,
    {
      headers = {},
      rpcCode = -32_000,
      rpcId,
      data,
    }: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly rpcCode?: number;
      readonly rpcId?: RpcId | undefined;
      readonly data?: unknown;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.rpcCode = rpcCode;
    this.rpcId = rpcId;
    this.data = data;
  }
}

/** The client went before its request was read whole. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** The limits of a body. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** Time for the whole of it, in milliseconds. */
  readonly timeoutMs: number;
}

/** An event stream that was begun. */
export interface EventSink {
  /** Bytes that the client has not taken yet, as far as is known. */
  readonly unread: number;
  write(text: string): void;
  end(): void;
  /** Ends it at once, what was not taken included. */
  destroy(): void;
}

type Headers = Readonly<Record<string, string>>;

/** One request of HTTP and its answer, over `node:http` or over fetch. */
export interface ServedExchange {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  header(name: string): string | undefined;
  /**
   * Reads the body.
   *
   * @throws RequestRefusal for one that is too large, or takes too long; ClientGone
   */
  body(limits: BodyLimits): Promise<string>;
  /** The request without its body, for code that decides who makes it. */
  toRequest(): Request;
  /** Answers it whole. */
  reply(status: number, headers: Headers, body?: string): void;
  /** Begins an event stream as the answer. */
  stream(headers: Headers): EventSink;
  /** Calls back once when the client has gone before the answer was whole. */
  onGone(listener: () => void): void;
}

/** The URL of a request whose host may be anything. */
export function urlOf(path: string, host: string | undefined): URL {
  const parsed = host === undefined ? null : URL.parse(path, `http://${host}`);
  return parsed ?? URL.parse(path, "http://localhost") ?? new URL("http://localhost/");
}

export function tooLarge(maxBytes: number): RequestRefusal {
  const message = `The body is larger than maxMessageBytes (${maxBytes}).`;
  return new RequestRefusal(413, message, { headers: { connection: "close" } });
}

export function tooSlow(timeoutMs: number): RequestRefusal {
  const message = `The body did not come within bodyTimeoutMs (${timeoutMs}).`;
  return new RequestRefusal(408, message, { headers: { connection: "close" } });
}

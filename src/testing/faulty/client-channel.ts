import type { FaultTransport } from "./faults.ts";

/** The id of a request, as the client chose it. */
export type JsonRpcId = string | number;

/** The request that a message belongs to. */
export interface RelatedRequest {
  readonly request: JsonRpcId;
  /** Whether the message is the answer. */
  readonly answer: boolean;
}

/** The outcome of a request. */
export type MethodOutcome =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: object } };

/** The transport to one client, for one connection. No method throws. */
export interface ClientChannel {
  readonly transport: FaultTransport;
  /** Writes the text of one message, or of garbage in the place of one. */
  write(text: string, about?: RelatedRequest): void;
  /** A request is over. Without an answer, its response ends without a result. */
  done(request: JsonRpcId): void;
  /** Stops reading and writing, and stays open. */
  freeze(): void;
  /** Ends the connection as a crash of the server does. */
  kill(): void;
}

interface PendingRequest {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The requests of a server to its client, until they are answered. */
export class ClientRequests {
  readonly #write: (message: object, about?: RelatedRequest) => void;
  readonly #pending = new Map<string, PendingRequest>();
  #count = 0;

  constructor(write: (message: object, about?: RelatedRequest) => void) {
    this.#write = write;
  }

  request(method: string, params?: object, about?: RelatedRequest): Promise<unknown> {
    const id = `server-${++this.#count}`;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#write({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) }, about);
    });
  }

  answered({ id, result, error }: Readonly<Record<string, unknown>>): void {
    const pending = this.#pending.get(String(id));
    this.#pending.delete(String(id));
    if (error === undefined) pending?.resolve(result);
    else pending?.reject(new Error(`The client answered ${JSON.stringify(error)}`));
  }

  end(): void {
    for (const { reject } of this.#pending.values())
      reject(new Error("The connection ended before the client answered."));
    this.#pending.clear();
  }
}

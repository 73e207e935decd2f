import type { About } from "./line.ts";

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The requests a server made to its client, until they are answered. */
export class AskedClient {
  readonly #write: (message: object, about?: About) => void;
  readonly #waiting = new Map<string, Waiting>();
  #made = 0;

  constructor(write: (message: object, about?: About) => void) {
    this.#write = write;
  }

  request(method: string, params?: object, about?: About): Promise<unknown> {
    const id = `server-${++this.#made}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#write({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) }, about);
    });
  }

  answered({ id, result, error }: Readonly<Record<string, unknown>>): void {
    const waiting = this.#waiting.get(String(id));
    this.#waiting.delete(String(id));
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(`The client answered ${JSON.stringify(error)}`));
  }

  end(): void {
    for (const { reject } of this.#waiting.values())
      reject(new Error("The connection ended before the client answered."));
    this.#waiting.clear();
  }
}

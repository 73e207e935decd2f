import type { IncomingMessage } from "node:http";
import { Body } from "./body.ts";
import type { NodeRequest } from "./request.ts";

/**
 * The answer to a request. It is a `Response` of the platform whose stream is made when it is asked for: whoever takes the body by
 * `each` needs none, and a stream costs more than the rest of a short answer.
 */
export class NodeResponse extends Response {
  readonly #body: Body | undefined;
  #streamed: Response | undefined;

  /** @throws RangeError or TypeError where the platform can hold no such answer */
  constructor(message: IncomingMessage, request: NodeRequest, redirects: number) {
    const { statusCode: status = 0, statusMessage: statusText = "" } = message;
    super(null, { status, statusText, headers: headersOf(message) });
    this.#body = Body.of(message, request);
    // The platform's constructor takes none of these.
    Object.defineProperties(this, {
      url: { value: withoutHash(request.url) },
      redirected: { value: redirects > 0 },
      body: { get: () => this.#stream().body },
      bodyUsed: { get: () => this.#streamed?.bodyUsed ?? this.#body?.taken ?? false },
    });
  }

  /** Hands on the body as it comes, as fast as it comes. @throws as the body's stream; what `take` throws, which ends it */
  async each(take: (chunk: Uint8Array) => void): Promise<void> {
    await this.#body?.each(take);
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return this.#stream().arrayBuffer();
  }

  override blob(): Promise<Blob> {
    return this.#stream().blob();
  }

  override bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#stream().bytes();
  }

  override clone(): Response {
    return this.#stream().clone();
  }

  override formData(): Promise<FormData> {
    return this.#stream().formData();
  }

  override json(): Promise<unknown> {
    return this.#stream().json();
  }

  override text(): Promise<string> {
    return this.#stream().text();
  }

  #stream(): Response {
    const { status, headers } = this;
    this.#streamed ??= new Response(this.#body?.stream() ?? null, { status, headers });
    return this.#streamed;
  }
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) pairs.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return pairs;
}

function withoutHash({ href, hash }: URL): string {
  return hash === "" ? href : href.slice(0, -hash.length);
}

import { Agents, type TlsOptions } from "./agents.ts";
import { exchange } from "./exchange.ts";
import { redirected } from "./redirect.ts";
import { type NodeRequest, readRequest } from "./request.ts";
import { responseOf } from "./response.ts";

/** What the connections of a `nodeFetch` are made with. */
export interface NodeFetchOptions {
  /** How long an unused connection is kept for the next request, in milliseconds; less where the server says so. Default: 4,000. */
  readonly idleMs?: number | undefined;
  /** How long a connection may take to come about, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** For HTTPS: whom to trust, and who we are. Default: what Node trusts, and nobody. */
  readonly tls?: TlsOptions | undefined;
}

/**
 * A `fetch` over `node:http`: HTTP/1.1 over connections that are kept and used again, and for a third of the processor time the
 * platform's own takes. Each one has connections of its own; unused ones keep no process alive.
 *
 * It does what the platform's `fetch` does for a service: redirects (without credentials where they lead to another origin), abort at
 * every stage, streamed bodies, gzip, deflate and brotli. It has no cookies, no cache, no CORS, and no limit of its own for an answer
 * that takes its time: that is the signal's. A request that met a connection the server had closed is sent again where it surely was
 * not sent, or changes nothing by being sent twice.
 *
 * @throws through the function it gives, as `fetch` does: `TypeError` whose `cause` has Node's code (`ECONNREFUSED`, ...), or the
 *   signal's reason
 * @example
 * ```ts
 * toolkit.addConnector(mcpConnector("https://intranet.example/mcp", { fetch: nodeFetch({ tls: { ca } }) }));
 * ```
 */
export function nodeFetch(options: NodeFetchOptions = {}): typeof globalThis.fetch {
  const agents = new Agents(options);
  return async (input, init = {}) => {
    const request = readRequest(input, init);
    try {
      return await follow(request, agents);
    } catch (error) {
      if (request.signal?.aborted === true) throw request.signal.reason;
      throw error instanceof TypeError ? error : new TypeError("fetch failed", { cause: error });
    }
  };
}

const maxRedirects = 20;

async function follow(first: NodeRequest, agents: Agents): Promise<Response> {
  let request = first;
  for (let redirects = 0; ; redirects += 1) {
    const message = await exchange(request, agents);
    const next = redirected(request, message);
    if (next === undefined) return responseOf(message, request, redirects);
    // Nobody reads its body, and its connection is not worth waiting for.
    message.destroy();
    if (redirects === maxRedirects)
      throw new Error(`more than ${maxRedirects} redirects, the last to ${next.url.origin}`);
    request = next;
  }
}

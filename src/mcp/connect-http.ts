import type { ConnectorHost, ConnectorSession } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type { CredentialsHost, HeaderFunction, HttpCredentials } from "../core/http-auth.ts";
import { kinds } from "../core/item.ts";
import { type Attempt, openSession } from "./connect.ts";
import type { CheckedHttpTarget } from "./target/target.ts";
import { fetchWithCredentials } from "./transport/http/credentials.ts";
import type { RequestFetch } from "./transport/http/network.ts";
import { HttpStatusError } from "./transport/http/status.ts";
import type { Transport } from "./transport/transport.ts";

/** What sessions over HTTP are opened with. */
export interface HttpConnectParts {
  readonly fetch: typeof globalThis.fetch;
  readonly maxMessageBytes: number;
  /** Decides headers at each request. */
  readonly headers: HeaderFunction | undefined;
  readonly credentials: HttpCredentials | undefined;
}

/** What servers that know only the transport of 2024 answer to a POST. */
const fallbackStatuses: ReadonlySet<number> = new Set([400, 404, 405]);
const credentialStatuses: ReadonlySet<number> = new Set([401, 403]);

/** Opens sessions over Streamable HTTP, or SSE where the server speaks only that. */
export function httpConnect(
  target: CheckedHttpTarget,
  parts: HttpConnectParts,
): (attempt: Attempt) => Promise<ConnectorSession> {
  const { fetch, headers, credentials } = parts;
  // Without anything to decide at each request nothing is between the transport and fetch.
  if (headers === undefined && credentials === undefined) return (attempt) => connect(target, parts, fetch, attempt);
  return async (attempt) => {
    const { label, redactor } = attempt;
    const lifetime = new AbortController();
    const host = credentialsHost(attempt.host, lifetime.signal);
    const ask = fetchWithCredentials({ fetch, label, headers, credentials, redactor, host });
    try {
      const session = await connect(target, parts, ask, attempt);
      void session.closed.then(() => lifetime.abort());
      return session;
    } catch (error) {
      lifetime.abort();
      throw error;
    }
  };
}

function credentialsHost(host: ConnectorHost, signal: AbortSignal): CredentialsHost {
  return {
    signal,
    waits: (reason) => host.waits(reason),
    restored: () => {
      for (const kind of kinds) host.changed({ kind });
    },
  };
}

async function connect(
  { url, headers, protocol }: CheckedHttpTarget,
  { maxMessageBytes }: HttpConnectParts,
  fetch: RequestFetch,
  attempt: Attempt,
): Promise<ConnectorSession> {
  const parameters = { url, headers, fetch, maxMessageBytes, redactor: attempt.redactor };
  const streamable = async (): Promise<Transport> =>
    new (await import("./transport/http/streamable-http.ts")).StreamableHttpTransport(parameters);
  const sse = async (): Promise<Transport> => new (await import("./transport/http/sse.ts")).SseTransport(parameters);
  if (protocol !== "auto") return openSession(await (protocol === "sse" ? sse() : streamable()), attempt);
  try {
    return await openSession(await streamable(), attempt);
  } catch (error) {
    if (!(error instanceof HttpStatusError) || !fallbackStatuses.has(error.status)) throw error;
    return openSession(await sse(), attempt).catch((second: unknown) => {
      throw neither(error, second, attempt);
    });
  }
}

/** Spoken to in both ways and understood in none: both answers say why. */
function neither(first: HttpStatusError, second: unknown, { label, signal }: Attempt): unknown {
  if (signal.aborted || (second instanceof HttpStatusError && credentialStatuses.has(second.status))) return second;
  const why = second instanceof Error ? second.message : String(second);
  return new ToolkitError(
    "UNAVAILABLE",
    `${label} is no MCP endpoint: it ${first.message} to Streamable HTTP, and as an SSE stream it ${why}.`,
    { namespace: label },
    { cause: second },
  );
}

import type { ConnectorHost, ConnectorSession } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type { CredentialsHost, HeaderFunction, HttpCredentials } from "../core/http-auth.ts";
import { kinds } from "../core/item.ts";
import { serverOutputOf, withServerOutput } from "../core/server-output.ts";
import { clientHeaders, HttpSendError } from "../lib/fetch/client-exchange.ts";
import { clientOf } from "../lib/fetch/node-fetch.ts";
import { isDown } from "../lib/fetch/send-failure.ts";
import { abortable } from "../lib/promise.ts";
import { openOverHttp } from "./era/open-either.ts";
import { ParameterHeaders } from "./modern/parameter-headers.ts";
import { shakeByDiscovery } from "./modern/shake-by-discovery.ts";
import { type Attempt, openSession, shakeByInitialize } from "./open-session.ts";
import type { CheckedHttpTarget } from "./target/parse-target.ts";
import { canonicalUrl } from "./target/target-values.ts";
import { sendWithCredentials } from "./transport/http/http-credentials.ts";
import { HttpStatusError } from "./transport/http/http-error.ts";
import type { EndpointSend, McpEndpoint } from "./transport/http/http-exchange.ts";
import type { Transport } from "./transport/transport.ts";

/** The parts of all sessions of one HTTP connector. */
export interface HttpConnectParts {
  readonly fetch: typeof globalThis.fetch;
  readonly maxMessageBytes: number;
  /** Decides headers at each request. */
  readonly headers: HeaderFunction | undefined;
  readonly credentials: HttpCredentials | undefined;
}

/** The statuses by which servers that know only the transport of 2024 answer a POST. */
const fallbackStatuses: ReadonlySet<number> = new Set([400, 404, 405]);
const credentialStatuses: ReadonlySet<number> = new Set([401, 403]);

/** Opens sessions over Streamable HTTP, or SSE where the server speaks only that. */
export function httpConnect(
  target: CheckedHttpTarget,
  parts: HttpConnectParts,
): (attempt: Attempt) => Promise<ConnectorSession> {
  const { headers, credentials, maxMessageBytes } = parts;
  const warn = credentialsWarnings(credentials);
  let isFirst = true;
  return async (attempt) => {
    const { label, redactor } = attempt;
    const shared = clientOf(parts.fetch);
    // A connection that was kept from an earlier session may lead nowhere.
    const client = isFirst ? shared : shared?.fresh();
    isFirst = false;
    const sendAsIs: EndpointSend = client?.send ?? sendOverFetch(parts.fetch);
    const endpoint: McpEndpoint = {
      url: target.url,
      headers: client === undefined ? target.headers : { ...clientHeaders, ...target.headers },
      send: sendAsIs,
      maxMessageBytes,
      redactor,
    };
    // Without anything to decide at each request nothing is between the transport and the network.
    if (headers === undefined && credentials === undefined) return connect(target, endpoint, attempt);
    // Awaited: what is logged after the end of an attempt is left out.
    await warn(attempt);
    const lifetime = new AbortController();
    const host = credentialsHost(attempt.host, lifetime.signal);
    const url = canonicalUrl(target.url);
    const send = sendWithCredentials({ send: sendAsIs, url, label, headers, credentials, redactor, host });
    try {
      const session = await connect(target, { ...endpoint, send }, attempt);
      void session.closed.then(() => lifetime.abort());
      return session;
    } catch (error) {
      lifetime.abort();
      throw error;
    }
  };
}

/** Sends with a `fetch` that is not ours. */
export function sendOverFetch(fetch: typeof globalThis.fetch): EndpointSend {
  return async ({ url, method, headers, body = null, signal }) => {
    let response: Response;
    try {
      response = await fetch(url, { method, headers, body, signal, redirect: "manual" });
    } catch (cause) {
      throw new HttpSendError(cause, { sent: !isDown(cause) });
    }
    return {
      status: response.status,
      statusText: response.statusText,
      header: (name) => response.headers.get(name) ?? undefined,
      async read(take) {
        // Leaving the loop cancels the body.
        for await (const chunk of response.body ?? []) take(chunk);
      },
      discard: () => void response.body?.cancel().catch(() => {}),
    };
  };
}

/** Logs what the operator should know of the credentials, each thing once. */
export function credentialsWarnings(
  credentials: HttpCredentials | undefined,
): (attempt: Pick<Attempt, "label" | "host" | "signal">) => Promise<void> {
  let last: string | undefined;
  return async ({ label, host, signal }) => {
    if (credentials?.warning === undefined) return;
    // A failure of theirs shows when they are used.
    const text = await abortable(credentials.warning(), signal).catch(() => undefined);
    if (text !== undefined && text !== last) host.log({ level: "warning", logger: label, data: text });
    last = text;
  };
}

/** A connection as its credentials use it. */
export function credentialsHost(host: ConnectorHost, signal: AbortSignal): CredentialsHost {
  return {
    signal,
    waits: (reason) => host.waits(reason),
    restored: () => {
      for (const kind of kinds) host.changed({ kind });
    },
  };
}

/** Loads a module when it is first needed: each `import()` looks for it anew. */
function loader<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load();
    return loaded;
  };
}

const loadStreamable = loader(() => import("./transport/http/streamable-http.ts"));
const loadModern = loader(() => import("./modern/modern-http.ts"));

async function connect(
  { protocol }: CheckedHttpTarget,
  endpoint: McpEndpoint,
  attempt: Attempt,
): Promise<ConnectorSession> {
  const streamable = async (): Promise<Transport> => new (await loadStreamable()).StreamableHttpTransport(endpoint);
  const legacy = async (): Promise<Transport> =>
    new (await import("./transport/http/legacy-sse.ts")).LegacySseTransport(endpoint);
  const shake = shakeByInitialize;
  if (protocol === "sse") return openSession(await legacy(), attempt, shake);
  return openOverHttp(attempt, {
    stateless: async (by) => {
      const { ModernHttpTransport } = await loadModern();
      const parameters = new ParameterHeaders();
      return openSession(new ModernHttpTransport(endpoint, parameters), by, shakeByDiscovery(parameters));
    },
    withHandshake: async (by) => {
      if (protocol !== "auto") return openSession(await streamable(), by, shake);
      try {
        return await openSession(await streamable(), by, shake);
      } catch (error) {
        if (!(error instanceof HttpStatusError) || !fallbackStatuses.has(error.status)) throw error;
        return openSession(await legacy(), by, shake).catch((second: unknown) => {
          throw neither(error, second, by);
        });
      }
    },
  });
}

/** The error of a server that speaks neither transport: both answers say why. */
function neither(first: HttpStatusError, second: unknown, { label, signal }: Attempt): unknown {
  if (signal.aborted || (second instanceof HttpStatusError && credentialStatuses.has(second.status))) return second;
  const why = second instanceof Error ? second.message : String(second);
  const outputs = [first, second].map(serverOutputOf).filter((output) => output !== undefined);
  const cause = withServerOutput(new Error(why), outputs.length === 0 ? undefined : [...new Set(outputs)].join("; "));
  return new ToolkitError(
    "UNAVAILABLE",
    `${label} is no MCP endpoint: it ${first.message} to Streamable HTTP, and as an SSE stream it ${why}.`,
    { namespace: label },
    { cause },
  );
}

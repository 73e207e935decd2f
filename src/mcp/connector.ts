import type { Connector, ConnectorSession } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type { ConnectorTarget } from "../core/target.ts";
import {
  type Attempt,
  type ConnectorOptions,
  connectFailure,
  defaultConnectTimeoutMs,
  openSession,
  within,
} from "./connect.ts";
import { noRedactor, redactorOf } from "./redact.ts";
import {
  type CheckedHttpTarget,
  type CheckedStdioTarget,
  labelOf,
  parseTarget,
  suggestedNameOf,
} from "./target/target.ts";
import { canonicalUrl } from "./target/url.ts";
import { HttpStatusError } from "./transport/http/status.ts";
import type { ServerFactory } from "./transport/in-memory.ts";
import { inheritedEnvironment } from "./transport/stdio/environment.ts";
import type { Transport } from "./transport/transport.ts";

/** How an MCP server is reached. */
export interface McpConnectorOptions extends ConnectorOptions {
  /** For HTTP: sent with every request, in addition to the target's own; of the same name, these win. A child process takes none. */
  readonly headers?: Readonly<Record<string, string>> | Headers | undefined;
  /** For HTTP: what sends the requests. Default: the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The largest message the server may send, in bytes. Default: 64 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Where `${VAR}` in the target is looked up. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

const defaultMaxMessageBytes = 64 * 1024 * 1024;
/** What servers that know only the transport of 2024 answer to a POST. */
const fallbackStatuses: ReadonlySet<number> = new Set([400, 404, 405]);
const credentialStatuses: ReadonlySet<number> = new Set([401, 403]);

/**
 * A connector for an MCP server: over Streamable HTTP (falling back to SSE where the server speaks only that) for a URL, over stdio
 * with a child process for a command.
 *
 * Nothing is started here: `connect` does, each time anew.
 *
 * @throws ToolkitError `INVALID_TARGET`; an environment variable that is missing is named
 * @example
 * ```ts
 * toolkit.addConnector(mcpConnector({ command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] }));
 * toolkit.addConnector(mcpConnector("https://example.com/mcp", { headers: { Authorization: `Bearer ${token}` } }));
 * ```
 */
export function mcpConnector(target: ConnectorTarget, options: McpConnectorOptions = {}): Connector {
  const checked = parseTarget(target, options);
  const label = labelOf(checked);
  const redactor = redactorOf(checked);
  return {
    label,
    // Two children with the same command line are two servers.
    key: checked.kind === "http" ? canonicalUrl(checked.url) : undefined,
    suggestedName: suggestedNameOf(checked),
    connectTimeoutMs: options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    connect: (connection) =>
      attempt({ label, options, redactor, ...connection }, (current) =>
        checked.kind === "http" ? connectHttp(checked, options, current) : connectStdio(checked, options, current),
      ),
  };
}

/**
 * A connector for an MCP server in this process.
 *
 * @param create - connects a new server to the transport it is given, for each connection: one server object serves one session
 * @example
 * ```ts
 * toolkit.addConnector(inMemoryConnector((transport) => createMyServer().connect(transport)));
 * ```
 */
export function inMemoryConnector(
  create: ServerFactory,
  options: ConnectorOptions & { /** For people. Default: `in-memory`. */ readonly label?: string | undefined } = {},
): Connector {
  const label = options.label ?? "in-memory";
  return {
    label,
    connectTimeoutMs: options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    connect: (connection) =>
      attempt({ label, options, redactor: noRedactor, ...connection }, async (current) => {
        const { InMemoryTransport } = await import("./transport/in-memory.ts");
        return openSession(new InMemoryTransport(create), current);
      }),
  };
}

async function attempt(
  begun: Attempt,
  run: (attempt: Attempt) => Promise<ConnectorSession>,
): Promise<ConnectorSession> {
  return within(begun, async (current) => {
    try {
      return await run(current);
    } catch (error) {
      throw connectFailure(error, current);
    }
  });
}

async function connectStdio(
  { command, args, env, cwd }: CheckedStdioTarget,
  { maxMessageBytes = defaultMaxMessageBytes }: McpConnectorOptions,
  attempt: Attempt,
): Promise<ConnectorSession> {
  // Loaded when it is needed: a service that speaks HTTP only needs no child processes.
  const { StdioTransport } = await import("./transport/stdio/stdio.ts");
  const { redactor } = attempt;
  const environment = { ...inheritedEnvironment(), ...env };
  return openSession(new StdioTransport({ command, args, env: environment, cwd, maxMessageBytes, redactor }), attempt);
}

async function connectHttp(
  { url, headers, protocol }: CheckedHttpTarget,
  { fetch = globalThis.fetch, maxMessageBytes = defaultMaxMessageBytes }: McpConnectorOptions,
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

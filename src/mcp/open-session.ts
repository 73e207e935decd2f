import type { ConnectorHost, ConnectorSession } from "../core/connector.ts";
import type { ConnectorLimits, ReadConnectorLimits } from "../core/connector-limits.ts";
import type { Kind } from "../core/item.ts";
import { withServerOutput } from "../core/server-output.ts";
import type { LogLevel } from "../core/session.ts";
import { lists } from "./descriptor.ts";
import { type ClientInfo, ownClientInfo, shakeHands } from "./handshake.ts";
import { McpSession } from "./mcp-session.ts";
import type { Redactor } from "./redact.ts";
import { failureOf } from "./request-failure.ts";
import { Peer, type PeerHandlers } from "./rpc/peer.ts";
import { ConnectionLostError } from "./rpc/rpc-error.ts";
import { clientCapabilities, serverRequests } from "./server-request.ts";
import type { Transport } from "./transport/transport.ts";

/** A folder or other place a server may work in. */
export interface Root {
  /** A `file:` URI. */
  readonly uri: string;
  readonly name?: string | undefined;
}

/** The options of every MCP connector. */
export interface ConnectorOptions extends ConnectorLimits {
  /** The time the whole handshake may take, in milliseconds. Default: 30,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** The name and version the client reports. Default: toolweave and its version. */
  readonly clientInfo?: ClientInfo | undefined;
  /** The folders the server may work in. Given, the server may ask for them. */
  readonly roots?: readonly Root[] | undefined;
  /** The least level of log messages to ask for. Default: the server decides. */
  readonly logLevel?: LogLevel | undefined;
}

/** The reason of the signal of an attempt that took too long. */
class ConnectTimeoutError extends Error {
  override readonly name = "ConnectTimeoutError";
}

/** One attempt to connect. */
export interface Attempt {
  readonly label: string;
  readonly host: ConnectorHost;
  readonly options: ConnectorOptions;
  readonly limits: ReadConnectorLimits;
  /** Redacts the messages of the server. */
  readonly redactor: Redactor;
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
  /** Advice where it took too long. */
  readonly timeoutHint?: string | undefined;
}

export const defaultConnectTimeoutMs = 30_000;
const logLevels: readonly LogLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

/**
 * Runs an attempt within its time limit and the caller's signal.
 *
 * @throws the signal's reason, or whatever `run` throws: after the limit its signal is aborted
 */
export async function within<T>(attempt: Attempt, run: (attempt: Attempt) => Promise<T>): Promise<T> {
  const { options, signal } = attempt;
  const timeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  signal.throwIfAborted();
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  const expire = () =>
    controller.abort(new ConnectTimeoutError(`did not answer within ${timeoutMs} ms (connectTimeoutMs)`));
  let timer = setTimeout(expire, timeoutMs);
  const waits = (reason: Error | undefined) => {
    clearTimeout(timer);
    if (reason === undefined && !over) timer = setTimeout(expire, timeoutMs);
    return attempt.host.waits(reason);
  };
  let over = false;
  signal.addEventListener("abort", onAbort);
  try {
    return await run({ ...attempt, host: { ...bound(attempt.host), waits }, signal: controller.signal });
  } finally {
    over = true;
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Connects over a transport and shakes hands. When that fails, everything it had started is ended before it rejects.
 *
 * @throws what the handshake threw, untranslated; the signal's reason
 */
export async function openSession(transport: Transport, attempt: Attempt): Promise<ConnectorSession> {
  const { label, options, limits, redactor, signal } = attempt;
  const host = guarded(attempt.host, redactor);
  const { clientInfo = ownClientInfo(), roots, logLevel } = options;
  const handlers: PeerHandlers = {
    notification: (method, params) => notified(host, method, params, label),
    request: serverRequests(host, roots),
    gap: () => {
      for (const kind of Object.keys(lists) as Kind[]) host.changed({ kind, gap: true });
    },
    warning: (text) => host.log({ level: "warning", logger: label, data: text }),
  };
  const peer = new Peer(transport, handlers, limits);
  // An abort must not cancel initialize, the specification says: it ends the connection instead.
  const onAbort = () => void peer.close();
  signal.addEventListener("abort", onAbort);
  try {
    await peer.start({ signal });
    // One that was given up meanwhile must not be taken for the one that came after it.
    if (transport.stderr !== undefined && !signal.aborted) host.started?.(transport);
    const server = await shakeHands(peer, transport, {
      clientInfo,
      capabilities: clientCapabilities(host, roots),
      label,
      redactor,
    });
    signal.throwIfAborted();
    // Not waited for: a server that does not care loses nothing.
    if (logLevel !== undefined && server.capabilities.logging !== undefined) {
      peer.request("logging/setLevel", { level: logLevel }).catch(() => {});
    }
    return new McpSession({ peer, transport, server, label, redactor, limits });
  } catch (error) {
    await peer.close();
    throw explained(error, transport, attempt);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The error of a failed attempt: the signal's reason as it is, the rest as a ToolkitError where it is known. */
export function connectFailure(error: unknown, { label, redactor, signal }: Attempt): unknown {
  if (signal.aborted && !(error instanceof ConnectionLostError)) return error;
  return failureOf(error, {
    what: "initialize",
    label,
    redactor,
    server: undefined,
    repeatable: true,
    isOfCaller: false,
  });
}

/** Adds how the server ended in place of an answer, and beside the error what it printed. */
function explained(error: unknown, transport: Transport, { signal, timeoutHint }: Attempt): unknown {
  const { reason: why, output } = transport.diagnosis?.() ?? { reason: undefined, output: undefined };
  const reason: unknown = signal.reason;
  if (reason instanceof ConnectTimeoutError) {
    const ended = why === undefined ? reason.message : `${reason.message}; ${why}`;
    const message = timeoutHint === undefined ? ended : `${ended}. ${timeoutHint}`;
    return withServerOutput(new ConnectionLostError(message, { sent: true, cause: reason }), output);
  }
  if (signal.aborted) return reason;
  if (!(error instanceof ConnectionLostError)) return error;
  const lost = why === undefined ? error : new ConnectionLostError(why, { sent: error.sent, cause: error });
  return withServerOutput(lost, output);
}

/** The methods of a host without the host, to put others in the place of some. */
function bound(host: ConnectorHost): ConnectorHost {
  return {
    ...(host.elicit === undefined ? {} : { elicit: host.elicit.bind(host) }),
    ...(host.sample === undefined ? {} : { sample: host.sample.bind(host) }),
    changed: (change) => host.changed(change),
    log: (entry) => host.log(entry),
    waits: (reason) => host.waits(reason),
    started: (process) => host.started?.(process),
  };
}

/** A host whose errors cannot break the connection, and that gets no secret. */
function guarded(host: ConnectorHost, redactor: Redactor): ConnectorHost {
  const own = bound(host);
  const { elicit, sample } = own;
  const attempt = (report: () => void) => {
    try {
      report();
    } catch {
      // The connection can do nothing about it.
    }
  };
  return {
    ...own,
    // A person or a model gets what these say.
    ...(elicit && { elicit: (request, options) => elicit(redactor.described(request), options) }),
    ...(sample && { sample: (request, options) => sample(redactor.described(request), options) }),
    changed: (change) => attempt(() => host.changed(redactor.described(change))),
    started: (process) => attempt(() => host.started?.(process)),
    log: ({ level, logger, data }) =>
      attempt(() =>
        host.log({
          level,
          logger: logger === undefined ? undefined : redactor.text(logger),
          data: redactor.value(data),
        }),
      ),
  };
}

function notified(host: ConnectorHost, method: string, params: Readonly<Record<string, unknown>>, label: string): void {
  for (const kind of changedBy[method] ?? []) host.changed({ kind });
  if (method === "notifications/resources/updated" && typeof params.uri === "string") {
    host.changed({ kind: "resource", uri: params.uri });
  }
  if (method === "notifications/message") {
    host.log({
      level: logLevels.find((level) => level === params.level) ?? "info",
      logger: typeof params.logger === "string" ? params.logger : label,
      data: params.data,
    });
  }
}

/** The kinds that each notification is about. */
const changedBy: Readonly<Record<string, readonly Kind[]>> = {
  "notifications/tools/list_changed": ["tool"],
  "notifications/prompts/list_changed": ["prompt"],
  "notifications/resources/list_changed": ["resource", "template"],
};

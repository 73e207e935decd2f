import type { ServerInfo } from "../core/connection.ts";
import type { ConnectorHost, ConnectorSession } from "../core/connector.ts";
import type { ConnectorLimits, ReadConnectorLimits } from "../core/connector-limits.ts";
import { ToolkitError } from "../core/error.ts";
import type { Root } from "../core/interaction.ts";
import type { CallContext, Kind } from "../core/item.ts";
import { withServerOutput } from "../core/server-output.ts";
import { type LogLevel, logLevels } from "../core/session.ts";
import { lists } from "./descriptor.ts";
import type { EraMemory } from "./era/era-memory.ts";
import { type ClientInfo, ownClientInfo, shakeHands } from "./handshake.ts";
import { McpSession } from "./mcp-session.ts";
import { EarlierRevisionError } from "./modern/discover.ts";
import { modernVersion } from "./modern/revision.ts";
import type { Redactor } from "./redact.ts";
import { failureOf } from "./request-failure.ts";
import { Peer, type PeerHandlers } from "./rpc/peer.ts";
import { ConnectionLostError } from "./rpc/rpc-error.ts";
import { clientCapabilities, declinedInWords, serverRequests } from "./server-request.ts";
import { HandshakeWire, type SessionWire } from "./session-wire.ts";
import type { Transport } from "./transport/transport.ts";
import { unsupportedProtocol } from "./unsupported-protocol.ts";

/** The revision that a connector is told to speak. */
export type ProtocolOption = "auto" | "2025-11-25" | "2026-07-28";

/** The options of every MCP connector. */
export interface ConnectorOptions extends ConnectorLimits {
  /** The time the whole handshake may take, in milliseconds. Default: 30,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** The name and version the client reports. Default: toolweave and its version. */
  readonly clientInfo?: ClientInfo | undefined;
  /**
   * The folders the server may work in. Given, the server may ask for them. Those of a caller go before them where `callerRoots` of
   * `addConnector` says so.
   */
  readonly roots?: readonly Root[] | undefined;
  /** The least level of log messages to ask for. Default: a server with sessions decides, one without is asked for `info`. */
  readonly logLevel?: LogLevel | undefined;
  /**
   * The revision to speak. `auto` finds out which era a server speaks, and keeps what it found; `2025-11-25`, and those before it, begin with
   * a handshake; `2026-07-28` has no sessions. Default `auto`.
   */
  readonly protocol?: ProtocolOption | undefined;
}

/** The reason of the signal of an attempt that took too long. */
class ConnectTimeoutError extends Error {
  override readonly name = "ConnectTimeoutError";
}

/** One attempt to connect. */
export interface Attempt {
  /** The era that the server speaks, as far as it is known. */
  readonly era: EraMemory;
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

/** The parts of an attempt that its time limit is about. */
interface TimedAttempt {
  readonly host: ConnectorHost;
  readonly options: { readonly connectTimeoutMs?: number | undefined };
  readonly signal: AbortSignal;
}

/**
 * Runs an attempt within its time limit and the caller's signal.
 *
 * @throws the signal's reason, or whatever `run` throws: after the limit its signal is aborted
 */
export async function within<A extends TimedAttempt, T>(attempt: A, run: (attempt: A) => Promise<T>): Promise<T> {
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

/** A connection on which nothing has been said yet. */
export interface Opening {
  readonly peer: Peer;
  readonly transport: Transport;
  readonly attempt: Attempt;
  /** Its errors break nothing, and it gets no secret. */
  readonly host: ConnectorHost;
}

/** The server that a handshake has found, and the form of the requests to it. */
export interface Agreed {
  readonly server: ServerInfo;
  readonly wire: SessionWire;
}

/** Agrees with a server on a revision. Rejects where that fails; the connection is ended then. */
export type Handshake = (opening: Opening) => Promise<Agreed>;

/**
 * Connects over a transport and shakes hands. When that fails, everything it had started is ended before it rejects.
 *
 * @throws what the handshake threw, untranslated; the signal's reason
 */
export async function openSession(transport: Transport, attempt: Attempt, shake: Handshake): Promise<ConnectorSession> {
  const { label, options, limits, redactor, signal } = attempt;
  const host = guarded(attempt.host, redactor);
  let wire: SessionWire | undefined;
  const handlers: PeerHandlers = {
    notification: (method, params, context) =>
      notified(host, { method, params, label, context: wire?.isModern === true ? context : undefined }),
    request: declinedInWords(serverRequests(host, options.roots)),
    gap: () => missed(host),
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
    const agreed = await shake({ peer, transport, attempt, host });
    wire = agreed.wire;
    signal.throwIfAborted();
    return new McpSession({ peer, transport, ...agreed, label, redactor, limits });
  } catch (error) {
    wire?.end?.();
    await peer.close();
    throw explained(error, transport, attempt);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The handshake of the revisions with sessions. */
export const shakeByInitialize: Handshake = async ({ peer, transport, attempt, host }) => {
  const { label, redactor, options } = attempt;
  const { clientInfo = ownClientInfo(), roots, logLevel } = options;
  const announced = host.listRoots === undefined ? {} : { roots: { listChanged: true } };
  const capabilities = { ...clientCapabilities(host, roots), ...announced };
  const { server, opening } = await shakeHands(peer, transport, { clientInfo, capabilities, label, redactor });
  // Not waited for: a server that does not care loses nothing.
  if (logLevel !== undefined && server.capabilities.logging !== undefined) {
    peer.request("logging/setLevel", { level: logLevel }).catch(() => {});
  }
  return { server, wire: new HandshakeWire(peer, transport, server.capabilities, opening) };
};

/** The error of a failed attempt: the signal's reason as it is, the rest as a ToolkitError where it is known. */
export function connectFailure(error: unknown, { label, redactor, signal }: Attempt): unknown {
  if (signal.aborted && !(error instanceof ConnectionLostError)) return error;
  if (error instanceof EarlierRevisionError) return notModern(error, label, redactor);
  return failureOf(error, {
    what: "initialize",
    label,
    redactor,
    server: undefined,
    repeatable: true,
    isOfCaller: false,
  });
}

/** The error of a server that was to speak without sessions, and does not. */
function notModern(error: EarlierRevisionError, label: string, redactor: Redactor): ToolkitError {
  const { supported } = error;
  if (supported !== undefined) return unsupportedProtocol(supported, { label, redactor, spoken: [modernVersion] });
  const message = `${label} ${error.message}: give its connector the protocol "auto" or "2025-11-25".`;
  return new ToolkitError("REMOTE_ERROR", message, { server: label }, { cause: error.cause });
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
    ...(host.listRoots === undefined ? {} : { listRoots: host.listRoots.bind(host) }),
    changed: (change) => host.changed(change),
    memory: host.memory,
    log: (entry, context) => host.log(entry, context),
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
    log: ({ level, logger, data }, context) =>
      attempt(() => {
        const shown = logger === undefined ? undefined : redactor.text(logger);
        host.log({ level, logger: shown, data: redactor.value(data) }, context);
      }),
  };
}

/** Any list may have changed. */
export function missed(host: ConnectorHost): void {
  for (const kind of Object.keys(lists) as Kind[]) host.changed({ kind, gap: true });
}

/** A notification of a server. */
export interface Notification {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly label: string;
  /** The call that it belongs to, where that is known. */
  readonly context?: CallContext | undefined;
}

export function notified(host: ConnectorHost, { method, params, label, context }: Notification): void {
  for (const kind of changedBy[method] ?? []) host.changed({ kind });
  if (method === "notifications/resources/updated" && typeof params.uri === "string") {
    host.changed({ kind: "resource", uri: params.uri });
  }
  if (method === "notifications/message") {
    const entry = {
      level: logLevels.find((level) => level === params.level) ?? "info",
      logger: typeof params.logger === "string" ? params.logger : label,
      data: params.data,
    };
    host.log(entry, context);
  }
}

/** The kinds that each notification is about. */
const changedBy: Readonly<Record<string, readonly Kind[]>> = {
  "notifications/tools/list_changed": ["tool"],
  "notifications/prompts/list_changed": ["prompt"],
  "notifications/resources/list_changed": ["resource", "template"],
};

import { randomUUID } from "node:crypto";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { LogEntry, LogLevel } from "../core/session.ts";
import { isRecord, present } from "../lib/value.ts";
import { protocolVersions } from "../mcp/handshake.ts";
import { modernVersion } from "../mcp/modern/revision.ts";
import { Cancelled, SignalCancellation } from "../mcp/rpc/cancellation.ts";
import type { IncomingRequest } from "../mcp/rpc/incoming-requests.ts";
import { Peer } from "../mcp/rpc/peer.ts";
import { RpcError, rpcCodes } from "../mcp/rpc/rpc-error.ts";
import { parseText } from "../mcp/rpc/rpc-message.ts";
import type { Transport } from "../mcp/transport/transport.ts";
import type { Audience } from "./audiences.ts";
import { ChangeFeed } from "./change-feed.ts";
import { type ItemRequest, itemMethods, textIn } from "./item-methods.ts";
import type { RequestAudit } from "./request-audit.ts";
import { type ClientFacts, type ClientPort, ServedRequest } from "./request-session.ts";
import { logLevels, type ReadServeOptions } from "./serve-options.ts";
import { namesRevision, readEnvelope } from "./stateless/request-envelope.ts";
import type { StatelessRequest, StatelessService } from "./stateless/stateless-service.ts";
import { invalidParams, resourceError, rpcError } from "./wire/error-form.ts";
import { handshakeResult } from "./wire/revision-form.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The parts of a session. */
export interface ClientSessionParts {
  readonly audience: Audience;
  readonly transport: Transport;
  readonly options: ReadServeOptions;
  readonly audit: RequestAudit;
  /** The id for tools. */
  readonly sessionId: string;
  readonly principal: string | undefined;
  /** False where the client has no way to answer requests, and gets no notification outside of its own requests. */
  readonly isStateful: boolean;
  /** Answers requests that stand for themselves, where both eras share a connection. */
  readonly stateless?: StatelessService | undefined;
}

/** The nesting that a client's messages may have. */
export const maxNestingDepth = 100;
/** The most connectors that are notified of changed roots. */
const maxRootsListeners = 1_000;

/**
 * One session of a client that speaks a revision with a handshake: 2025-11-25 and those before it. It answers what the client asks, and
 * notifies it of changes.
 */
export class ClientSession implements ClientPort {
  readonly sessionId: string;
  readonly principal: string | undefined;
  readonly canAsk: boolean;
  facts: ClientFacts | undefined;
  readonly #parts: ClientSessionParts;
  readonly #peer: Peer;
  /** Undefined where nothing can be announced, and once the client is gone. */
  #changes: ChangeFeed | undefined;
  #logLevel: LogLevel;
  readonly #rootsListeners = new Set<() => void>();
  #isDraining = false;

  constructor(parts: ClientSessionParts) {
    const { transport, options, sessionId, principal, isStateful } = parts;
    const { logger, logLevel, maxConcurrentRequests } = options;
    this.#parts = parts;
    this.sessionId = sessionId;
    this.principal = principal;
    this.canAsk = isStateful;
    this.#logLevel = logLevel;
    const handlers = {
      request: (method: string, params: Fields, request: IncomingRequest) => this.#answer(method, params, request),
      notification: (method: string) => {
        if (method === "notifications/roots/list_changed") for (const listener of this.#rootsListeners) listener();
      },
      gap: () => undefined,
      warning: (text: string) => logger.warn(`A client of the served host: ${text}`),
    };
    this.#peer = new Peer(transport, handlers, { maxNestingDepth, maxRequests: maxConcurrentRequests });
  }

  /** Resolves when the client is gone, or the session was closed. */
  get closed(): Promise<Error | undefined> {
    return this.#peer.closed;
  }

  /** Takes messages from now on. */
  async begin(): Promise<void> {
    const { audience, isStateful, options } = this.#parts;
    // Before the handshake is over the client has read no list.
    const notify = (method: string, params?: Fields) => this.facts !== undefined && this.notify(method, params);
    if (isStateful) this.#changes = new ChangeFeed({ audience, options, notify });
    void this.closed.then(() => {
      this.#changes?.end();
      this.#changes = undefined;
    });
    await this.#peer.start({ signal: never });
  }

  /** The client may have missed notifications: it is to read all lists again. */
  missed(): void {
    this.#changes?.missed();
  }

  /** Refuses requests from now on; those that run go on. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Ends it: its requests are cancelled. Idempotent. */
  close(): Promise<void> {
    return this.#peer.close();
  }

  ask(
    method: string,
    params: Fields,
    { signal, owner }: { readonly signal: AbortSignal; readonly owner: ServedRequest },
  ): Promise<unknown> {
    return this.#peer
      .request(method, params, { cancellation: new SignalCancellation(signal), owner })
      .catch((error) => {
        throw error instanceof Cancelled ? error.reason : error;
      });
  }

  notify(method: string, params: Fields | undefined, owner?: ServedRequest): void {
    // A client that is gone misses nothing.
    this.#peer.notify(method, params, owner).catch(() => undefined);
  }

  log({ level, logger, data }: LogEntry, owner: ServedRequest): void {
    if (logLevels.indexOf(level) < logLevels.indexOf(this.#logLevel)) return;
    this.notify("notifications/message", present({ level, logger, data }), owner);
  }

  onRootsChange(listener: () => void): void {
    this.#rootsListeners.add(listener);
    // Connectors come and go while a session stays.
    const [eldest] = this.#rootsListeners;
    if (this.#rootsListeners.size > maxRootsListeners && eldest !== undefined) this.#rootsListeners.delete(eldest);
  }

  #answer(method: string, params: Fields, { id, signal }: IncomingRequest): Promise<Fields> | undefined {
    const { stateless, options } = this.#parts;
    if (stateless !== undefined && (namesRevision(params) || options.protocol === modernVersion))
      return this.#answerAlone(stateless, { id, method, params, signal });
    const run = Object.hasOwn(this.#methods, method) ? this.#methods[method] : this.#itemMethod(method);
    if (run === undefined) return undefined;
    this.#assertOpen();
    const request = new ServedRequest(id, params, this);
    return this.#parts.audit.run({ method, params, principal: this.principal, session: this.sessionId, signal }, () =>
      run(params, request, signal).then(
        (result) => handshakeResult(method, result),
        (error: unknown) => this.#fail(error, method, signal),
      ),
    );
  }

  /** Answers a request that stands for itself. It is of this connection, and of nothing else that was said on it. */
  #answerAlone(
    service: StatelessService,
    request: Pick<StatelessRequest, "id" | "method" | "params" | "signal">,
  ): Promise<Fields> | undefined {
    const { method, params } = request;
    const { audience, options } = this.#parts;
    const envelope = readEnvelope(method, params, options.protocol);
    if (!service.knows(method)) return undefined;
    this.#assertOpen();
    const { principal, sessionId } = this;
    const notify = (name: string, fields: Fields) => this.notify(name, fields);
    return service.answer({ ...request, envelope, principal, sessionId, audience, notify });
  }

  #assertOpen(): void {
    if (this.#isDraining)
      throw new RpcError({ code: rpcCodes.internalError, message: "This server is shutting down." });
  }

  /** @throws the reason of an abort, or the error for the client: one that is none of ours is for the operator */
  #fail(error: unknown, method: string, signal: AbortSignal): never {
    signal.throwIfAborted();
    if (!(error instanceof RpcError) && !ToolkitError.is(error))
      this.#parts.options.logger.error(`The request ${method} failed: ${messageOf(error)}`, { error });
    throw rpcError(error);
  }

  readonly #methods: Readonly<
    Record<string, (params: Fields, request: ServedRequest, signal: AbortSignal) => Promise<Fields>>
  > = {
    initialize: async (params) => this.#initialize(params),
    "logging/setLevel": async ({ level }) => {
      const known = logLevels.find((each) => each === level);
      if (known === undefined) throw invalidParams(`Invalid params: level must be one of ${logLevels.join(", ")}.`);
      this.#logLevel = known;
      return {};
    },
    "resources/subscribe": (params, request, signal) => this.#subscribe(params, request, signal),
    "resources/unsubscribe": async (params) => {
      this.#changes?.unfollow(textIn(params, "uri"));
      return {};
    },
  };

  #itemMethod(method: string) {
    const run = Object.hasOwn(itemMethods, method) ? itemMethods[method] : undefined;
    if (run === undefined) return undefined;
    return (params: Fields, request: ServedRequest, signal: AbortSignal) =>
      run(this.#itemRequest(params, request, signal));
  }

  #itemRequest(params: Fields, { session, meta, onProgress }: ServedRequest, signal: AbortSignal): ItemRequest {
    const { host, catalog } = this.#parts.audience;
    return { params, host, catalog, session, signal, meta, onProgress };
  }

  #initialize({ protocolVersion, clientInfo, capabilities }: Fields): Fields {
    if (this.facts !== undefined) {
      throw new RpcError({ code: rpcCodes.invalidRequest, message: "This session is initialized already." });
    }
    const spoken = protocolVersions.find((version) => version === protocolVersion) ?? String(protocolVersions[0]);
    const { name, version } = isRecord(clientInfo) ? clientInfo : {};
    this.facts = {
      protocolVersion: spoken,
      clientInfo: { name: parseText(name) ?? "unknown", version: parseText(version) ?? "unknown" },
      capabilities: isRecord(capabilities) ? capabilities : {},
    };
    const { server, instructions } = this.#parts.options;
    const { isStateful } = this.#parts;
    return present({
      protocolVersion: spoken,
      capabilities: servedCapabilities(isStateful),
      serverInfo: present({ ...server }),
      instructions,
    });
  }

  async #subscribe(params: Fields, { session }: ServedRequest, signal: AbortSignal): Promise<Fields> {
    const uri = textIn(params, "uri");
    if (this.#changes === undefined)
      throw new RpcError({ code: rpcCodes.methodNotFound, message: "There are no subscriptions without a session." });
    try {
      await this.#changes.follow(uri, { session, signal });
      return {};
    } catch (error) {
      signal.throwIfAborted();
      throw resourceError(error, uri);
    }
  }
}

const never = new AbortController().signal;

/** The capabilities of a served host. Without a session nothing can be announced. */
function servedCapabilities(isStateful: boolean): Fields {
  const list = isStateful ? { listChanged: true } : {};
  const resources = isStateful ? { subscribe: true, listChanged: true } : {};
  return { tools: list, prompts: list, resources, completions: {}, logging: {} };
}

/** An id for the tools of a session, which is not the one that the client shows: tools may log theirs. */
export function toolSessionId(): string {
  return randomUUID();
}

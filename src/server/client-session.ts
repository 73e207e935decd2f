import { randomUUID } from "node:crypto";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { LogEntry, LogLevel } from "../core/session.ts";
import type { Unsubscribe } from "../core/source.ts";
import { Coalescer } from "../lib/coalesce.ts";
import { isRecord, present } from "../lib/value.ts";
import { protocolVersions } from "../mcp/handshake.ts";
import { Cancelled, SignalCancellation } from "../mcp/rpc/cancellation.ts";
import type { IncomingRequest } from "../mcp/rpc/incoming-requests.ts";
import { Peer } from "../mcp/rpc/peer.ts";
import { RpcError, rpcCodes } from "../mcp/rpc/rpc-error.ts";
import { parseText } from "../mcp/rpc/rpc-message.ts";
import type { Transport } from "../mcp/transport/transport.ts";
import type { Audience, ServedChange } from "./audiences.ts";
import { findResource, type ItemRequest, itemMethods, textIn } from "./item-methods.ts";
import type { RequestAudit } from "./request-audit.ts";
import { type ClientFacts, type ClientPort, ServedRequest } from "./request-session.ts";
import { logLevels, type ReadServeOptions } from "./serve-options.ts";
import { invalidParams, resourceError, rpcError } from "./wire/error-form.ts";

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
}

/** The nesting that a client's messages may have. */
const maxNestingDepth = 100;
/** Changes that come within so many milliseconds are one notification. */
const burstMs = 10;
/** The most resources that one session subscribes to. */
const maxSubscriptions = 1_000;
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
  readonly #changes: Coalescer<string>;
  /** By the ref of the resource: the URI as the client gave it, and the end of the subscription. */
  readonly #subscriptions = new Map<string, { readonly uri: string; readonly end: Unsubscribe }>();
  #logLevel: LogLevel;
  readonly #rootsListeners = new Set<() => void>();
  #isDraining = false;
  #unlisten: (() => void) | undefined;

  constructor(parts: ClientSessionParts) {
    const { transport, options, sessionId, principal, isStateful } = parts;
    const { clock, logger, logLevel, maxConcurrentRequests } = options;
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
    this.#changes = new Coalescer((keys) => this.#report(keys), {
      delayMs: burstMs,
      clock,
      onError: (error) => logger.warn(`A client was not notified: ${messageOf(error)}`),
    });
  }

  /** Resolves when the client is gone, or the session was closed. */
  get closed(): Promise<Error | undefined> {
    return this.#peer.closed;
  }

  /** Takes messages from now on. */
  async begin(): Promise<void> {
    const { audience, isStateful } = this.#parts;
    if (isStateful) this.#unlisten = audience.listen((change) => this.#changed(change));
    void this.closed.then(() => this.#ended());
    await this.#peer.start({ signal: never });
  }

  /** The client may have missed notifications: it is to read all lists again. */
  missed(): void {
    for (const method of Object.values(listNotification)) this.#changes.request(method);
    for (const ref of this.#subscriptions.keys()) this.#changes.request(`${updated} ${ref}`);
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
    const run = Object.hasOwn(this.#methods, method) ? this.#methods[method] : this.#itemMethod(method);
    if (run === undefined) return undefined;
    if (this.#isDraining)
      throw new RpcError({ code: rpcCodes.internalError, message: "This server is shutting down." });
    const request = new ServedRequest(id, params, this);
    return this.#parts.audit.run({ method, params, principal: this.principal, session: this.sessionId, signal }, () =>
      run(params, request, signal).catch((error: unknown) => this.#fail(error, method, signal)),
    );
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
    "resources/unsubscribe": async (params) => this.#unsubscribe(textIn(params, "uri")),
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
    const { host, catalog } = this.#parts.audience;
    if (!this.#parts.isStateful)
      throw new RpcError({ code: rpcCodes.methodNotFound, message: "There are no subscriptions without a session." });
    if (this.#subscriptions.size >= maxSubscriptions)
      throw invalidParams(`This session has ${maxSubscriptions} subscriptions: end one first.`);
    try {
      const entry = await findResource(uri, { host, catalog, session, signal });
      if (this.#subscriptions.has(entry.ref)) return {};
      const end = await host.subscribe(entry, { session, signal });
      const before = this.#subscriptions.get(entry.ref);
      if (before === undefined && this.#unlisten !== undefined) this.#subscriptions.set(entry.ref, { uri, end });
      else end();
      return {};
    } catch (error) {
      signal.throwIfAborted();
      throw resourceError(error, uri);
    }
  }

  #unsubscribe(uri: string): Fields {
    for (const [ref, subscription] of this.#subscriptions) {
      if (subscription.uri !== uri) continue;
      this.#subscriptions.delete(ref);
      subscription.end();
    }
    return {};
  }

  #changed({ kinds, ref }: ServedChange): void {
    if (kinds !== undefined) for (const kind of kinds) this.#changes.request(listNotification[kind]);
    else if (this.#subscriptions.has(ref)) this.#changes.request(`${updated} ${ref}`);
  }

  async #report(keys: ReadonlySet<string>): Promise<void> {
    // Before the handshake is over the client has read no list.
    if (this.facts === undefined) return;
    for (const key of keys) {
      const [method = "", ref] = key.split(/ (.*)/s);
      const uri = ref === undefined ? undefined : this.#subscriptions.get(ref)?.uri;
      if (ref === undefined) this.notify(method, undefined);
      else if (uri !== undefined) this.notify(method, { uri });
    }
  }

  #ended(): void {
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.#changes.stop();
    for (const { end } of this.#subscriptions.values()) end();
    this.#subscriptions.clear();
  }
}

const never = new AbortController().signal;

const updated = "notifications/resources/updated";

const listNotification = {
  tool: "notifications/tools/list_changed",
  prompt: "notifications/prompts/list_changed",
  resource: "notifications/resources/list_changed",
  template: "notifications/resources/list_changed",
} as const;

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

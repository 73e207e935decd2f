import { wholeContext } from "../call/call-context.ts";
import { callStateOf } from "../call/call-port.ts";
import type { ArgumentValues } from "../core/argument-values.ts";
import type { ServerInfo } from "../core/connection.ts";
import type { ConnectorSession, RemoteCompletion } from "../core/connector.ts";
import type { ReadConnectorLimits } from "../core/connector-limits.ts";
import { ToolkitError } from "../core/error.ts";
import type { CallContext, Kind, RenderedPrompt } from "../core/item.ts";
import type { Content, ReadOptions } from "../core/resource.ts";
import type { Progress } from "../core/session.ts";
import { isRecord } from "../lib/value.ts";
import { lists } from "./descriptor.ts";
import { readList } from "./read-list.ts";
import type { Redactor } from "./redact.ts";
import { type FailedRequest, failureOf } from "./request-failure.ts";
import { type TracedRequest, traced } from "./request-span.ts";
import { completedValues, promptArguments, readContent, renderedPrompt, toolContent } from "./result-content.ts";
import { Cancelled, cancellationOf } from "./rpc/cancellation.ts";
import type { Peer } from "./rpc/peer.ts";
import type { RequestOptions } from "./rpc/request-options.ts";
import { capabilityOf, type SessionWire } from "./session-wire.ts";
import type { Transport } from "./transport/transport.ts";

/** The parts of a session. */
export interface SessionParts {
  readonly peer: Peer;
  readonly wire: SessionWire;
  readonly transport: Transport;
  readonly server: ServerInfo;
  readonly label: string;
  /** Of errors and warnings of the server. */
  readonly redactor: Redactor;
  readonly limits: ReadConnectorLimits;
}

/** One connection generation to an MCP server. */
export class McpSession implements ConnectorSession {
  readonly server: ServerInfo;
  readonly transport: string;
  readonly list: ConnectorSession["list"];
  readonly render?: NonNullable<ConnectorSession["render"]>;
  readonly read?: NonNullable<ConnectorSession["read"]>;
  readonly complete?: NonNullable<ConnectorSession["complete"]>;
  readonly subscribe?: NonNullable<ConnectorSession["subscribe"]>;
  readonly unsubscribe?: NonNullable<ConnectorSession["unsubscribe"]>;
  readonly #parts: SessionParts;
  /** The names and URIs in which there is a secret, by kind and by the form in which they are listed. The server knows them by the first. */
  readonly #ownKeys = new Map<Kind, ReadonlyMap<string, string>>();
  #closing: Promise<void> | undefined;

  constructor(parts: SessionParts) {
    const { server, transport } = parts;
    this.#parts = parts;
    this.server = server;
    this.transport = transport.name;
    const { prompts, resources, completions } = server.capabilities;
    this.list = this.#lists();
    if (prompts !== undefined) this.render = (name, input, context) => this.#render(name, input, context);
    if (resources !== undefined) this.read = (uri, context) => this.#read(uri, context);
    if (completions !== undefined) this.complete = (completion, context) => this.#complete(completion, context);
    if (!isRecord(resources) || resources.subscribe !== true) return;
    this.subscribe = (uri, options) => this.#follow(uri, true, options);
    this.unsubscribe = (uri, options) => this.#follow(uri, false, options);
  }

  get closed(): Promise<Error | undefined> {
    return this.#parts.peer.closed;
  }

  /** Live: a server can lose the stream of its notifications. */
  get announces(): ReadonlySet<Kind> {
    return new Set((Object.keys(lists) as Kind[]).filter((kind) => this.#parts.wire.announces(kind)));
  }

  get processId(): number | undefined {
    return this.#parts.transport.processId;
  }

  get stderr(): (() => string) | undefined {
    const { transport } = this.#parts;
    return transport.stderr === undefined ? undefined : () => transport.stderr?.() ?? "";
  }

  get silenceMs(): number {
    return this.#parts.transport.silenceMs;
  }

  received(): number {
    return this.#parts.peer.received;
  }

  /** A revision without sessions has no such notification: a server asks with each request. */
  rootsChanged(): void {
    const { peer, wire } = this.#parts;
    if (!wire.isModern) peer.notify("notifications/roots/list_changed").catch(ignore);
  }

  async ping(options: ReadOptions): Promise<void> {
    await this.#parts.wire.ping({ cancellation: cancellationOf(options) });
  }

  call(name: string, input: unknown, given: CallContext): Promise<Content> {
    const context = wholeContext(given);
    if (context.attachments.length > 0) return Promise.reject(attachmentsRefused(name));
    const server = this.server.name;
    const { redactor, wire } = this.#parts;
    const options = { cancellation: cancellationOf(context), onProgress: reporter(context, redactor), context };
    return this.#traced("tools/call", name, context, (meta) => {
      const own = { name: this.#ownKey("tool", name), arguments: input ?? {} };
      const params = meta === undefined ? own : { ...own, _meta: meta };
      return wire.request("tools/call", params, options).then(
        (result) => {
          const shown = isRecord(result) && result.isError === true ? redactor.value(result) : result;
          return toolContent(shown, { name, server, hasAnyStructure: wire.isModern });
        },
        (error) => this.#fail(error, { what: `tools/call ${name}`, repeatable: false, isOfCaller: true }),
      );
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#parts.wire.end?.();
    this.#closing ??= this.#parts.peer.close();
    return this.#closing;
  }

  async #render(name: string, input: unknown, given: CallContext): Promise<RenderedPrompt> {
    const context = wholeContext(given);
    const onProgress = reporter(context, this.#parts.redactor);
    const options = { cancellation: cancellationOf(context), onProgress, context };
    return this.#traced("prompts/get", name, context, async (meta) => {
      const own = { name: this.#ownKey("prompt", name), arguments: promptArguments(input) };
      const params = meta === undefined ? own : { ...own, _meta: meta };
      return renderedPrompt(await this.#request("prompts/get", params, options, { what: `prompts/get ${name}` }), name);
    });
  }

  async #read(uri: string, given: CallContext | ReadOptions): Promise<Content> {
    const context = wholeContext(given);
    const call = "progress" in context ? context : undefined;
    const onProgress = call === undefined ? undefined : reporter(call, this.#parts.redactor);
    const options = { cancellation: cancellationOf(context), onProgress, context: call };
    return this.#traced("resources/read", uri, call, async (meta) => {
      const own = { uri: this.#ownKey("resource", uri) };
      const params = meta === undefined ? own : { ...own, _meta: meta };
      const attempt = { what: `resources/read ${uri}`, uri };
      return readContent(await this.#request("resources/read", params, options, attempt), uri);
    });
  }

  async #complete(completion: RemoteCompletion, given: CallContext): Promise<ArgumentValues> {
    const context = wholeContext(given);
    const { kind, argument, value, arguments: others } = completion;
    const key = this.#ownKey(kind, completion.key);
    const ref = kind === "prompt" ? { type: "ref/prompt", name: key } : { type: "ref/resource", uri: key };
    const params = {
      ref,
      argument: { name: argument, value },
      ...(Object.keys(others).length === 0 ? {} : { context: { arguments: others } }),
      ...(context.meta === undefined ? {} : { _meta: context.meta }),
    };
    const what = `completion/complete ${completion.key}`;
    const options = { cancellation: cancellationOf(context), context };
    return completedValues(await this.#request("completion/complete", params, options, { what }), this.server.name);
  }

  #traced<T>(
    method: TracedRequest["method"],
    target: string,
    context: CallContext | undefined,
    send: (meta: CallContext["meta"]) => Promise<T>,
  ): Promise<T> {
    const trace = callStateOf(context)?.trace;
    return trace === undefined ? send(context?.meta) : traced(trace, { ...this.#parts, method, target, context }, send);
  }

  async #follow(uri: string, isWanted: boolean, options: ReadOptions): Promise<void> {
    const what = `resources/${isWanted ? "subscribe" : "unsubscribe"} ${uri}`;
    await this.#parts.wire
      .follow(this.#ownKey("resource", uri), isWanted, { cancellation: cancellationOf(options) })
      .catch((error: unknown) => this.#fail(error, { what, uri, repeatable: true, isOfCaller: true }));
  }

  #lists(): ConnectorSession["list"] {
    const { server, limits, redactor, transport, wire } = this.#parts;
    const lister = (kind: Kind) => (options: ReadOptions) => {
      const ownKeys = new Map<string, string>();
      return readList(kind, {
        request: (method, params) =>
          wire.request(method, params, {
            cancellation: cancellationOf(options),
            // An entry that is too deep is left out by itself.
            isUnchecked: true,
          }),
        server: server.name,
        limits,
        redactor,
        isParsed: transport.sharesObjects !== true,
        renamed: (own, shown) => void ownKeys.set(shown, own),
        faultOf: wire.entryFault === undefined ? undefined : (entry) => wire.entryFault?.(kind, entry),
      }).then(
        async (list) => {
          this.#ownKeys.set(kind, ownKeys);
          await wire.opening;
          return list;
        },
        (error: unknown) => this.#fail(error, { what: lists[kind].method, repeatable: true, isOfCaller: false }),
      );
    };
    const offered = (Object.keys(lists) as Kind[]).filter(
      (kind) => server.capabilities[capabilityOf[kind]] !== undefined,
    );
    return Object.fromEntries(offered.map((kind) => [kind, lister(kind)])) as ConnectorSession["list"];
  }

  #ownKey(kind: Kind, shown: string): string {
    return this.#ownKeys.get(kind)?.get(shown) ?? shown;
  }

  /** A request that changes nothing at the server. */
  #request(
    method: string,
    params: Record<string, unknown>,
    options: RequestOptions,
    attempt: { readonly what: string; readonly uri?: string },
  ): Promise<unknown> {
    return this.#parts.wire
      .request(method, params, options)
      .catch((error: unknown) => this.#fail(error, { ...attempt, repeatable: true, isOfCaller: true }));
  }

  #fail(error: unknown, attempt: Pick<FailedRequest, "what" | "repeatable" | "isOfCaller" | "uri">): never {
    // An abort rejects with its own reason, whatever that is.
    if (error instanceof Cancelled) throw error.reason;
    const { label, redactor } = this.#parts;
    throw failureOf(error, { ...attempt, label, redactor, server: this.server.name });
  }
}

function reporter(context: CallContext, redactor: Redactor): (progress: Progress) => void {
  return ({ progress, total, message }) => {
    try {
      context.progress(progress, total, redactor.described(message)).catch(ignore);
    } catch {
      // An error of a listener must not end the connection.
    }
  };
}

function ignore(): void {
  // The context, or the end of the connection, reports it.
}

function attachmentsRefused(name: string): ToolkitError<"INVALID_INPUT"> {
  const message = "attachments cannot be sent to an MCP server";
  return new ToolkitError(
    "INVALID_INPUT",
    `${name} takes no attachments: ${message}. Pass their content in the input.`,
    {
      issues: [{ pointer: "", message }],
    },
  );
}

import { randomUUID } from "node:crypto";
import { ToolkitError } from "../core/error.ts";
import type { ElicitRequest, ElicitResult, Root, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { LogEntry, Progress, Session } from "../core/session.ts";
import { isRecord, present } from "../lib/value.ts";
import { RpcError } from "../mcp/rpc/rpc-error.ts";
import type { RpcId } from "../mcp/rpc/rpc-message.ts";
import type { RequestOwner } from "../mcp/transport/transport.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The facts that a client gave in its handshake. */
export interface ClientFacts {
  readonly protocolVersion: string;
  readonly clientInfo: { readonly name: string; readonly version: string } | undefined;
  readonly capabilities: Fields;
}

/** The way to the client of a session. */
export interface ClientPort {
  /** Undefined before the handshake, and where there is none. */
  readonly facts: ClientFacts | undefined;
  /** The id of the session for tools, which is not the one that the client shows. */
  readonly sessionId: string;
  readonly principal: string | undefined;
  /** True where the client can be asked: it has a way to answer. */
  readonly canAsk: boolean;
  /** Sends a request to the client on behalf of one of its own. */
  ask(
    method: string,
    params: Fields,
    options: { readonly signal: AbortSignal; readonly owner: ServedRequest },
  ): Promise<unknown>;
  /** Sends a notification on behalf of a request. */
  notify(method: string, params: Fields, owner: ServedRequest): void;
  log(entry: LogEntry, owner: ServedRequest): void;
  /** Calls back when the client says that its roots changed. */
  onRootsChange(listener: () => void): void;
}

/** Fields of `_meta` that are for the next hop alone. */
const hopFields: ReadonlySet<string> = new Set([
  "progressToken",
  ...["protocolVersion", "clientInfo", "clientCapabilities", "logLevel", "subscriptionId"].map(
    (name) => `io.modelcontextprotocol/${name}`,
  ),
]);

/** One request of a client, and the session as which the calls for it are made: what these ask and log belongs to this request. */
export class ServedRequest implements RequestOwner {
  readonly id: RpcId;
  readonly session: Session;
  /** `_meta` for upstream servers; undefined where there is none. */
  readonly meta: Fields | undefined;
  /** Undefined where the client wants no progress. */
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly #client: ClientPort;

  constructor(id: RpcId, params: Fields, client: ClientPort) {
    this.id = id;
    this.#client = client;
    const meta = isRecord(params._meta) ? params._meta : undefined;
    this.meta = meta && passedOn(meta);
    const progressToken = meta?.progressToken;
    this.onProgress =
      typeof progressToken === "string" || typeof progressToken === "number"
        ? (progress) => client.notify("notifications/progress", { progressToken, ...present({ ...progress }) }, this)
        : undefined;
    this.session = this.#makeSession();
  }

  #makeSession(): Session {
    const { sessionId: id, principal, facts, canAsk } = this.#client;
    const { elicitation, sampling, roots } = (canAsk && facts?.capabilities) || {};
    const clientInfo = facts?.clientInfo;
    return {
      id,
      ...(principal !== undefined && { principal }),
      ...(clientInfo !== undefined && { clientInfo }),
      ...(facts !== undefined && { capabilities: facts.capabilities }),
      log: (entry) => this.#client.log(entry, this),
      ...(isRecord(elicitation) && { elicit: (request, { signal }) => this.#elicit(request, elicitation, signal) }),
      ...(isRecord(sampling) && { sample: (request, { signal }) => this.#sample(request, signal) }),
      ...(isRecord(roots) && {
        listRoots: ({ signal }) => this.#listRoots(signal),
        onRootsChange: (listener) => this.#client.onRootsChange(listener),
      }),
    };
  }

  async #elicit(request: ElicitRequest, capability: Fields, signal: AbortSignal): Promise<ElicitResult> {
    const params = elicitParams(request, capability);
    if (params === undefined) return { action: "decline" };
    const answer = await this.#client.ask("elicitation/create", params, { signal, owner: this }).catch(notShown);
    const { action, content, _meta } = isRecord(answer) ? answer : {};
    const meta = isRecord(_meta) ? { meta: _meta } : {};
    if (action === "accept") return { action, ...(isRecord(content) ? { content } : {}), ...meta };
    return { action: action === "cancel" ? "cancel" : "decline", ...meta };
  }

  /** A client that fails to list its roots has said nothing of them. */
  async #listRoots(signal: AbortSignal): Promise<readonly Root[] | undefined> {
    const answer = await this.#client.ask("roots/list", {}, { signal, owner: this }).catch((error: unknown) => {
      if (error instanceof RpcError) return undefined;
      throw error;
    });
    const { roots } = isRecord(answer) ? answer : {};
    return Array.isArray(roots) ? roots.filter((root) => isRecord(root) && typeof root.uri === "string") : undefined;
  }

  async #sample({ meta: _meta, ...request }: SampleRequest, signal: AbortSignal): Promise<SampleResult> {
    const params = present({ ...request, _meta });
    try {
      return (await this.#client.ask("sampling/createMessage", params, { signal, owner: this })) as SampleResult;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const message = `The client declined to ask its model: ${error.message}`;
      throw new ToolkitError("NO_DELEGATE", message, { operation: "sample" }, { cause: error });
    }
  }
}

/** The part of `_meta` that is for the next server too; undefined for none. */
function passedOn(meta: Fields): Fields | undefined {
  const passed = Object.entries(meta).filter(([name]) => !hopFields.has(name));
  return passed.length === 0 ? undefined : Object.fromEntries(passed);
}

/** The parameters of `elicitation/create`; undefined where the client cannot show what is asked. */
function elicitParams(request: ElicitRequest, { form, url: page }: Fields): Fields | undefined {
  const { message, schema, url, elicitationId = randomUUID(), meta: _meta } = request;
  if (url !== undefined)
    return page === undefined ? undefined : present({ mode: "url", message, url, elicitationId, _meta });
  // A client that names no mode shows forms.
  if (form === undefined && page !== undefined) return undefined;
  // Without a mode: it is a form then, and older clients know no modes.
  return present({ message, requestedSchema: schema ?? { type: "object", properties: {} }, _meta });
}

/** A client that cannot show a form has not asked its person. */
function notShown(error: unknown): ElicitResult {
  if (error instanceof RpcError) return { action: "cancel" };
  throw error;
}

import { isRecord } from "../../lib/value.ts";
import { ConnectionLostError } from "../rpc/rpc-error.ts";
import { parseMessages, type RpcId, type RpcMessage } from "../rpc/rpc-message.ts";
import { exchangeFailure, namedStatuses } from "../transport/http/http-error.ts";
import {
  eventStreamType,
  exchange,
  type HttpAnswer,
  jsonType,
  type McpEndpoint,
  networkOf,
  oddTextsOf,
} from "../transport/http/http-exchange.ts";
import { DrainThenClose, PostedRequest, type PostedRequestParts } from "../transport/http/posted-request.ts";
import type { OddTexts } from "../transport/odd-texts.ts";
import type { RequestOwner, Transport, TransportEvents } from "../transport/transport.ts";
import { headerValue, type ParameterHeaders } from "./parameter-headers.ts";
import { isModernCode, modernVersion } from "./revision.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The field of the parameters that the header `Mcp-Name` repeats, by method. */
const nameFields: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};
// Its answer goes to no caller.
const probeId = "probe";

/**
 * Streamable HTTP of the revision without sessions: each request is a POST of its own, which says in its headers what it is. The end of
 * its answer is the end of it: nothing is resumed, and a request is cancelled by closing its answer. There are no other messages.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export class ModernHttpTransport implements Transport {
  readonly name = "streamable-http";
  // A server that vanished leaves a socket that is open at this end.
  readonly silenceMs = 5_000;
  readonly network: Readonly<Record<string, string | number>>;
  readonly #endpoint: McpEndpoint;
  readonly #parameters: ParameterHeaders;
  readonly #oddTexts: OddTexts;
  readonly #requests = new Map<RpcId, PostedRequest>();
  readonly #requestParts: PostedRequestParts;
  readonly #drain = new DrainThenClose((error) => this.#end(error));
  #events: TransportEvents | undefined;
  /** The parameters of the first request, which belongs to no caller, for those that the transport makes itself. */
  #discovery: Fields | undefined;
  #isOpen = true;

  constructor(endpoint: McpEndpoint, parameters: ParameterHeaders) {
    this.#endpoint = endpoint;
    this.#parameters = parameters;
    this.#oddTexts = oddTextsOf(endpoint);
    this.#requestParts = { endpoint, deliver: this.#deliver };
    this.network = networkOf(endpoint.url);
  }

  async start(events: TransportEvents): Promise<void> {
    this.#events = events;
  }

  send(message: RpcMessage, owner?: RequestOwner): Promise<void> | undefined {
    if (!this.#isOpen) throw new ConnectionLostError("the connection was closed", { sent: false });
    const lost = this.#drain.error;
    if (lost !== undefined) throw new ConnectionLostError(lost.message, { sent: false, cause: lost });
    const { id, method, params } = message;
    if (id !== undefined && id !== null && method !== undefined)
      return this.#request(message, new PostedRequest(id, owner, this.#requestParts));
    // The only notification there is, and it is not sent.
    if (method === "notifications/cancelled" && isRecord(params)) this.forget(params.requestId as RpcId);
    return undefined;
  }

  forget(id: RpcId): void {
    this.#requests.get(id)?.abort.abort();
  }

  async close(): Promise<void> {
    if (this.#isOpen) this.#stop();
  }

  /** Sends a request, and delivers its answer. */
  async #request(message: RpcMessage, request: PostedRequest): Promise<void> {
    const { id, owner, abort } = request;
    this.#requests.set(id, request);
    try {
      await request.read(await this.#post(message, abort.signal, owner));
    } catch (error) {
      if (abort.signal.aborted) throw error;
      const failure = this.#isOpen ? exchangeFailure(error, "the answer broke off", this.#endpoint.redactor) : error;
      if (failure instanceof ConnectionLostError && failure.sent && id !== probeId) this.#probe();
      throw failure;
    } finally {
      this.#requests.delete(id);
    }
  }

  /** Resolves when the answer begins; with the text of one that is an error of JSON-RPC under a status of its own. */
  async #post(message: RpcMessage, signal: AbortSignal, owner: RequestOwner | undefined): Promise<HttpAnswer | string> {
    this.#drain.sending += 1;
    try {
      const { url } = this.#endpoint;
      const headers = this.#headersOf(message);
      const request = { url, method: "POST", headers, body: JSON.stringify(message), signal } as const;
      const answer = await exchange(this.#endpoint, request, owner);
      return answer.kind === "refused" ? await this.#refused(answer, message.id) : answer;
    } catch (error) {
      // No process listens there: requests in flight need not wait.
      if (error instanceof ConnectionLostError && !error.sent && this.#isOpen) this.#drain.begin(error);
      throw error;
    } finally {
      this.#drain.sending -= 1;
      if (this.#drain.error !== undefined) this.#drain.settled();
    }
  }

  /** Those of the protocol win: they must say what the body says. */
  #headersOf({ method = "", params }: RpcMessage): Readonly<Record<string, string>> {
    const fields = isRecord(params) ? params : {};
    this.#discovery ??= fields;
    const name = fields[nameFields[method] ?? ""];
    return {
      "content-type": jsonType,
      accept: `${jsonType}, ${eventStreamType}`,
      ...this.#endpoint.headers,
      "mcp-protocol-version": modernVersion,
      "mcp-method": method,
      ...(typeof name === "string" ? { "mcp-name": headerValue(name) } : {}),
      ...(method === "tools/call" && typeof name === "string"
        ? this.#parameters.headersOf(name, fields.arguments)
        : {}),
    };
  }

  readonly #deliver = (text: string, request: PostedRequest): void => {
    const messages = parseMessages(text);
    const warning = messages === undefined ? this.#oddTexts.warningOf(text) : undefined;
    if (warning !== undefined) this.#events?.warning(warning);
    for (const message of messages ?? []) {
      request.received(message);
      this.#events?.message(message, request.id);
    }
  };

  /** An error of JSON-RPC has a status of its own: its text is given. @throws for every other refusal */
  async #refused(answer: HttpAnswer, id: RpcMessage["id"]): Promise<string> {
    const refusal = await answer.refusal();
    const { text } = refusal;
    const [message] = parseMessages(text) ?? [];
    if (message?.error === undefined || namedStatuses.has(answer.status)) throw refusal.toError();
    if (message.id === id) return text;
    // A server that rejects a request unread does not know its id.
    if ((message.id ?? undefined) === undefined && isModernCode(message.error.code))
      return JSON.stringify({ ...message, id });
    throw refusal.toError();
  }

  /** Asks, after a connection broke, whether the server is still there. If it is not, this ends the session. */
  #probe(): void {
    if (!this.#isOpen || this.#drain.error !== undefined || this.#requests.has(probeId)) return;
    this.send({ jsonrpc: "2.0", id: probeId, method: "server/discover", params: this.#discovery })?.catch(() => {});
  }

  #end(error: Error): void {
    if (!this.#isOpen) return;
    this.#stop();
    this.#events?.closed(error);
  }

  #stop(): void {
    this.#isOpen = false;
    this.#drain.stop();
    for (const { abort } of this.#requests.values()) abort.abort();
  }
}

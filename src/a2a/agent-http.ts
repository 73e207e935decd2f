import { egressDenied } from "../core/egress.ts";
import { ToolkitError } from "../core/error.ts";
import { EgressError, type EgressPolicy } from "../lib/fetch/egress-policy.ts";
import { clientOf } from "../lib/fetch/node-fetch.ts";
import { jsonFault } from "../lib/nesting.ts";
import { sendOverFetch } from "../mcp/connect-http.ts";
import type { Redactor } from "../mcp/redact.ts";
import { messageFault, messageTooLarge } from "../mcp/rpc/rpc-error.ts";
import { exchangeFailure, namedStatuses } from "../mcp/transport/http/http-error.ts";
import {
  type EndpointSend,
  eventStreamType,
  exchange,
  type HttpAnswer,
  jsonType,
  type McpEndpoint,
} from "../mcp/transport/http/http-exchange.ts";
import type { RequestOwner } from "../mcp/transport/transport.ts";

/** The limits of what an agent sends. */
export interface AgentLimits {
  readonly maxMessageBytes: number;
  readonly maxNestingDepth: number;
  /** The most events of one stream. */
  readonly maxTaskEvents: number;
}

/** The most characters of an event that the SDK reads, which has no option for it: a line has the name of its field too. */
const maxEventLength = 4 * 1024 * 1024 - "data: ".length;

/** The HTTP of one session with an agent. */
export interface AgentHttp {
  readonly endpoint: McpEndpoint;
  readonly limits: AgentLimits;
  /** Something came from the agent. */
  received(): void;
}

/** Sends where the policy lets requests go: the URLs of an agent are chosen by its card. */
export function guardedSend(fetch: typeof globalThis.fetch, policy: EgressPolicy): EndpointSend {
  const client = clientOf(fetch)?.guarded(policy);
  const send: EndpointSend = client === undefined ? sendOverFetch(fetch) : (request) => client.send(request);
  return async (request, owner) => {
    try {
      policy.assertPermitted(request.url);
      return await send(request, owner);
    } catch (error) {
      const refusal = EgressError.in(error);
      throw refusal === undefined ? error : egressDenied(refusal);
    }
  };
}

/**
 * A `fetch` for the SDK, on behalf of one caller: with the headers and credentials of the connector, and with answers that are within the
 * limits.
 *
 * @throws through the function it gives: ConnectionLostError where there is no answer, HttpStatusError for a status that says more than a
 *   body could, ToolkitError for an answer beyond a limit, or that is no JSON
 */
export function agentFetch(http: AgentHttp, owner: RequestOwner | undefined): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = { ...Object.fromEntries(new Headers(init.headers)), ...http.endpoint.headers };
    const { method = "GET", body, signal } = init;
    const request = { url, method, headers, signal: signal ?? new AbortController().signal };
    const answer = await exchange(http.endpoint, typeof body === "string" ? { ...request, body } : request, owner);
    http.received();
    if (answer.kind === "events") return eventResponse(answer, http);
    return jsonResponse(answer, http);
  };
}

/** The answer as JSON, whatever its status. @throws as `agentFetch` */
async function jsonResponse(answer: HttpAnswer, { endpoint, limits }: AgentHttp): Promise<Response> {
  const { redactor } = endpoint;
  if (answer.kind !== "refused") {
    const text = await answer.text().catch((error: unknown) => {
      throw exchangeFailure(error, "broke off its answer", redactor);
    });
    parseWithin(text, limits, redactor);
    return new Response(text, { status: answer.status, headers: { "content-type": jsonType } });
  }
  const refusal = await answer.refusal();
  const isOfProtocol = !namedStatuses.has(answer.status) && answer.status >= 400 && answer.mediaType.endsWith("json");
  if (!isOfProtocol) throw refusal.toError();
  try {
    parseWithin(refusal.text, limits, redactor);
  } catch {
    throw refusal.toError();
  }
  return new Response(refusal.text, { status: answer.status, headers: { "content-type": jsonType } });
}

/** A value that an agent sent. @throws ToolkitError `REMOTE_ERROR` for no JSON, `LIMIT_EXCEEDED` for what is nested too deep */
export function parseWithin(text: string, { maxNestingDepth }: AgentLimits, redactor: Redactor): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const message =
      "It answered with something that is no JSON: this is no A2A agent, or a gateway answered in its place.";
    throw new ToolkitError("REMOTE_ERROR", message, { server: "" }, { cause: redactor.error(cause) });
  }
  if (jsonFault(value, maxNestingDepth) !== undefined) throw messageFault(value, maxNestingDepth);
  return value;
}

/** The stream of events anew, each of them within the limits. */
function eventResponse(answer: HttpAnswer, { endpoint, limits, received }: AgentHttp): Response {
  const { maxMessageBytes, maxTaskEvents } = limits;
  const encoder = new TextEncoder();
  let count = 0;
  let isOver = false;
  const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const listener = {
      event(type: string, data: string) {
        received();
        if (data === "" || isOver) return;
        count += 1;
        if (count > maxTaskEvents) throw tooManyEvents(maxTaskEvents);
        if (data.length > maxEventLength) throw eventTooLarge(data.length);
        parseWithin(data, limits, endpoint.redactor);
        const lines = data.replaceAll("\n", "\ndata: ");
        controller.enqueue(encoder.encode(`event: ${type}\ndata: ${lines}\n\n`));
        // The reader is behind by more than one message: it must not fill the memory.
        const waiting = -(controller.desiredSize ?? 0);
        if (waiting > maxMessageBytes * 2) throw messageTooLarge(maxMessageBytes, waiting);
      },
      comment: received,
    };
    answer.events(listener).then(
      () => isOver || controller.close(),
      (error: unknown) => isOver || controller.error(exchangeFailure(error, "its stream broke", endpoint.redactor)),
    );
  };
  const cancel = () => {
    isOver = true;
    answer.discard();
  };
  const body = new ReadableStream<Uint8Array>({ start, cancel }, { highWaterMark: 0, size: (chunk) => chunk.length });
  return new Response(body, { status: 200, headers: { "content-type": eventStreamType } });
}

function tooManyEvents(max: number): ToolkitError<"LIMIT_EXCEEDED"> {
  return new ToolkitError(
    "LIMIT_EXCEEDED",
    `The agent sent more events about one task than maxTaskEvents (${max}). Raise the limit, or ask it for less.`,
    { limit: "maxTaskEvents", max },
  );
}

function eventTooLarge(actual: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const max = maxEventLength;
  const message = `The agent sent an event of ${actual} characters, and one event of a stream has ${max} at most. Have it send a large artifact in chunks, or as a link.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxEventLength", max, actual });
}

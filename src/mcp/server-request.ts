import type { ConnectorHost, InteractionOptions } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type { ElicitRequest, SampleMessage, SampleRequest } from "../core/interaction.ts";
import { isRecord, present } from "../lib/value.ts";
import { RpcError, rpcCodes } from "./rpc/rpc-error.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Answers one request of the server; undefined where there is no such method. */
export type ServerRequestHandler = (
  method: string,
  params: Fields,
  options: InteractionOptions,
) => Promise<Fields> | Fields | undefined;

/** The error code of a request that is declined, as the specification has it for sampling. */
const declined = -1;

/** As `serverRequests`, with an RpcError for the server where a request is declined. */
export function declinedInWords(answer: ServerRequestHandler): ServerRequestHandler {
  return (method, params, options) => {
    const answered = answer(method, params, options);
    return answered instanceof Promise ? answered.catch(decline) : answered;
  };
}

/**
 * Answers the requests of a server: for roots, to a person, to a model. A capability the client did not report is no method.
 *
 * @throws RpcError, for the server, where its request cannot be read; ToolkitError `LIMIT_EXCEEDED` for one beyond a limit, `NO_DELEGATE`
 *   where no model answers
 */
export function serverRequests(host: ConnectorHost, roots: readonly object[] | undefined): ServerRequestHandler {
  return (method, params, options) => {
    if (method === "roots/list" && host.listRoots !== undefined) return rootsOf(host, roots, options);
    if (method === "roots/list" && roots !== undefined) return { roots };
    if (method === "elicitation/create" && host.elicit !== undefined) return elicit(host, params, options);
    if (method === "sampling/createMessage" && host.sample !== undefined) return sample(host, params, options);
    return undefined;
  };
}

/** The capabilities the client reports. */
export function clientCapabilities(host: ConnectorHost, roots: readonly object[] | undefined): Fields {
  return {
    ...(roots === undefined && host.listRoots === undefined ? {} : { roots: {} }),
    ...(host.elicit === undefined ? {} : { elicitation: { form: {}, url: {} } }),
    ...(host.sample === undefined ? {} : { sampling: {} }),
  };
}

/** The roots of the caller, else those of the connector. A server that was promised roots gets a list in any case. */
async function rootsOf(
  host: ConnectorHost,
  roots: readonly object[] | undefined,
  options: InteractionOptions,
): Promise<Fields> {
  return { roots: (await host.listRoots?.(options)) ?? roots ?? [] };
}

async function elicit(host: ConnectorHost, params: Fields, options: InteractionOptions): Promise<Fields> {
  const request = elicitRequest(params);
  const result = await host.elicit?.(request, options);
  const { action = "decline", content, meta: _meta } = result ?? {};
  return present({ action, content, _meta });
}

function elicitRequest({ mode = "form", message, requestedSchema, url, elicitationId, _meta }: Fields): ElicitRequest {
  if (typeof message !== "string") throw invalid("message must be a text");
  const meta = isRecord(_meta) ? _meta : undefined;
  if (mode === "url") {
    if (typeof url !== "string" || !isPage(url)) throw invalid("url must be an http or https URL");
    return { message, url, ...(typeof elicitationId === "string" ? { elicitationId } : {}), meta };
  }
  if (mode !== "form") throw invalid(`there is no mode ${JSON.stringify(mode)}`);
  if (!isRecord(requestedSchema)) throw invalid("requestedSchema must be a schema");
  return { message, schema: requestedSchema, meta };
}

/** True for a page that a person can be sent to. Others, such as `javascript:` and `file:`, run or open something of this machine. */
function isPage(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? "");
}

async function sample(host: ConnectorHost, params: Fields, options: InteractionOptions): Promise<Fields> {
  return { ...(await host.sample?.(sampleRequest(params), options)) };
}

/** @throws RpcError where it was declined: the server is to see why; else the error itself */
function decline(error: unknown): never {
  const message = declineTexts.find(([code]) => ToolkitError.is(error, code))?.[1];
  throw message === undefined ? error : new RpcError({ code: declined, message });
}

const declineTexts = [
  ["NO_DELEGATE", "Sampling was declined: there is no handler for it here."],
  ["LIMIT_EXCEEDED", "Declined: a limit of such requests has been reached."],
] as const;

/** The other fields go along as they are. */
function sampleRequest({ _meta, ...params }: Fields): SampleRequest {
  const { messages, maxTokens } = params;
  if (!Array.isArray(messages) || !messages.every(isMessage)) throw invalid("messages must be a list of messages");
  if (typeof maxTokens !== "number" || !(maxTokens > 0)) throw invalid("maxTokens must be a number above 0");
  if (params.tools !== undefined) throw invalid("the client did not say that it takes tools");
  return { ...params, messages, maxTokens, meta: isRecord(_meta) ? _meta : undefined };
}

function isMessage(value: unknown): value is SampleMessage {
  return (
    isRecord(value) &&
    (value.role === "user" || value.role === "assistant") &&
    (isRecord(value.content) || Array.isArray(value.content))
  );
}

function invalid(what: string): RpcError {
  return new RpcError({ code: rpcCodes.invalidParams, message: `Invalid params: ${what}.` });
}

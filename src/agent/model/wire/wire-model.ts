import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Reasoning,
  LanguageModelV4StreamResult,
  LanguageModelV4Text,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { type ClientResponse, clientHeaders } from "../../../lib/fetch/client-exchange.ts";
import { sendByDefault } from "../../../lib/fetch/node-fetch.ts";
import { IncompleteAnswer, type PartReader, type ReadableModel, streamOfParts } from "../part-reader.ts";
import { type AnswerHead, statusError, unreachedError } from "./answer-errors.ts";
import { type AnswerLimits, AnswerReader, type WireForm } from "./answer-reader.ts";

/** A server of models. */
export interface WireServerOptions {
  /** In `provider/name`. */
  readonly name: string;
  /** Without the path of the API; it may have a query. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A request in the form of an API. */
export interface WireRequest {
  readonly body: string;
  /** The settings that could not be sent. */
  readonly warnings: readonly SharedV4Warning[];
  /** Sent beside those of the model. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answers that a request wants. */
export interface WireAnswerOptions {
  /** Emit each event as it is, too. */
  readonly includeRaw: boolean;
  readonly limits: AnswerLimits;
}

/** The place of an API on a server, and what each request to it has. */
interface WireAddress {
  /** Of the model, as the packages of the AI SDK name their APIs. */
  readonly provider: string;
  /** After that of the server. */
  readonly path: string;
  /** Without those of the server. */
  readonly headers: Readonly<Record<string, string>>;
}

/** So much of the body of a failure is read for its message. */
const maxErrorBytes = 64 * 2 ** 10;

/** A model of a server over HTTP, whatever the form of its API. */
export abstract class WireModel<R extends WireRequest = WireRequest> implements ReadableModel {
  readonly specificationVersion = "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]> = {};
  /** The URL of the API. */
  protected readonly url: URL;
  readonly #limits: AnswerLimits;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param limits - of each answer; lower in tests */
  constructor(modelId: string, { url, headers = {} }: WireServerOptions, address: WireAddress, limits: AnswerLimits) {
    this.#limits = limits;
    this.modelId = modelId;
    this.provider = address.provider;
    this.url = endpointOf(url, address.path);
    this.#headers = {
      ...clientHeaders,
      accept: "*/*",
      "content-type": "application/json",
      ...address.headers,
      ...lowered(headers),
    };
  }

  /** @throws UnsupportedFunctionalityError for what the form cannot hold */
  protected abstract requestOf(options: LanguageModelV4CallOptions, stream: boolean): R;

  protected abstract answerOf(request: R, head: AnswerHead, options: WireAnswerOptions): WireForm;

  /** In the form of the packages of the AI SDK: keys are searched for in it, to be masked in errors. It is no own property, so logs lack it. */
  get config(): { readonly headers: Readonly<Record<string, string>> } {
    return { headers: this.#headers };
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    const request = this.requestOf(options, false);
    const { response, head } = await this.#send(request, options);
    // It is put together in memory, whatever its form.
    const limits = { ...this.#limits, maxAnswerBytes: this.#limits.maxEventBytes };
    const reader = this.#reader(response, head, request, { ...options, includeRawChunks: false }, limits);
    // Where it fails, the rest is not read.
    const result = await wholeOf(reader).finally(() => reader.cancel());
    return {
      ...result,
      warnings: [...request.warnings],
      request: { body: request.body },
      response: { ...result.response, headers: { ...head.headers } },
    };
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const request = this.requestOf(options, true);
    const { response, head } = await this.#send(request, options);
    const reader = this.#reader(response, head, request, options);
    const { headers } = head;
    return { stream: streamOfParts(reader), request: { body: request.body }, response: { headers: { ...headers } } };
  }

  async open(options: LanguageModelV4CallOptions): Promise<PartReader> {
    const request = this.requestOf(options, true);
    const { response, head } = await this.#send(request, options);
    return this.#reader(response, head, request, options);
  }

  #reader(
    response: ClientResponse,
    head: AnswerHead,
    request: R,
    { includeRawChunks: includeRaw = false }: LanguageModelV4CallOptions,
    limits = this.#limits,
  ): AnswerReader {
    return new AnswerReader(response, head, this.answerOf(request, head, { includeRaw, limits }), limits);
  }

  /** @throws APICallError where there is no answer, or one of a status that is no success; the reason of an abort */
  async #send(
    { body, headers: needed = {} }: R,
    { abortSignal: signal, headers = {} }: LanguageModelV4CallOptions,
  ): Promise<{ readonly response: ClientResponse; readonly head: AnswerHead }> {
    const { url } = this;
    const shown = url.origin + url.pathname;
    let response: ClientResponse;
    try {
      const fields = { ...this.#headers, ...needed, ...lowered(headers) };
      response = await sendByDefault({ url, method: "POST", headers: fields, body, signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw unreachedError(shown, error);
    }
    const head = { url: shown, status: response.status, headers: lowered(response.headers) };
    if (response.status >= 200 && response.status < 300) return { response, head };
    throw statusError(head, response.statusText, await beginningOf(response));
  }
}

/** The parts of an answer put together. @throws the error among them */
async function wholeOf(reader: PartReader): Promise<Omit<LanguageModelV4GenerateResult, "warnings" | "request">> {
  const content: LanguageModelV4Content[] = [];
  const open = new Map<string, Piece>();
  let response: LanguageModelV4GenerateResult["response"];
  for (let parts = await reader.read(); parts !== undefined; parts = await reader.read()) {
    for (const part of parts) {
      if (part.type === "text-start" || part.type === "reasoning-start") {
        const piece = { type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const), text: "" };
        content.push(withMetadata(piece, part));
        open.set(part.id, piece);
      } else if (part.type === "text-delta" || part.type === "reasoning-delta") {
        const piece = open.get(part.id);
        if (piece !== undefined) piece.text += part.delta;
      } else if (part.type === "text-end" || part.type === "reasoning-end") {
        const piece = open.get(part.id);
        if (piece !== undefined) withMetadata(piece, part);
      } else if (part.type === "tool-call") content.push(part);
      else if (part.type === "response-metadata") {
        const { type: _type, ...metadata } = part;
        response = metadata;
      } else if (part.type === "error") throw part.error;
      else if (part.type === "finish") {
        const { type: _type, ...end } = part;
        return { content, ...end, ...(response === undefined ? {} : { response }) };
      }
    }
  }
  throw new IncompleteAnswer();
}

type Piece = LanguageModelV4Text | LanguageModelV4Reasoning;

function withMetadata(piece: Piece, { providerMetadata }: Pick<Piece, "providerMetadata">): Piece {
  if (providerMetadata !== undefined) piece.providerMetadata = providerMetadata;
  return piece;
}

/** The start of a body; what follows is not waited for. */
async function beginningOf(response: ClientResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    await response.read((chunk) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxErrorBytes) throw new Error("the rest of the body is not needed");
    });
  } catch {
    // The part that came says enough.
  }
  return Buffer.concat(chunks).subarray(0, maxErrorBytes).toString("utf8");
}

function endpointOf(base: string, path: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  url.hash = "";
  return url;
}

/** Headers by name in lower case, without those that are undefined. */
function lowered(headers: Readonly<Record<string, string | readonly string[] | undefined>>): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) fields[name.toLowerCase()] = typeof value === "string" ? value : value.join(", ");
  }
  return fields;
}

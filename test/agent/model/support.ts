import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { ChatModel } from "../../../src/agent/model/server-models.ts";
import type { WireServerOptions } from "../../../src/agent/model/wire/wire-model.ts";
import { listen } from "../../mcp/fixture/http.ts";

/** An answer on the wire: bytes as they are to come, each piece written by itself. */
export interface WireAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly pieces: readonly (string | Uint8Array)[];
  /** Default: the body ends. `destroy`: the connection does. `hang`: nothing comes any more. */
  readonly end?: "destroy" | "hang";
}

/** A request as it came. */
export interface WireAsked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server on this machine that answers each request with the next answer, or the last one. */
export interface WireServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: readonly WireAsked[];
  /** Resolves when no answer is under way. */
  idle(): Promise<void>;
}

export async function wireServer(...answers: readonly WireAnswer[]): Promise<WireServer> {
  const asked: WireAsked[] = [];
  let open = 0;
  let idle = Promise.withResolvers<void>();
  const { origin, close } = await listen(async (request, response) => {
    open += 1;
    response.once("close", () => {
      open -= 1;
      if (open === 0) idle.resolve();
    });
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    asked.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(text) });
    const answer = answers[asked.length - 1] ?? answers.at(-1);
    if (answer !== undefined) await send(response, answer);
  });
  return {
    url: `${origin}/v1`,
    asked,
    idle: () => {
      if (open === 0) return Promise.resolve();
      idle = Promise.withResolvers();
      return idle.promise;
    },
    [Symbol.asyncDispose]: close,
  };
}

async function send(response: ServerResponse, { status = 200, headers = sse, pieces, end }: WireAnswer): Promise<void> {
  response.writeHead(status, headers);
  for (const piece of pieces) {
    // The client may have gone.
    await new Promise<void>((resolve) => {
      response.once("close", resolve);
      response.write(piece, () => {
        response.off("close", resolve);
        resolve();
      });
    });
  }
  if (end === undefined) response.end();
  // The bytes that were written have to go out first.
  else if (end === "destroy") setImmediate(() => response.destroy());
}

export const sse = { "content-type": "text/event-stream" };
export const json = { "content-type": "application/json" };

/** An event with a chunk of an answer. */
export function chunk(fields: object): string {
  return `data: ${JSON.stringify({ id: "c1", created: 1_700_000_000, model: "m-1", ...fields })}\n\n`;
}

/** An event with a delta. */
export function delta(fields: object, finish: string | null = null): string {
  return chunk({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });
}

/** Events of an answer to its end. */
export function stream(...deltas: readonly object[]): string[] {
  return [...deltas.map((each) => delta(each)), delta({}, "stop"), "data: [DONE]\n\n"];
}

export function modelOf({ url }: WireServer, changes: Partial<WireServerOptions> = {}): ChatModel {
  return new ChatModel("m", { name: "acme", url, ...changes });
}

/** A user who says something. */
export const hello: LanguageModelV4CallOptions = {
  prompt: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
};

/** The parts of a streamed answer, without the first one, which has the warnings. */
export async function partsOf(model: ChatModel, options = hello): Promise<LanguageModelV4StreamPart[]> {
  const reader = await model.open(options);
  const all: LanguageModelV4StreamPart[] = [];
  for (let parts = await reader.read(); parts !== undefined; parts = await reader.read()) all.push(...parts);
  return all.slice(1);
}

/** The calls among parts. */
export function callsIn(parts: readonly LanguageModelV4StreamPart[]): unknown[] {
  return parts.flatMap((part) =>
    part.type === "tool-call" ? [{ id: part.toolCallId, name: part.toolName, input: part.input }] : [],
  );
}

/** The text among parts. */
export function textIn(parts: readonly LanguageModelV4StreamPart[]): string {
  return parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
}

/** The last part, which says how an answer ended. */
export function finishIn(parts: readonly LanguageModelV4StreamPart[]) {
  const last = parts.at(-1);
  if (last?.type !== "finish") throw new Error(`The last part is ${last?.type}.`);
  return last;
}

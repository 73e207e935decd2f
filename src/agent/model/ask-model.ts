import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import type { Awaitable } from "../../lib/promise.ts";
import { generate, type ModelCall, stream } from "./model-call.ts";
import { type ChosenModel, modelRefOf } from "./models.ts";
import type { ModelQuestion } from "./provider-quirks.ts";
import { type Reply, withDistinctIds } from "./reply.ts";

/** Receives the deltas of an answer. The model waits for the returned promise. */
export interface StreamListener {
  text(delta: string): Awaitable<void>;
  reasoning(delta: string): Awaitable<void>;
}

/** Options of one question to a model. */
export interface AskOptions {
  readonly call: ModelCall;
  /** In bytes of UTF-8. */
  readonly maxOutputBytes: number;
  /** Undefined where the answer is wanted as a whole. */
  readonly listener?: StreamListener | undefined;
}

/**
 * Asks a model; with a listener, as a stream.
 *
 * @throws ToolkitError `MODEL_FAILED`, `LIMIT_EXCEEDED` for an answer that is too long; the reason of an abort
 */
export async function ask(
  chosen: ChosenModel,
  question: ModelQuestion,
  { call, maxOutputBytes, listener }: AskOptions,
): Promise<Reply> {
  if (listener === undefined) {
    const { content, finishReason, usage, structuredOutputText } = await generate(chosen, question, call);
    const reply = { content, usage, finishReason: finishReason.unified, structuredText: structuredOutputText };
    let bytes = 0;
    for (const part of reply.content) bytes += Buffer.byteLength(textOfPart(part));
    if (bytes > maxOutputBytes) throw tooLong(maxOutputBytes, bytes);
    return withDistinctIds(reply);
  }
  const builder = new ReplyBuilder();
  const answer = stream(chosen, question, call);
  let bytes = 0;
  try {
    for (let parts = await answer.read(); parts !== undefined; parts = await answer.read()) {
      for (const part of parts) {
        builder.add(part);
        if (!("delta" in part)) continue;
        bytes += Buffer.byteLength(part.delta);
        if (bytes > maxOutputBytes) throw tooLong(maxOutputBytes, bytes);
        const listened = part.delta === "" ? undefined : passOn(part, listener);
        if (listened !== undefined) await listened;
      }
    }
  } finally {
    answer.end();
  }
  const { reply } = builder;
  if (reply !== undefined) return withDistinctIds(reply);
  const { provider, modelId: model } = chosen;
  const message = `The model ${modelRefOf(chosen)} stopped before its answer was complete.`;
  throw new ToolkitError("MODEL_FAILED", message, { provider, model });
}

function passOn(part: LanguageModelV4StreamPart, listener: StreamListener): Awaitable<void> {
  if (part.type === "text-delta") return listener.text(part.delta);
  return part.type === "reasoning-delta" ? listener.reasoning(part.delta) : undefined;
}

/** The text of a part: an answer, a thought, or the arguments of a call. */
function textOfPart(part: Reply["content"][number]): string {
  if (part.type === "text" || part.type === "reasoning") return part.text;
  return part.type === "tool-call" ? part.input : "";
}

function tooLong(max: number, actual: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `The answer of the model has more than ${max} bytes, and was aborted. Raise maxOutputBytes, or ask for less.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxOutputBytes", max, actual });
}

type Piece = Extract<LanguageModelV4Content, { readonly type: "text" | "reasoning" }>;
type Metadata = Piece["providerMetadata"];

/** Builds the reply from the parts of a stream. */
class ReplyBuilder {
  readonly #content: LanguageModelV4Content[] = [];
  readonly #open = new Map<string, Piece>();
  #end: Pick<Reply, "finishReason" | "usage"> | undefined;

  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#begin(part.type === "text-start" ? "text" : "reasoning", part);
        break;
      case "text-delta":
      case "reasoning-delta": {
        const piece = this.#piece(part.type === "text-delta" ? "text" : "reasoning", part);
        piece.text += part.delta;
        this.#addMetadata(piece, part.providerMetadata);
        break;
      }
      case "text-end":
      case "reasoning-end": {
        const piece = this.#open.get(keyOf(part.type === "text-end" ? "text" : "reasoning", part.id));
        if (piece !== undefined) this.#addMetadata(piece, part.providerMetadata);
        break;
      }
      case "finish":
        this.#end = { finishReason: part.finishReason.unified, usage: part.usage };
        break;
      case "tool-call":
      case "tool-result":
      case "file":
      case "reasoning-file":
      case "source":
      case "custom":
        this.#content.push(part);
        break;
      default:
    }
  }

  /** The complete reply; undefined before the finish. */
  get reply(): Reply | undefined {
    return this.#end === undefined ? undefined : { content: this.#content, ...this.#end };
  }

  #begin(
    type: Piece["type"],
    { id, providerMetadata }: { readonly id: string; readonly providerMetadata?: Metadata },
  ): Piece {
    const piece: Piece = { type, text: "", ...(providerMetadata === undefined ? {} : { providerMetadata }) };
    this.#open.set(keyOf(type, id), piece);
    this.#content.push(piece);
    return piece;
  }

  #piece(type: Piece["type"], part: { readonly id: string }): Piece {
    return this.#open.get(keyOf(type, part.id)) ?? this.#begin(type, part);
  }

  #addMetadata(piece: Piece, metadata: Metadata): void {
    if (metadata !== undefined) piece.providerMetadata = { ...piece.providerMetadata, ...metadata };
  }
}

function keyOf(type: Piece["type"], id: string): string {
  return `${type} ${id}`;
}

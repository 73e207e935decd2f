import { ToolkitError } from "../../core/error.ts";
import type { Awaitable } from "../../lib/promise.ts";
import { generate, type ModelCall, type ModelQuestion, stream } from "../model/model-call.ts";
import type { ChosenModel } from "../model/models.ts";
import type { Reply } from "./reply.ts";
import { ReplyBuilder } from "./reply-builder.ts";

/** Hears a model while it answers. The model waits for the promise it gives. */
export interface StreamListener {
  text(delta: string): Awaitable<void>;
  reasoning(delta: string): Awaitable<void>;
}

/** How a model is asked once. */
export interface AskOptions {
  readonly call: ModelCall;
  /** In bytes of UTF-8. */
  readonly maxOutputBytes: number;
  /** Undefined where nobody wants to hear it before it is whole. */
  readonly listener?: StreamListener | undefined;
}

/**
 * Asks a model, in a stream where somebody listens.
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
    const bytes = reply.content.reduce((sum, part) => sum + Buffer.byteLength(writtenIn(part)), 0);
    if (bytes > maxOutputBytes) throw tooLong(maxOutputBytes, bytes);
    return reply;
  }
  const builder = new ReplyBuilder();
  let bytes = 0;
  // Whoever leaves the loop early ends the stream, and with it the request.
  for await (const part of stream(chosen, question, call)) {
    builder.add(part);
    if (!("delta" in part)) continue;
    bytes += Buffer.byteLength(part.delta);
    if (bytes > maxOutputBytes) throw tooLong(maxOutputBytes, bytes);
    if (part.delta === "") continue;
    if (part.type === "text-delta") await listener.text(part.delta);
    else if (part.type === "reasoning-delta") await listener.reasoning(part.delta);
  }
  const { reply } = builder;
  if (reply !== undefined) return reply;
  const { provider, modelId: model } = chosen;
  const message = `The model ${provider}/${model} stopped before its answer was whole.`;
  throw new ToolkitError("MODEL_FAILED", message, { provider, model });
}

/** What a model wrote: text, thoughts, and the arguments of calls. */
function writtenIn(part: Reply["content"][number]): string {
  if (part.type === "text" || part.type === "reasoning") return part.text;
  return part.type === "tool-call" ? part.input : "";
}

function tooLong(max: number, actual: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `The answer of the model has more than ${max} bytes, and was given up. Raise maxOutputBytes, or ask for less.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxOutputBytes", max, actual });
}

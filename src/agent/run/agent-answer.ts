import type { AgentToolCall, FinishReason, TokenUsage } from "../../core/agent-event.ts";
import type { Content } from "../../core/resource.ts";
import { base64Content, derivedContent, joinParts, jsonContent, textContent } from "../../resource/content.ts";
import { refOf } from "../model/model-ref.ts";
import type { ChosenModel } from "../model/models.ts";
import { type Reply, textIn } from "./reply.ts";
import type { RunState } from "./run-state.ts";

/** How a run ends. */
export interface Ending {
  readonly content: Content;
  readonly finishReason: FinishReason;
}

/** What the `meta` of an answer says of the run. */
export interface AnswerMeta {
  /** The id of the run. */
  readonly run: string;
  /** `provider/name`. */
  readonly model: string;
  readonly finishReason: FinishReason;
  /** How often a model was asked. */
  readonly steps: number;
  /** In all, sub-agents included. */
  readonly usage: TokenUsage;
  readonly toolCalls: readonly AgentToolCall[];
  /** The names of the evaluations its tools ask for. */
  readonly evaluations?: readonly string[] | undefined;
}

/** What a model wrote, with the files it made; undefined where that is nothing. */
export async function textAnswer(reply: Reply, name: string): Promise<Content | undefined> {
  const text = textIn(reply);
  const files = reply.content.flatMap((part) => {
    if (part.type !== "file" || part.data.type !== "data") return [];
    const { data } = part.data;
    const base64 = typeof data === "string" ? data : Buffer.from(data).toString("base64");
    return [base64Content(base64, { name, mediaType: part.mediaType })];
  });
  const texts = text.trim() === "" ? [] : [textContent(text, { name })];
  return texts.length + files.length === 0 ? undefined : joinParts([...texts, ...files], { name });
}

/** A structured answer. */
export function jsonAnswer(value: unknown, name: string): Content {
  return jsonContent(value, { name });
}

/** The answer of a run, with what the run was. */
export function answerOf(
  { content, finishReason }: Ending,
  {
    state,
    chosen,
    name,
    evaluations,
  }: {
    readonly state: RunState;
    readonly chosen: ChosenModel;
    readonly name: string;
    readonly evaluations: readonly string[];
  },
): Content {
  const { id: run, steps, usage, calls } = state;
  const meta: AnswerMeta = {
    run,
    model: refOf(chosen),
    finishReason,
    steps: steps.length,
    usage,
    toolCalls: calls,
    ...(evaluations.length === 0 ? {} : { evaluations }),
  };
  return derivedContent(content, { name, meta: { ...content.meta, ...meta } });
}
